"""Claims of papers as clauses that can fail, and the verdict that follows from them.

An experiment measures tables; its clauses judge the tables. A clause compares one number of the
paper's own method, run with the paper's settings, with a threshold whose origin it names. What our
own variant of the method reaches stands beside it and never decides. Because clauses see nothing
but tables, a stored outcome can be judged again, and a forged one must be refused: a number that
cannot be, a table that lacks cases, and one in which nothing differs are not measurements.

Clauses are data, in claims.toml, which says what its keys mean.
"""

from __future__ import annotations

import itertools
import math
import operator
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module, resources
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
Decision = Literal["holds", "fails", "too few trials", "not measured"]
T = TypeVar("T")
RELATIONS = {"<=": operator.le, ">=": operator.ge}


class NotMeasured(LookupError):
    """A table lacks what a clause asks for."""


def column(tables: Tables, title: str, name: str, **where: Any) -> list[float]:
    """Return a column of the rows that agree with `where`; raise NotMeasured if it is empty.

    Each entry of `where` is a value, or a relation such as ">= 10".
    """

    def agrees(found: Any, wanted: Any) -> bool:
        if found != found:  # nobody knows whether a row belongs here
            raise NotMeasured(f"{title}: {name} for {where}")
        if isinstance(wanted, str) and wanted[:2] in RELATIONS:
            return bool(RELATIONS[wanted[:2]](found, float(wanted[2:])))
        return bool(found == wanted)

    rows = [
        row
        for row in tables.get(title, [])
        if all(key in row and agrees(row[key], wanted) for key, wanted in where.items())
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


def quotients(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Divide two columns; nothing over nothing is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return list(np.divide(above, below))


def logarithms(values: Sequence[float]) -> NDArray[np.float64]:
    """Return logarithms; NaN for what has none."""
    found = np.asarray(values, dtype=np.float64)
    result: NDArray[np.float64] = np.log(found, out=np.full_like(found, math.nan), where=found > 0)
    return result


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return p of y ∝ x^p by least squares on logarithms; NaN unless all numbers are positive."""
    logs = logarithms([*x]), logarithms([*y])
    if not np.isfinite(logs).all():
        return math.nan
    return float(np.polyfit(*logs, 1)[0])


# The number of a column; `unrest` is the largest |log factor|, `discrepancy` the largest ratio of
# two columns, whichever is larger; `above` and `unlike` count ratios that are above or not one.
# NaN anywhere makes a number NaN, which fails, or counts.
REDUCTIONS: dict[str, Callable[[list[float]], Any]] = {
    "largest": np.max,
    "smallest": np.min,
    "sum": np.sum,
    "count": len,
    "above": lambda values: np.sum(~np.less_equal(values, 1.0)),
    "unlike": lambda values: np.sum(np.not_equal(values, 1.0)),
    "unrest": lambda values: np.max(np.abs(logarithms(values))),
    "discrepancy": lambda values: np.exp(np.max(np.abs(logarithms(values)))),
}


def _named(path: str) -> Callable[..., Any]:
    """Return a function of `provenmf.reproduce` by module and name."""
    stem, _, name = path.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"provenmf.reproduce.{stem}"), name)
    return found


def number(given: Mapping[str, Any], stem: str) -> Number:
    """Return the number that an entry `value` of claims.toml describes.

    `call` names a function, of the experiment's module `stem` unless it says where, and the other
    keys are its arguments.
    """
    others = dict(given)
    if "call" in others:
        path = others.pop("call")
        return partial(_named(path if "." in path else f"{stem}.{path}"), **others)
    kind = next(iter(others))
    titles, names = _several(others.pop(kind)), _several(others.pop("column"))
    return partial(_reduced, kind, titles, names, where=others)


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _reduced(
    kind: str, titles: Sequence[str], names: Sequence[str], tables: Tables, *, where: Row
) -> float:
    """Reduce columns to a number; each of several titles, names and values must be measured."""
    where = dict(where)
    over, against, less = (where.pop(key, None) for key in ("over", "against", "less"))
    found: list[float] = []
    for title, name, *values in itertools.product(titles, names, *map(_several, where.values())):
        rows = dict(zip(where, values))
        if kind == "entry":
            cell(tables, title, name, **rows)
        part = column(tables, title, name, **rows)
        if isinstance(over, str):
            part = quotients(part, column(tables, title, over, **rows))
        elif over is not None:
            part = quotients(part, [over])
        if kind == "exponent":
            part = [exponent(column(tables, title, against, **rows), part)]
        elif against is not None:
            part = quotients(part, column(tables, title, name, **against))
        found += part if less is None else [abs(value - less) for value in part]
    return float(REDUCTIONS.get(kind, np.max)(found))


def sound(tables: Tables, rows: Mapping[str, int], variants: Iterable[str] = ()) -> Tables:
    """Return what can be judged of tables: impossible numbers become NaN, empty tables go.

    A table is empty if it has fewer different rows than it should, or if nothing differs in it,
    variants left out: from case to case for one method, from method to method, or from measure to
    measure.
    """
    known = set(variants)
    ranges = contents("claims.toml")["possible"]

    def possible(title: str, row: Row) -> Row:
        limits = {name: ranges.get(name, ranges.get(title, (0.0, math.inf))) for name in row}
        wrong = {
            name: math.nan
            for name, value in _measured_in(row).items()
            if not limits[name][0] <= value <= limits[name][1]
        }
        return {**row, **wrong}

    return {
        title: [possible(title, row) for row in lines]
        for title, lines in tables.items()
        if len({str(row) for row in lines}) >= rows.get(title, 0)
        and not _uniform(title, lines, known)
    }


def _measured_in(row: Row) -> Row:
    """Return the numbers of a row that were measured, not given or printed."""
    given = contents("claims.toml")["given"]["columns"]
    return {
        name: value
        for name, value in row.items()
        if isinstance(value, (int, float))
        and not (isinstance(value, bool) or name in given or "print" in name)
    }


def _uniform(title: str, rows: Sequence[Row], variants: Set[str]) -> bool:
    """Return whether nothing differs in a table; rates may agree by chance."""
    if title in contents("claims.toml")["given"]["rates"]:
        return False
    kinds: dict[Any, list[Row]] = {}
    for row in rows:
        if "print" not in str(row.get("origin")) and row.get("method") not in variants:
            measured = {k: v for k, v in _measured_in(row).items() if k not in variants}
            kinds.setdefault(row.get("method"), []).append(measured)
    every = [measured for part in kinds.values() for measured in part]
    if any(map(_repeats, (*kinds.values(), every))):
        return True
    return all(len(row) > 1 and len(set(row.values())) == 1 for row in every)


def _repeats(rows: Sequence[Row]) -> bool:
    """Return whether all columns with two numbers or more have only one."""
    columns = [[row[name] for row in rows if name in row] for name in columns_of(rows)]
    several = [values for values in columns if len(values) > 1]
    return bool(several) and all(len(set(values)) == 1 for values in several)


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Return all columns of a table in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


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
        holds = RELATIONS[relation](value, float(threshold))
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
    rows: Mapping[str, int] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=dict)

    def judge(self, tables: Tables, *, quick: bool = False) -> list[Judgement]:
        """Judge every clause by the tables of a run, new or stored; a quick one has fewer rows."""
        tables = sound(tables, {} if quick else self.rows, self.variants.values())
        return [clause.judge(tables) for clause in self.clauses]


@cache
def contents(name: str) -> dict[str, Any]:
    """Read a TOML file of this package: claims.toml or published.toml."""
    return tomllib.loads(resources.files("provenmf.reproduce").joinpath(name).read_text("utf-8"))


def experiment(name: str) -> Experiment:
    """Join the text of an experiment in claims.toml with the code that it names."""
    text = contents("claims.toml")[name]
    stem = text["measure"].partition(".")[0]
    counted = number(text["counted"], stem) if "counted" in text else None
    clauses = []
    for given in text["clauses"]:
        told = {k: v for k, v in given.items() if k not in ("value", "variant", "deterministic")}
        chance = counted is not None and not given.get("deterministic", False)
        clauses.append(
            Clause(
                **told,
                value=number(given["value"], stem),
                variant=text["variants"] if given.get("variant", False) else None,
                trials=counted if chance else None,
                fewest=text["trials"] if chance else 0,
            )
        )
    measure = partial(_run, _named(text["measure"]), text.get("figures", ()))
    note, rows, variants = text.get("note", ""), text.get("rows", {}), text.get("variants", {})
    return Experiment(
        name, text["paper"], text["title"], measure, tuple(clauses), note, rows, variants
    )


def _run(
    function: Callable[[Settings], Measured | Tables], given: Sequence[Row], settings: Settings
) -> Measured:
    """Measure, and draw the figures that claims.toml describes."""
    found = function(settings)
    measured = found if isinstance(found, Measured) else Measured(found)
    return replace(
        measured, figures=[*measured.figures, *(drawn(measured.tables, **g) for g in given)]
    )


def drawn(
    tables: Tables,
    table: str,
    x: str,
    title: str = "",
    label: str = "",
    log: str = "",
    **lines: Any,
) -> Chart:
    """Draw columns `y` of a table, or those measured, or a curve for each entry of `by`."""
    rows = tables[table]
    if "by" in lines:
        found = curves(rows, x, lines["y"], by=lines["by"])
    else:
        measured = [name for name in _measured_in(rows[0]) if not name.endswith("±")]
        found = curves(rows, x, *lines.get("y", measured))
    return chart(title or table, x, label or table, found, log)
