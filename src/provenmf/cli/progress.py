"""Progress of reading a file and of fitting a method to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provenmf.progress import Progress


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name before a message about its contents that does not give it."""
    from provenmf.errors import InvalidInput

    try:
        yield
    except InvalidInput as error:
        if path.name in str(error):
            raise
        raise error.at(str(path)) from error


@contextmanager
def reading(path: Path) -> Iterator[Progress]:
    """Progress of reading a file."""
    with naming(path), Progress(f"Reading {path.name}") as progress:
        yield progress


@dataclass(frozen=True)
class Fitting:
    """Options for an estimator that make it report to the screen and stop in time."""

    progress: Progress
    options: dict[str, Any]


@contextmanager
def fitting(path: Path, method: str, rank: int | None, max_iter: int | None) -> Iterator[Fitting]:
    """Progress of a method on a file, and the options to give it."""
    from provenmf.errors import InvalidInput
    from provenmf.methods import estimator_class

    # The automatic choice begins with HALS, the only one of its methods that takes long.
    estimator = estimator_class("hals" if method == "auto" else method)
    known = estimator().get_params()
    if max_iter is not None and "max_iter" not in known:
        raise InvalidInput(
            f"{estimator.__name__} makes no iterations",
            argument="max_iter",
            remedy="leave out {argument}",
        )
    steps = max_iter or known.get("max_iter", rank)
    title = f"{estimator.__name__} on {path.name}"
    with naming(path), Progress(title, steps=steps) as progress:
        options: dict[str, Any] = {"callback": progress.row, "on_interrupt": "return"}
        if max_iter is not None:
            options["max_iter"] = max_iter
        yield Fitting(progress, options)
