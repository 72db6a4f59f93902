"""Claims of papers as clauses that can fail, and the verdict that follows from them.

An experiment measures tables; its clauses judge the tables. A clause compares one number of the
paper's own method, run with the paper's settings, with a threshold whose origin it names. What our
own variant of the method reaches stands beside it and never decides. Because clauses see nothing
but tables, a stored outcome can be judged again, and a forged one must be refused.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from provenmf.report.elements import Chart
from provenmf.report.figures import Curve, Lines

# A line of a table by column, tables by title, and parameters of a method by name.
Row = dict[str, Any]
Tables = dict[str, list[Row]]
Options = dict[str, Any]
Number = Callable[[Tables], float]
Names = tuple[str, ...]
Decision = Literal["holds", "fails", "too few trials", "not measured"]
T = TypeVar("T")


class NotMeasured(LookupError):
    """A table lacks what a clause asks for."""


def column(tables: Tables, title: str, name: str, **where: Any) -> list[float]:
    """Return a column of the rows that agree with `where`; raise NotMeasured if it is empty.

    Each entry of `where` is a value or a condition on it.
    """

    def agrees(row: Row) -> bool:
        return all(
            key in row and (w(row[key]) if callable(w) else row[key] == w)
            for key, w in where.items()
        )

    rows = [row for row in tables.get(title, []) if agrees(row)]
    if not rows or any(not isinstance(row.get(name), (int, float)) for row in rows):
        raise NotMeasured(f"{title}: {name} for {where}")
    return [float(row[name]) for row in rows]


def cell(tables: Tables, title: str, name: str, **where: Any) -> float:
    """Return one entry; raise NotMeasured unless exactly one row agrees with `where`."""
    values = column(tables, title, name, **where)
    if len(values) != 1:
        raise NotMeasured(f"{title}: {len(values)} rows for {where}")
    return values[0]


def ratios(tables: Tables, title: str, top: str, bottom: str, **where: Any) -> list[float]:
    """Return the ratio of two columns for each row."""
    return quotients(column(tables, title, top, **where), column(tables, title, bottom, **where))


def quotients(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Divide two columns; nothing over nothing is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return list(np.divide(above, below))


def discrepancy(tables: Tables, title: str, name: str, other: str) -> float:
    """Return the largest ratio of two columns in any row, whichever of them is larger."""
    return float(np.exp(np.max(np.abs(np.log(ratios(tables, title, name, other))))))


def entry(title: str, name: str, **where: Any) -> Number:
    """Return the number that is one entry of a table."""
    return lambda tables: cell(tables, title, name, **where)


def largest(
    titles: str | Names, names: str | Names, *, over: str | None = None, **where: Any
) -> Number:
    """Return the number that is the maximum of a column, or of its ratio to the column `over`.

    Titles, names and the entries of `where` may be tuples: each of them must have been measured.
    NaN anywhere makes it NaN.
    """
    return lambda tables: float(np.max(_all_of(tables, titles, names, over, where)))


def smallest(
    titles: str | Names, names: str | Names, *, over: str | None = None, **where: Any
) -> Number:
    """Return the number that is the minimum; see `largest`."""
    return lambda tables: float(np.min(_all_of(tables, titles, names, over, where)))


def _all_of(
    tables: Tables, titles: str | Names, names: str | Names, over: str | None, where: Row
) -> list[float]:
    choices = [v if isinstance(v, tuple) else (v,) for v in (titles, names, *where.values())]
    found: list[float] = []
    for title, name, *values in itertools.product(*choices):
        kind = dict(zip(where, values))
        if over is None:
            found += column(tables, title, name, **kind)
        else:
            found += ratios(tables, title, name, over, **kind)
    return found


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return p of y ∝ x^p by least squares on logarithms; NaN unless all numbers are positive."""
    points = np.array([x, y], dtype=float)
    if not (np.isfinite(points).all() and (points > 0).all()):
        return math.nan
    logs = np.log(points)
    return float(np.polyfit(logs[0], logs[1], 1)[0])


def power_law(
    tables: Tables, title: str, x: str, y: str, by: str, kinds: Sequence[str], power: float
) -> float:
    """Return the largest |p − power| of y ∝ x^p over kinds, the entries of the column `by`."""
    found = [
        exponent(column(tables, title, x, **{by: kind}), column(tables, title, y, **{by: kind}))
        for kind in kinds
    ]
    return float(np.max(np.abs(np.subtract(found, power))))


def swapped(tables: Tables, names: Mapping[str, str]) -> Tables:
    """Return tables in which other methods stand in the place of those named.

    Both columns and rows belong to methods: entries of columns called `old` are those of `new`, and
    rows with an entry `old` are left out in favor of those with the entry `new`.
    """
    back = {new: old for old, new in names.items()}
    return {
        title: [
            {
                back.get(key, key): back.get(value, value) if isinstance(value, str) else value
                for key, value in row.items()
                if key not in names
            }
            for row in rows
            if not any(isinstance(value, str) and value in names for value in row.values())
        ]
        for title, rows in tables.items()
    }


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
        value = _measured(self.value, tables)
        variant = None if self.variant is None else swapped(tables, self.variant)
        shown = None if variant is None else _measured(self.value, variant)
        trials = math.inf if self.trials is None else _measured(self.trials, tables)
        if value is None or trials is None:
            return Judgement(self, None, shown, "not measured")
        if trials < self.fewest:
            return Judgement(self, value, shown, "too few trials")
        relation, threshold = self.wanted.split()
        holds = value <= float(threshold) if relation == "<=" else value >= float(threshold)
        return Judgement(self, value, shown, "holds" if holds else "fails")


def _measured(number: Number, tables: Tables) -> float | None:
    try:
        return number(tables)
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
    names: dict[str, list[str]] = {"fails": [], "too few trials": [], "not measured": []}
    some_hold = False
    for judgement in judgements:
        some_hold |= judgement.decision == "holds"
        names.get(judgement.decision, []).append(judgement.clause.name)
    others = {decision: clauses for decision, clauses in names.items() if clauses}
    if some_hold and others:
        texts = [f"{decision}: {', '.join(clauses)}" for decision, clauses in others.items()]
        return f"holds in part ({'; '.join(texts)})"
    first = "holds" if some_hold else next(iter(others), "not measured")
    return "does not hold" if first == "fails" else first


@dataclass(frozen=True)
class Settings:
    """Settings of an experiment: its size, data and seed."""

    quick: bool = False
    data: Path | None = None
    seed: int = 0
    progress: Callable[[float, str], None] = lambda fraction, text: None

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Iterate over the cases of an experiment and report the progress."""
        cases = list(items)
        for number, case in enumerate(cases):
            self.progress(number / len(cases), f"case {number + 1} of {len(cases)}")
            yield case


def curves(rows: Sequence[Row], x: str, *names: str, by: str | None = None) -> list[Curve]:
    """Return one curve for each of some columns of a table, or for each entry of the column `by`.

    With `by` there is one name, that of the column to plot.
    """
    if by is None:
        return [(n, [row[x] for row in rows], [row[n] for row in rows]) for n in names]
    parts: dict[Any, list[Row]] = {}
    for row in rows:
        parts.setdefault(row[by], []).append(row)
    return [
        (str(kind), [row[x] for row in part], [row[names[0]] for row in part])
        for kind, part in parts.items()
    ]


def chart(title: str, x_label: str, y_label: str, lines: Sequence[Curve], log: str = "") -> Chart:
    """Return a figure; `log` names its logarithmic axes, curves of the authors are dotted."""
    dotted = [name for name, _, _ in lines if name.startswith("authors'")]
    drawn = Lines(lines, x_label, y_label, log_x="x" in log, log_y="y" in log, dotted=dotted)
    return Chart(title, drawn, height=420)


@dataclass(frozen=True)
class Measured:
    """Tables, figures and pictures of a run; pictures are rows of images (k, h, w) by name."""

    tables: Tables
    figures: Sequence[Chart] = ()
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


@cache
def contents(name: str) -> dict[str, Any]:
    """Read a TOML file of this package: claims.toml or published.toml."""
    return tomllib.loads(resources.files("provenmf.reproduce").joinpath(name).read_text("utf-8"))


def experiment(
    name: str,
    measure: Callable[[Settings], Measured],
    numbers: Mapping[str, Number],
    variant: Mapping[str, str] | None = None,
    trials: Number | None = None,
) -> Experiment:
    """Join the code of an experiment with its text in claims.toml.

    `numbers` has the number of each clause by name, `variant` our variant of each method or column
    of the paper. A clause without a number or without a text is an error.
    """
    text = contents("claims.toml")[name]
    if numbers.keys() != {given["name"] for given in text["clauses"]}:
        raise LookupError(f"{name}: claims.toml has other clauses than {sorted(numbers)}")
    clauses = []
    for given in text["clauses"]:
        told = {key: given[key] for key in given if key not in ("variant", "deterministic")}
        chance = trials is not None and not given.get("deterministic", False)
        clauses.append(
            Clause(
                **told,
                value=numbers[given["name"]],
                variant=variant if given.get("variant", False) else None,
                trials=trials if chance else None,
                fewest=text.get("trials", 0) if chance else 0,
            )
        )
    note = text.get("note", "")
    return Experiment(name, text["paper"], text["title"], measure, tuple(clauses), note)
