"""Any matrix: the largest entries of each component, and the weights of the rows."""

from __future__ import annotations

import numpy as np

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.elements import Bar, Card, Cards, Chart, Element, Paragraph
from provenmf.report.naming import component_names, names_of, scores
from provenmf.report.topics import shares

COLUMNS = 12
ROWS_IN_MAP = 200


def found(result: Factorization) -> list[Element]:
    """The elements of the first tab."""
    columns = names_of(result, "column_names", result.components.shape[1], "column")
    rows = names_of(result, "row_names", len(result.weights), "row")
    names = component_names(result, "Component")
    share = shares(result.weights * np.linalg.norm(result.components, axis=1))
    cards = [
        Card(
            name,
            f"{share[i]:.1%} of all weight{_anchor(result, i, rows)}",
            _bars(result, i, columns),
        )
        for i, name in enumerate(names)
    ]
    summary = (
        f"{result.n_components} components of a matrix with {len(rows):,} rows and "
        f"{len(columns):,} columns."
    )
    return [
        Paragraph(summary),
        Cards("Components", cards, "The largest entries of each component."),
        Chart(
            "Components, entry by entry",
            figures.lines(
                [
                    (name, np.arange(1, len(columns) + 1)[:: _step(columns)], c[:: _step(columns)])
                    for name, c in zip(names, result.components)
                ],
                "column",
                "entry",
            ),
        ),
        _weights(result, rows, names),
        *scores(result),
    ]


def _step(columns: list[str]) -> int:
    return max(1, len(columns) // 1000)


def _anchor(result: Factorization, component: int, rows: list[str]) -> str:
    if result.anchors is None or len(result.anchors) != result.n_components:
        return ""
    anchor = int(result.anchors[component])
    return f", anchor: {rows[anchor]}" if 0 <= anchor < len(rows) else ""


def _bars(result: Factorization, component: int, columns: list[str]) -> list[Bar]:
    values = result.components[component]
    order = np.argsort(-np.abs(values), kind="stable")[:COLUMNS]
    largest = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    return [Bar(columns[i], f"{values[i]:.3g}", float(np.abs(values[i]) / largest)) for i in order]


def _weights(result: Factorization, rows: list[str], names: list[str]) -> Chart:
    order = np.argsort(result.weights.argmax(axis=1), kind="stable")
    caption = "Rows are sorted by their main component."
    if len(order) > ROWS_IN_MAP:
        order = order[np.linspace(0, len(order) - 1, ROWS_IN_MAP).astype(int)]
        caption += f" Shown: {ROWS_IN_MAP} of {len(rows):,} rows, evenly spread."
    figure = figures.heat_map(
        result.weights[order],
        [rows[i] for i in order],
        names,
        value_label="weight",
        show_rows=len(order) <= 30,
    )
    return Chart("Weights", figure, caption, height=480)
