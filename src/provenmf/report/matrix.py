"""Any matrix: the largest entries of each component, and the weights of the rows."""

from __future__ import annotations

import numpy as np

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.answer import Answer, evenly
from provenmf.report.elements import Bar, Card, Cards, Chart, Element, Paragraph

COLUMNS = 12
ROWS_IN_MAP = 200
POINTS_IN_CURVE = 1000


def found(result: Factorization, answer: Answer) -> list[Element]:
    """The elements of the first tab."""
    summary = (
        f"{answer.n_components} components of a matrix with {len(answer.weights):,} rows and "
        f"{answer.components.shape[1]:,} columns."
    )
    return [
        Paragraph(summary),
        Cards(
            "Components",
            [_card(answer, i) for i in range(answer.n_components)],
            "The largest entries of each component.",
        ),
        _curves(answer),
        _weights(answer),
    ]


def _card(answer: Answer, component: int) -> Card:
    values = answer.components[component]
    order = np.argsort(-np.abs(values), kind="stable")[:COLUMNS]
    largest = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    bars = [
        Bar(answer.column_names[i], f"{values[i]:.3g}", float(np.abs(values[i]) / largest))
        for i in order
    ]
    text = f"{answer.share[component]:.1%} of all weight"
    anchor = answer.anchor_name(component)
    return Card(answer.names[component], f"{text}, anchor: {anchor}" if anchor else text, bars)


def _curves(answer: Answer) -> Chart:
    n = answer.components.shape[1]
    shown = evenly(n, POINTS_IN_CURVE)
    series = [(name, shown + 1, c[shown]) for name, c in zip(answer.names, answer.components)]
    return Chart("Components, entry by entry", figures.lines(series, "column", "entry"))


def _weights(answer: Answer) -> Chart:
    order = np.argsort(answer.weights.argmax(axis=1), kind="stable")
    caption = "Rows are sorted by their main component."
    if len(order) > ROWS_IN_MAP:
        order = order[evenly(len(order), ROWS_IN_MAP)]
        caption += f" Shown: {ROWS_IN_MAP} of {len(answer.weights):,} rows, evenly spread."
    figure = figures.heat_map(
        answer.weights[order],
        [answer.row_names[i] for i in order],
        answer.names,
        value_label="weight",
        show_rows=len(order) <= 30,
    )
    return Chart("Weights", figure, caption, height=480)
