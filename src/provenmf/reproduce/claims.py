"""Claims of papers as clauses that can fail, and the verdict that follows from them.

An experiment measures tables; its clauses judge the tables. A clause compares one number of the
paper's own method, run with the paper's settings, with a threshold whose origin it names. What our
own variant of the method reaches stands beside it and never decides. Because clauses see nothing
but tables, a stored outcome can be judged again, and a forged one must be refused.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# A line of a table by column, tables by title, and parameters of a method by name.
Row = dict[str, Any]
Tables = dict[str, list[Row]]
Options = dict[str, Any]
Number = Callable[[Tables], float]
Decision = Literal["holds", "fails", "too few trials", "not measured"]


class NotMeasured(LookupError):
    """A table lacks what a clause asks for."""


def column(tables: Tables, title: str, name: str, **where: Any) -> list[float]:
    """Return a column of the rows that agree with `where`; raise NotMeasured if it is empty."""
    rows = [
        row for row in tables.get(title, []) if all(row.get(key) == v for key, v in where.items())
    ]
    if not rows or any(not isinstance(row.get(name), (int, float)) for row in rows):
        raise NotMeasured(f"{title}: {name} for {where}")
    return [float(row[name]) for row in rows]


def cell(tables: Tables, title: str, name: str, **where: Any) -> float:
    """Return one entry; raise NotMeasured unless exactly one row agrees with `where`."""
    values = column(tables, title, name, **where)
    if len(values) != 1:
        raise NotMeasured(f"{title}: {len(values)} rows for {where}")
    return values[0]


def swapped(tables: Tables, names: Mapping[str, str]) -> Tables:
    """Return tables in which other methods stand in the place of those named.

    Both columns and rows belong to methods: entries of columns called `old` are those of `new`, and
    rows with an entry `old` are left out in favor of those with the entry `new`.
    """
    back = {new: old for old, new in names.items()}
    return {
        title: [
            {
                back.get(key, key): back.get(entry, entry) if isinstance(entry, str) else entry
                for key, entry in row.items()
                if key not in names
            }
            for row in rows
            if not any(isinstance(entry, str) and entry in names for entry in row.values())
        ]
        for title, rows in tables.items()
    }


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return p of y ∝ x^p by least squares on logarithms; NaN unless all numbers are positive."""
    points = np.array([x, y], dtype=float)
    if not (np.isfinite(points).all() and (points > 0).all()):
        return math.nan
    logs = np.log(points)
    return float(np.polyfit(logs[0], logs[1], 1)[0])


@dataclass(frozen=True)
class Clause:
    """One part of a claim, true or false of a set of tables.

    Parameters
    ----------
    name : str
        Short identifier, unique in its experiment.
    states, where : str
        The paper's statement and its place in the paper.
    quantity : str
        Description of the number that is compared.
    wanted : str
        A relation and a threshold: "<= 0.1" or ">= 3".
    source : str
        Origin of the threshold: the paper's print, a theorem, or our reading of a word.
    value : callable
        Tables to the number, for the paper's method with the paper's settings.
    printed, authors : float or str, optional
        The same number in the paper's print, and in runs of the authors' code.
    variant : mapping, optional
        Our variant of each method of the paper; its number is shown, never compared.
    trials : callable, optional
        Number of trials behind the number; fewer than `fewest` leave the clause open.
    fewest : int
    """

    name: str
    states: str
    where: str
    quantity: str
    wanted: str
    source: str
    value: Number
    printed: float | str | None = None
    authors: float | str | None = None
    variant: Mapping[str, str] | None = None
    trials: Number | None = None
    fewest: int = 0

    def judge(self, tables: Tables) -> Judgement:
        """Compare the tables with the threshold; NaN fails."""
        try:
            value = self.value(tables)
            trials = math.inf if self.trials is None else self.trials(tables)
        except NotMeasured:
            return Judgement(self, None, self._variant(tables), "not measured")
        decision: Decision = "fails"
        if trials < self.fewest:
            decision = "too few trials"
        elif self._satisfied(value):
            decision = "holds"
        return Judgement(self, value, self._variant(tables), decision)

    def _satisfied(self, value: float) -> bool:
        relation, threshold = self.wanted.split()
        return value <= float(threshold) if relation == "<=" else value >= float(threshold)

    def _variant(self, tables: Tables) -> float | None:
        try:
            return None if self.variant is None else self.value(swapped(tables, self.variant))
        except NotMeasured:
            return None


@dataclass(frozen=True)
class Judgement:
    """A clause, the numbers found, and the decision."""

    clause: Clause
    value: float | None
    variant: float | None
    decision: Decision

    def row(self) -> Row:
        """Return a line for people: the three origins of figures, and our variant beside them."""
        clause = self.clause
        return {
            "clause": clause.name,
            "the paper states": f"{clause.states} ({clause.where})",
            "quantity": clause.quantity,
            "wanted": f"{clause.wanted} ({clause.source})",
            "paper's print": clause.printed,
            "authors' code": clause.authors,
            "ours": self.value,
            "our variant": self.variant,
            "verdict": self.decision,
        }


def verdict_of(judgements: Iterable[Judgement]) -> str:
    """Return "holds", "holds in part (…)", "does not hold", "too few trials" or "not measured".

    A claim holds only if every clause was decided and none fails.
    """
    by_decision: dict[str, list[str]] = {}
    for judgement in judgements:
        by_decision.setdefault(judgement.decision, []).append(judgement.clause.name)
    if by_decision.keys() == {"holds"}:
        return "holds"
    if "holds" in by_decision:
        others = [
            f"{decision}: {', '.join(by_decision[decision])}"
            for decision in ("fails", "too few trials", "not measured")
            if decision in by_decision
        ]
        return f"holds in part ({'; '.join(others)})"
    for decision, word in (
        ("fails", "does not hold"),
        ("too few trials", "too few trials"),
    ):
        if decision in by_decision:
            return word
    return "not measured"


def silent(fraction: float, text: str) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class Settings:
    """Settings of an experiment: its size, data and seed.

    Long experiments keep finished measurements in the folder `keep` and resume from them; with
    `nothing_new` they only report them.
    """

    quick: bool = False
    data: Path | None = None
    seed: int = 0
    progress: Callable[[float, str], None] = silent
    keep: Path | None = None
    nothing_new: bool = False


@dataclass(frozen=True)
class Series:
    """One curve; `dotted` marks figures that are not ours (paper's print, authors' code)."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dotted: bool = False


def curves(rows: Sequence[Row], x: str, *names: str, by: str | None = None) -> list[Series]:
    """Return one curve for each of some columns of a table, or for each entry of the column `by`.

    With `by` there is one name, that of the column to plot.
    """
    if by is None:
        return [Series(n, [row[x] for row in rows], [row[n] for row in rows]) for n in names]
    kinds = dict.fromkeys(row[by] for row in rows)
    parts = {kind: [row for row in rows if row[by] == kind] for kind in kinds}
    return [
        Series(str(kind), [row[x] for row in part], [row[names[0]] for row in part])
        for kind, part in parts.items()
    ]


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
class Measured:
    """Tables, figures and pictures of a run; pictures are rows of images (k, h, w) by name."""

    tables: Tables
    figures: Sequence[Figure] = field(default_factory=tuple)
    pictures: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A table, figure or theorem of a paper that can be run again, and the clauses about it."""

    name: str
    paper: str
    title: str
    measure: Callable[[Settings], Measured]
    clauses: tuple[Clause, ...]
    note: str = ""

    def judge(self, tables: Tables) -> list[Judgement]:
        """Judge every clause by the tables of a run, new or stored."""
        return [clause.judge(tables) for clause in self.clauses]


@dataclass(frozen=True)
class Recipe:
    """The code of an experiment: how to measure it, and the numbers of its clauses by name.

    `variant` names our variant of each method or column of the paper.
    """

    name: str
    measure: Callable[[Settings], Measured]
    values: Mapping[str, Number]
    variant: Mapping[str, str] = field(default_factory=dict)
    trials: Number | None = None


@cache
def texts() -> dict[str, Any]:
    """Return claims.toml: titles, statements and thresholds of all experiments by name."""
    content = resources.files("provenmf.reproduce").joinpath("claims.toml").read_text("utf-8")
    return tomllib.loads(content)


def declare(*recipes: Recipe) -> tuple[Experiment, ...]:
    """Join recipes with their texts; a clause without a number or without a text is an error."""
    experiments = []
    for recipe in recipes:
        text = texts()[recipe.name]
        clauses = []
        for entry in text["clauses"]:
            given = dict(entry)
            shown = given.pop("variant", False)
            chance = not given.pop("deterministic", False) and recipe.trials is not None
            clauses.append(
                Clause(
                    **given,
                    value=recipe.values[entry["name"]],
                    variant=recipe.variant if shown else None,
                    trials=recipe.trials if chance else None,
                    fewest=text.get("trials", 0) if chance else 0,
                )
            )
        extra = recipe.values.keys() - {c.name for c in clauses}
        if extra:
            raise LookupError(f"{recipe.name}: no text in claims.toml for {sorted(extra)}")
        experiments.append(
            Experiment(
                recipe.name,
                text["paper"],
                text["title"],
                recipe.measure,
                tuple(clauses),
                text.get("note", ""),
            )
        )
    return tuple(experiments)
