"""Charts as a plotly figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatchmethod

import numpy as np
from plotly import graph_objects as go
from plotly.subplots import make_subplots

from provenmf.report.figures import (
    COLOURS,
    SCALE,
    Bars,
    Bubbles,
    Figure,
    HeatMap,
    Lines,
    Map,
    Network,
    shortened,
)

ROW_HEIGHT = 300


class PlotlyCanvas:
    """A grid of panels; text is shown as text, never as markup."""

    def __init__(self, titles: Sequence[str], columns: int, title: str) -> None:
        rows = -(-len(titles) // columns)
        self.columns = columns
        self.figure = make_subplots(
            rows,
            columns,
            subplot_titles=[plain(t) for t in titles],
            horizontal_spacing=0.14 if columns > 1 else None,
        )
        height = max(420, ROW_HEIGHT * rows)
        self.figure.update_layout(title=plain(title), height=height, template="plotly_white")

    def finished(self) -> go.Figure:
        """The figure."""
        return self.figure

    def draw(self, panel: int, figure: Figure) -> None:
        """Draw a figure into a panel, counted from 0."""
        self._draw(figure, {"row": panel // self.columns + 1, "col": panel % self.columns + 1})

    def mark(self, panel: int, x: float) -> None:
        """A dotted line at a place of the horizontal axis."""
        self.figure.add_vline(x, line_dash="dot", row=panel + 1, col=1)

    def _axes(self, place: dict[str, int], x: str, y: str, **of_y: object) -> None:
        self.figure.update_xaxes(title_text=plain(x), **place)
        self.figure.update_yaxes(title_text=plain(y), **of_y, **place)

    @singledispatchmethod
    def _draw(self, figure: object, place: dict[str, int]) -> None:
        raise NotImplementedError(type(figure).__name__)

    @_draw.register
    def _(self, figure: Lines, place: dict[str, int]) -> None:
        for number, (name, x, y) in enumerate(figure.series):
            colour = COLOURS[(figure.colours[number] if figure.colours else number) % len(COLOURS)]
            line = {"color": colour, "dash": "dot" if name in figure.dotted else "solid"}
            self.figure.add_trace(
                go.Scatter(x=list(x), y=list(y), name=plain(name), line=line), **place
            )
        self._axes(place, figure.x_label, figure.y_label)
        self.figure.update_xaxes(type="log" if figure.log_x else None, **place)
        self.figure.update_yaxes(type="log" if figure.log_y else None, **place)

    @_draw.register
    def _(self, figure: Bars, place: dict[str, int]) -> None:
        # Numbers with names beside them: two bars may have the same name.
        at = list(range(len(figure.names)))
        bars = go.Bar(x=np.asarray(figure.values), y=at, orientation="h", showlegend=False)
        self.figure.add_trace(bars.update(marker_color=COLOURS[0]), **place)
        names = [plain(shortened(name)) for name in figure.names]
        self._axes(place, figure.value_label, "", tickvals=at, ticktext=names, autorange="reversed")

    @_draw.register
    def _(self, figure: HeatMap, place: dict[str, int]) -> None:
        low, high = figure.limits
        rows = [plain(name) for name in figure.row_names] if figure.show_rows else None
        self._heat(figure.values, low, high, figure.value_label, place)
        self._axes(
            place,
            "",
            "",
            autorange="reversed",
            ticktext=rows,
            tickvals=rows and list(range(len(rows))),
        )
        columns = [plain(name) for name in figure.column_names]
        self.figure.update_xaxes(tickvals=list(range(len(columns))), ticktext=columns, **place)

    @_draw.register
    def _(self, figure: Map, place: dict[str, int]) -> None:
        self._heat(figure.values, 0.0, figure.largest, figure.value_label, place)
        self._square(place)
        self.figure.update_yaxes(autorange="reversed", **place)

    @_draw.register
    def _(self, figure: Network, place: dict[str, int]) -> None:
        ends = figure.positions[np.asarray(figure.edges).reshape(-1, 2)]
        gaps = np.concatenate([ends, np.full((len(ends), 1, 2), np.nan)], axis=1).reshape(-1, 2)
        faint = {"color": "rgba(120,120,120,0.25)", "width": 1}
        self.figure.add_trace(
            go.Scatter(x=gaps[:, 0], y=gaps[:, 1], mode="lines", line=faint, showlegend=False,
                       hoverinfo="skip"), **place,
        )  # fmt: skip
        for group, name in enumerate(figure.group_names):
            own = np.flatnonzero(figure.groups == group)
            texts = [plain(figure.names[i]).replace("\n", "<br>") for i in own.tolist()]
            self._points(figure.positions[own], texts, COLOURS[group % len(COLOURS)], place, name)
        self._square(place)

    @_draw.register
    def _(self, figure: Bubbles, place: dict[str, int]) -> None:
        sizes = np.sqrt(np.asarray(figure.sizes) / max(float(np.max(figure.sizes)), 1e-300)) * 80
        names = [plain(shortened(name)) for name in figure.names]
        self._points(figure.positions, names, COLOURS[0], place, "", size=sizes, opacity=0.5)
        self.figure.data[-1].mode = "markers+text"
        self._square(place)

    def _points(
        self, at: np.ndarray, texts: list[str], colour: str, place: dict[str, int], name: str,
        **marker: object,
    ) -> None:  # fmt: skip
        marker = {"color": colour, **marker}
        self.figure.add_trace(
            go.Scatter(x=at[:, 0], y=at[:, 1], mode="markers", text=texts, hoverinfo="text",
                       marker=marker, name=plain(name), showlegend=bool(name)), **place,
        )  # fmt: skip

    def _heat(
        self, values: np.ndarray, low: float, high: float, label: str, place: dict[str, int]
    ) -> None:
        scale = [[i / (len(SCALE) - 1), colour] for i, colour in enumerate(SCALE)]
        first = not any(isinstance(trace, go.Heatmap) for trace in self.figure.data)
        self.figure.add_trace(
            go.Heatmap(z=values, zmin=low, zmax=high, colorscale=scale, showscale=first,
                       colorbar_title_text=plain(label)), **place,
        )  # fmt: skip

    def _square(self, place: dict[str, int]) -> None:
        axis = self.figure.get_subplot(**place).xaxis.plotly_name.replace("axis", "")
        self.figure.update_xaxes(visible=False, **place)
        self.figure.update_yaxes(visible=False, scaleanchor=axis, **place)


def plain(text: object) -> str:
    """Text that plotly shows as it is: it reads some HTML."""
    return str(text).replace("&", "&amp;").replace("<", "&lt;")
