"""Any answer: the largest entries of each component, and the weights of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.methods import CATALOGUE
from provenmf.report import figures
from provenmf.report.elements import (
    Bar,
    Card,
    Cards,
    Chart,
    ChartGrid,
    Element,
    Overview,
    Paragraph,
    Table,
)
from provenmf.results import Factorization
from provenmf.results.answers import Answer
from provenmf.results.estimates import plural

KINDS = ("topics", "communities", "unmixing", "parts", "signatures")  # with a module each
COLUMNS = 12
POINTS_IN_CURVE = 1000

MARKS = {"confirmed": "✓", "not confirmed": "✗", "cannot be judged": "?"}


@dataclass(frozen=True)
class Settings:
    """Sizes of what is shown, so that pages stay readable and small."""

    overview_lines: int = 12
    overview_names: int = 6
    table_rows: int = 1000
    least_shown: float = 0.05  # a smaller second share is left out of the table
    one_column: float = 0.9  # share of the squares that makes the other columns vanish
    named_columns: int = 40  # that are all shown; of more the largest entries
    most_columns: int = 200  # of bars side by side


SETTINGS = Settings()


def found(answer: Answer) -> list[Element]:
    """Return the elements of the first tab, by the module of this kind of answer if it has one.

    Other kinds are not imported: together they take as long as a small fit.
    """
    if answer.kind not in KINDS:
        return _found_in_matrix(answer)
    elements: list[Element] = import_module(f"provenmf.report.{answer.kind}").found(answer)
    return elements


def _found_in_matrix(answer: Answer) -> list[Element]:
    words = answer.words
    component, row, column = map(plural, (words.component, words.row, words.column))
    summary = (
        f"{answer.n_components} {component} of a matrix with {len(answer.weights):,} {row} and "
        f"{answer.components.shape[1]:,} {column}."
    )
    return [
        Paragraph(summary),
        *(Paragraph(f"Note: {note}.", "remark") for note in scale_notes(answer)),
        *_components(answer),
    ]


def scale_notes(answer: Answer) -> list[str]:
    """Return a note if one column dominates the data: least squares then sees little else.

    Columns are compared by their squares in the fit, W H.
    """
    weights, components = np.nan_to_num(answer.weights), np.nan_to_num(answer.components)
    squares = np.einsum("kj,kl,lj->j", components, weights.T @ weights, components)
    largest, n = int(np.argmax(squares)), len(squares)
    share = squares[largest] / max(float(squares.sum()), np.finfo(float).tiny)
    if answer.kind != "matrix" or n < 3 or not share > SETTINGS.one_column:
        return []
    return [
        f"{share:.0%} of the sum of squares is in {answer.column_names[largest]}: the columns have "
        f"very different scales. Divide each by its standard deviation if all {n:,} columns should "
        "count"
    ]


def overview(answer: Answer) -> list[Overview]:
    """Return the lines of the first screen, the largest component first."""
    evidence = None if answer.certificate is None else answer.certificate.evidence
    largest = answer.largest(SETTINGS.overview_names)
    lines = []
    for i in by_size(answer)[: SETTINGS.overview_lines]:
        judged = "" if evidence is None else evidence.judgements[i]
        shown = "" if answer.kind == "parts" else ", ".join(largest[i])  # images have no words
        if answer.kind == "unmixing" and (place := answer.anchor_name(i)):
            shown = f"near {place}"
        error = None if evidence is None else evidence.errors[i]
        off = "" if evidence is None or error is None else f", {evidence.size_of_error(error)} off"
        lines.append(
            Overview(
                i + 1,
                answer.component_names[i],
                f"{answer.share[i]:.1%}",
                shown,
                MARKS.get(judged, ""),
                "" if evidence is None else evidence.in_words(i) + off * (judged == "confirmed"),
            )
        )
    return lines


def row_table(answer: Answer) -> list[Element]:
    """Return every row with its two largest components, a sample of very many rows."""
    weights = np.nan_to_num(answer.weights)
    n, k = weights.shape
    if k < 2 or n < 2:
        return []
    words = answer.words
    sums = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    shares = np.maximum(weights, 0.0) / sums
    chosen = evenly(n, SETTINGS.table_rows)
    order = np.argsort(-shares[chosen], axis=1, kind="stable")[:, :2]
    names, components = answer.row_names, answer.component_names
    facts = answer.row_facts()
    rows, of = [], []
    for i, (first, second) in zip(chosen.tolist(), order.tolist()):
        cells = [str(names[i]), components[first], f"{shares[i, first]:.0%}"]
        also = shares[i, second] >= SETTINGS.least_shown
        cells += [f"{components[second]} {shares[i, second]:.0%}" if also else ""]
        some = shares[i, first] > 0
        cells = cells if some else [cells[0], "", "", ""]
        rows.append([*cells, *(_fact(values[i]) for values in facts.values())])
        of.append(first + 1 if some else 0)
    caption = f"Choose a {words.component} here, or click it at the top of the page."
    if len(chosen) < n:
        caption += f" Shown: {len(chosen):,} of {n:,} {plural(words.row)}, evenly spread."
    header = (words.row, f"main {words.component}", "share", "next", *facts)
    title = f"All {plural(words.row)}"
    return [Table(title, header, rows, caption, components=components, of=of)]


def _fact(value: float) -> str:
    """Return a number as readers write it: whole if it is large, with three digits otherwise."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == round(value) else f"{value:.3f}"


def evenly(n: int, count: int) -> NDArray[np.intp]:
    """Return at most `count` different places spread evenly over 0 … n − 1: a sample to show."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(np.intp))


def hover(answer: Answer, row: int, names: Sequence[str]) -> str:
    """Return the name of a row and its largest shares, a line each."""
    own = np.nan_to_num(answer.weights[row])
    largest = [c for c in np.argsort(-own, kind="stable")[:4] if own[c] > 0.005]
    return "\n".join([str(answer.row_names[row]), *(f"{names[c]} {own[c]:.0%}" for c in largest)])


def map_between(
    answer: Answer,
    title: str,
    corners: NDArray[np.float64],
    corner_names: list[str],
    rows: NDArray[np.intp],
    *,
    most: int,
    **more: Any,
) -> Chart:
    """Draw rows as points between the corners of their components; a sample of very many."""
    words, shown = answer.words, rows[evenly(len(rows), most)]
    weights = np.nan_to_num(answer.weights[shown])
    spread = max(float(np.ptp(corners, axis=0).max()), 1e-12)
    rng = np.random.default_rng(0)  # only to keep equal rows from hiding each other
    jitter = rng.normal(scale=0.02 * spread, size=(len(shown), 2))
    figure = figures.Network(
        weights @ corners + jitter,
        np.empty((0, 2), dtype=np.intp),
        [hover(answer, int(i), corner_names) for i in shown],
        weights.argmax(axis=1),
        corner_names,
        corners,
    )
    caption = (
        f"Each point is a {words.row}. It lies between its {plural(words.component)}, nearer to "
        f"those with a larger share, and has the colour of its main {words.component}."
    )
    if len(shown) < len(rows):
        caption += f" Shown: {len(shown):,} of {len(rows):,} {plural(words.row)}, evenly spread."
    return Chart(title, figure, caption, **more)


def _card(answer: Answer, component: int, order: NDArray[np.intp]) -> Card:
    """Draw the entries of a component at these columns as bars."""
    values = answer.components[component]
    largest = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    bars = [
        Bar(answer.column_names[i], in_digits(values[i]), float(np.abs(values[i]) / largest))
        for i in order
    ]
    name = answer.component_names[component]
    return Card(name, _size(answer, component), bars, component=component + 1)


def in_digits(value: float) -> str:
    """Return three digits, or all of a number in the thousands."""
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e6 else f"{value:.3g}"


def _size(answer: Answer, component: int) -> str:
    text = f"{answer.share[component]:.1%} of all weight"
    anchor = answer.anchor_name(component)
    return f"{text}, anchor: {anchor}" if anchor else text


def by_size(answer: Answer) -> list[int]:
    """Return components from the largest share to the smallest."""
    return [int(i) for i in np.argsort(-answer.share, kind="stable")]


def _components(answer: Answer) -> list[Element]:
    """Draw all entries of few columns with names, else the largest ones, and curves."""
    n, words = answer.components.shape[1], answer.words
    title = plural(words.component).capitalize()
    names = answer.factorization.column_names
    named = names is not None and n <= SETTINGS.named_columns
    order = np.argsort(-np.abs(answer.components), axis=1, kind="stable")[:, :COLUMNS]
    cards = [_card(answer, i, np.arange(n) if named else order[i]) for i in by_size(answer)]
    shown_first = f"The largest {words.component} comes first."
    if named:
        return [Cards(title, cards, shown_first), *_along_rows(answer)]
    caption = f"The largest entries of each {words.component}. {shown_first}"
    elements: list[Element] = [Cards(title, cards, caption)]
    places = np.arange(1.0, n + 1) if names is None else scale_of(names)
    if places is not None:
        along = _curves(answer, places, answer.components, words.column, "entry")
        elements.append(Chart(f"{title}, entry by entry", along))
    elif n <= SETTINGS.most_columns:
        sizes = [_size(answer, j) for j in range(answer.n_components)]
        over = f"{title}, entry by entry"
        told = f"Each bar is a {words.column}."
        elements.append(bars_over_columns(answer, over, "entry", sizes, told))
    return [*elements, *_along_rows(answer)]


def scale_of(names: Iterable[object]) -> NDArray[np.float64] | None:
    """Return names that are rising or falling numbers, such as wavelengths or times."""
    try:
        values = np.array([float(str(name)) for name in names])
    except ValueError:
        return None
    steps = np.diff(values)
    one_way = (steps > 0).all() or (steps < 0).all()
    return values if one_way and np.isfinite(values).all() else None


def bars_over_columns(
    answer: Answer,
    title: str,
    label: str,
    captions: Sequence[str],
    told: str,
    *,
    order: Sequence[int] | None = None,
    kinds: Sequence[str] = (),
) -> ChartGrid:
    """Draw every component as upright bars over the named columns, in this order."""
    places = list(range(len(answer.column_names))) if order is None else list(order)
    names = [answer.column_names[j] for j in places]
    charts = []
    for i in by_size(answer):
        figure = figures.Columns(names, answer.components[i, places], label, kinds)
        name = answer.component_names[i]
        charts.append(Chart(name, figure, captions[i], height=170, component=i + 1))
    return ChartGrid(title, charts, told)


def _along_rows(answer: Answer) -> list[Element]:
    """Draw the weights where rows are in order, such as the times of a chromatogram."""
    names = answer.factorization.row_names
    places = None if names is None else scale_of(names)
    if places is None or np.array_equal(places - places[0], np.arange(len(places))):  # row numbers
        return []
    figure = _curves(answer, places, np.nan_to_num(answer.weights).T, answer.words.row, "weight")
    return [Chart("Weights, row by row", figure)]


def _curves(
    answer: Answer, places: NDArray[np.float64], values: Any, label: str, of: str
) -> figures.Lines:
    shown = evenly(len(places), POINTS_IN_CURVE)
    series = [(name, places[shown], v[shown]) for name, v in zip(answer.component_names, values)]
    return figures.Lines(series, label, of)


# How the method got there: the trace as curves, why it stopped, and how it was called.


def convergence(result: Factorization) -> list[Element]:
    """Return the elements of the second tab."""
    steps = len(result.trace)
    time = f" in {result.trace['seconds'][-1]:.3g} s" if "seconds" in result.trace and steps else ""
    name, reason = method_name(result.method), result.stop_reason.sentence
    text = f"{name} made {steps} iteration{'s' * (steps != 1)}{time}. {reason}"
    elements: list[Element] = [Paragraph(text)] if steps else []
    charts = [
        _curve(result, column)
        for column in result.trace.columns
        if column != "seconds" and _changes(np.asarray(result.trace[column], dtype=float))
    ]
    if charts and steps > 1:
        elements.append(ChartGrid("Trace", charts))
    if not elements:
        elements = [
            Paragraph(
                f"{name} needs no iterations or recorded none, so there is no trace to draw. "
                f"{reason}"
            )
        ]
    rows = [(key, str(value)) for key, value in {**result.parameters, **result.versions}.items()]
    return [*elements, Table("Parameters and versions", ("name", "value"), rows)]


def method_name(method: str) -> str:
    """Return the method as its users write it."""
    return CATALOGUE.get(method, method)


def _changes(values: NDArray[np.float64]) -> bool:
    """Tell whether there is a curve to draw."""
    finite = values[np.isfinite(values)]
    return finite.size > 0 and bool(np.ptp(finite) > 0)


def _curve(result: Factorization, name: str) -> Chart:
    values = np.asarray(result.trace[name], dtype=float)
    positive = values[np.isfinite(values) & (values > 0)]
    wide = len(positive) > 0.9 * len(values) and positive.max() > 30 * positive.min()
    iterations = np.arange(1, len(values) + 1)
    label = name.replace("_", " ")
    figure = figures.Lines([(label, iterations, values)], "iteration", "", log_y=wide)
    return Chart(label, figure, height=280)
