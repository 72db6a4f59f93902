"""The course of every analysis: plan the files, read the data, fit, write and show the result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provenmf.cli.messages import complain
from provenmf.cli.options import shared
from provenmf.cli.outcome import finish
from provenmf.cli.target import plan
from provenmf.errors import InvalidInput, printable
from provenmf.io.files import existing
from provenmf.progress import Progress

if TYPE_CHECKING:
    from provenmf.results import Answer, Factorization

# Arguments of a command that change neither the data nor what the iterations compute.
FREE = ("data", "output", "tables", "maps", "by")


class Analysis:
    """One analysis of a file.

    Parameters
    ----------
    command : str
        Its name.
    arguments : Mapping
        All arguments of the command by name, `locals()` at its beginning: `data`, `output` and
        `tables` among them. A checkpoint belongs to them.
    inputs : Path or None
        Other files that are read.
    """

    def __init__(self, command: str, arguments: Mapping[str, Any], *inputs: Path | None) -> None:
        self.data: Path = existing(arguments["data"])
        self.target = plan(arguments["output"], arguments["tables"], self.data, *inputs)
        self.progress = Progress("")
        self._identity = {"command": command} | {
            f"option {name}": str(value) for name, value in arguments.items() if name not in FREE
        }

    @contextmanager
    def reading(self) -> Iterator[Progress]:
        """Show the progress of reading the data, and name the file in errors."""
        title = f"Reading {printable(self.data.name)}"
        with _limits(), naming(self.data), Progress(title) as progress:
            yield progress

    @contextmanager
    def fitting(self, method: str, rank: int | None) -> Iterator[dict[str, Any]]:
        """Show the progress of a method, and yield the options that every function takes."""
        from provenmf.methods import estimator_class

        options = shared()
        # The automatic choice begins with HALS, the only one of its methods that takes long.
        estimator = estimator_class("hals" if method == "auto" else method)
        known = estimator().get_params()
        if options.max_iter is not None and "max_iter" not in known:
            raise InvalidInput(
                f"{estimator.__name__} makes no iterations",
                argument="max_iter",
                remedy="leave out {argument}",
            )
        announce_compilation()
        title = f"{estimator.__name__} on {printable(self.data.name)}"
        self.progress = Progress(title, steps=options.max_iter or known.get("max_iter", rank))
        with self._checkpoint(), _limits(), naming(self.data), self.progress:
            given: dict[str, Any] = {
                "callback": self.progress.row,
                "on_interrupt": "return",
                "random_state": options.random_state,
                "certify": not options.no_certify,
            }
            if self._identity["command"] != "fit":
                given["evidence"] = not options.no_evidence
            more = {} if options.max_iter is None else {"max_iter": options.max_iter}
            yield given | more

    def finish(self, result: Factorization | Answer) -> None:
        """Write the result, its report and its tables, and say what was found."""
        finish(result, self.target)

    def _checkpoint(self) -> AbstractContextManager[Any]:
        """Keep the iterations in a folder; one of another command, data or options is refused."""
        options = shared()
        if options.checkpoint is None:
            return nullcontext()
        import provenmf
        from provenmf.methods.checkpoint import Checkpoint, Keeper, checkpointing

        identity = self._identity | {
            "data": content_hash(self.data),
            "version": provenmf.__version__,
            "option random_state": str(options.random_state),
        }
        setting = Checkpoint(options.checkpoint, options.checkpoint_seconds)
        return checkpointing(Keeper(setting, identity))


def announce_compilation() -> None:
    """Say once, on the first run, why it takes longer than later ones."""
    from provenmf.linalg.compiled import on_compilation

    def tell() -> None:
        on_compilation.clear()
        complain("Compiling on the first run; later runs start faster")

    on_compilation[:] = [tell]


def _limits() -> AbstractContextManager[Any]:
    from provenmf import resources

    return resources(memory=shared().memory, n_jobs=shared().n_jobs)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name before a message about its contents that does not give it."""
    try:
        yield
    except InvalidInput as error:
        if printable(path.name) in str(error):
            raise
        raise error.at(str(path)) from error


def content_hash(path: Path) -> str:
    """Return a hash of the bytes of a file, or of the names and bytes of all files in a folder."""
    found = blake2b(digest_size=16)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        if not file.is_file():
            continue
        found.update(os.fsencode(file.relative_to(path)))  # a name may have no encoding
        with open(file, "rb") as stream:
            while piece := stream.read(1 << 20):
                found.update(piece)
    return found.hexdigest()
