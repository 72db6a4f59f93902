"""Plotly figures as plain data: dicts of numbers and text, no plotly needed to make them.

Colours of text, grid and background are left to the page, which has a light and a dark look.
Text from the data is escaped here, because plotly reads a little HTML in its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A figure as plotly reads it.
Plotly = dict[str, Any]

# Colours that are told apart by colour-blind readers (after Okabe & Ito 2008), on white and black.
COLOURS = ("#0a7abf", "#e08a00", "#009e73", "#cc6aa2", "#3fb0e8", "#d55e00", "#8c6bb1", "#8a8a8a")
DASHES = ("solid", "dash", "dot", "dashdot")


def plain(text: object) -> str:
    """Text that plotly shows as it is, whatever it holds."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(text: object, width: int = 28) -> str:
    """At most `width` characters, for axis labels."""
    whole = str(text)
    return whole if len(whole) <= width else whole[: width - 1] + "…"


def numbers(values: object, digits: int = 4) -> Any:
    """Nested lists with `digits` significant digits; what is not finite becomes null."""
    array = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(array)
    safe = np.where(finite, array, 0.0)
    with np.errstate(divide="ignore"):
        magnitude = np.where(safe != 0, np.floor(np.log10(np.abs(safe))), 0.0)
    scale = 10.0 ** np.clip(digits - 1 - magnitude, -300, 300)
    rounded = np.where(finite, np.round(safe * scale) / scale, np.nan)
    return _without_nan(rounded.tolist())


def _without_nan(values: object) -> Any:
    if isinstance(values, list):
        return [_without_nan(value) for value in values]
    return None if values != values else values


def lines(
    series: Sequence[tuple[str, Any, Any]],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    dotted: Sequence[str] = (),
) -> Plotly:
    """Curves (name, x, y) with a legend; the names in `dotted` get markers and a dotted line."""
    data = []
    for number, (name, x, y) in enumerate(series):
        trace = {
            "type": "scatter",
            "mode": "lines+markers" if len(x) <= 30 else "lines",
            "name": plain(shortened(name, 40)),
            "x": x if isinstance(x, list) else numbers(x, 6),
            "y": numbers(y, 5),
            "line": {
                "color": COLOURS[number % len(COLOURS)],
                "dash": "dot" if name in dotted else DASHES[number // len(COLOURS) % len(DASHES)],
                "width": 2,
            },
            "marker": {"size": 5},
        }
        data.append(trace)
    return {
        "data": data,
        "layout": {
            "xaxis": {"title": {"text": plain(x_label)}, "type": "log" if log_x else "-"},
            "yaxis": {"title": {"text": plain(y_label)}, "type": "log" if log_y else "-"},
            "showlegend": len(data) > 1,
        },
    }


def bars(names: Sequence[object], values: object, value_label: str) -> Plotly:
    """Horizontal bars, the first name on top."""
    labels = [plain(shortened(name)) for name in names]
    return {
        "data": [
            {
                "type": "bar",
                "orientation": "h",
                "x": numbers(values),
                "y": list(range(len(labels))),
                "text": [plain(name) for name in names],
                "textposition": "none",
                "hovertemplate": "%{text}: %{x}<extra></extra>",
                "marker": {"color": COLOURS[0]},
            }
        ],
        "layout": {
            "xaxis": {"title": {"text": plain(value_label)}, "rangemode": "tozero"},
            "yaxis": {
                "autorange": "reversed",
                "tickvals": list(range(len(labels))),
                "ticktext": labels,
                "automargin": True,
            },
        },
    }


def heat_map(
    values: NDArray[np.floating],
    row_names: Sequence[object],
    column_names: Sequence[object],
    *,
    value_label: str,
    square: bool = False,
    largest: float | None = None,
    show_rows: bool = True,
    row_ticks: Sequence[str] | None = None,
    column_ticks: Sequence[str] | None = None,
) -> Plotly:
    """A matrix as colours; hovering tells row, column and value.

    row_ticks, column_ticks : short labels for the axes in place of the names.
    """
    rows = [plain(name) for name in row_names]
    columns = [plain(name) for name in column_names]
    trace = {
        "type": "heatmap",
        "z": numbers(values),
        "customdata": [[[row, column] for column in columns] for row in rows],
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<br>"
        + plain(value_label)
        + " %{z}<extra></extra>",
        "colorscale": "Viridis",
        "zmin": min(0.0, float(np.nanmin(values))) if np.isfinite(values).any() else 0.0,
        "colorbar": {"thickness": 10, "title": {"text": plain(value_label), "side": "right"}},
    }
    if largest is not None:
        trace["zmax"] = largest
    return {
        "data": [trace],
        "layout": {
            "xaxis": {
                "tickvals": list(range(len(columns))),
                "ticktext": [plain(shortened(name, 16)) for name in column_ticks or column_names],
                **({"tickangle": 0} if column_ticks else {}),
                "automargin": True,
                "constrain": "domain",
                "showgrid": False,
            },
            "yaxis": {
                "autorange": "reversed",
                "tickvals": list(range(len(rows))) if show_rows else [],
                "ticktext": [plain(shortened(name, 20)) for name in row_ticks or row_names],
                "automargin": True,
                "showgrid": False,
                **({"scaleanchor": "x", "constrain": "domain"} if square else {}),
            },
        },
    }


def image(values: NDArray[np.floating], *, value_label: str, largest: float) -> Plotly:
    """A map (rows, columns) in colours, pixels square, no axes."""
    hidden = {"visible": False, "constrain": "domain"}
    return {
        "data": [
            {
                "type": "heatmap",
                "z": numbers(values, 3),
                "zmin": 0.0,
                "zmax": largest,
                "colorscale": "Viridis",
                "showscale": False,
                "hovertemplate": f"row %{{y}}, column %{{x}}<br>{plain(value_label)} %{{z}}"
                "<extra></extra>",
            }
        ],
        "layout": {
            "xaxis": hidden,
            "yaxis": {**hidden, "autorange": "reversed", "scaleanchor": "x"},
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        },
    }


def network(
    positions: NDArray[np.floating],
    edges: NDArray[np.integer],
    names: Sequence[str],
    groups: NDArray[np.integer],
    corners: NDArray[np.floating],
    corner_names: Sequence[str],
) -> Plotly:
    """Nodes at given positions, coloured by group, edges as faint lines, named corners."""
    ends = np.full((len(edges), 3, 2), np.nan)
    ends[:, 0], ends[:, 1] = positions[edges[:, 0]], positions[edges[:, 1]]
    data: list[Plotly] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "edges",
            "x": numbers(ends[:, :, 0].ravel()),
            "y": numbers(ends[:, :, 1].ravel()),
            "line": {"width": 0.5, "color": "rgba(128,128,128,0.35)"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for group, corner_name in enumerate(corner_names):
        members = np.flatnonzero(groups == group)
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain(corner_name),
                "x": numbers(positions[members, 0]),
                "y": numbers(positions[members, 1]),
                "text": [names[int(i)] for i in members],
                "hovertemplate": "%{text}<extra></extra>",
                "marker": {"size": 7, "color": COLOURS[group % len(COLOURS)]},
            }
        )
    annotations = [
        {"x": 1.18 * float(x), "y": 1.18 * float(y), "text": plain(name), "showarrow": False}
        for (x, y), name in zip(corners, corner_names)
    ]
    low, high = corners.min(axis=0) - 0.3, corners.max(axis=0) + 0.3
    hidden = {"visible": False, "constrain": "domain"}
    return {
        "data": data,
        "layout": {
            "xaxis": {**hidden, "range": [float(low[0]) - 0.15, float(high[0]) + 0.15]},
            "yaxis": {**hidden, "range": [float(low[1]), float(high[1])], "scaleanchor": "x"},
            "annotations": annotations,
            "hovermode": "closest",
            "showlegend": False,
            "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        },
    }
