"""What an experiment is: a claim of a paper, a function that tests it, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A line of a table by column, and parameters of a method by name.
Row = dict[str, Any]
Options = dict[str, Any]


def silent(fraction: float, text: str) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Settings:
    """How to run an experiment: small or at the paper's size, on which data, from which seed.

    Long experiments keep what is finished in the folder `keep`, and go on from there, or with
    `nothing_new` say what follows from it.
    """

    quick: bool = False
    data: Path | None = None
    seed: int = 0
    progress: Callable[[float, str], None] = silent
    keep: Path | None = None
    nothing_new: bool = False


@dataclass(frozen=True)
class Series:
    """One curve: its name and its points; `paper` marks the paper's own figures."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    paper: bool = False


@dataclass(frozen=True)
class Figure:
    """A plot as plain data; the report draws it."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came out: tables (title → rows), figures, and a verdict on the claim."""

    tables: dict[str, list[Row]]
    verdict: str
    holds: bool | None
    figures: Sequence[Figure] = field(default_factory=tuple)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper that can be run again."""

    name: str
    paper: str
    title: str
    claim: str
    run: Callable[[Settings], Outcome]
