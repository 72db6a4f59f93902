"""Charts as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatchmethod
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator

from provenmf.report.figures import (
    COLOURS,
    SCALE,
    Bars,
    Bubbles,
    Columns,
    Figure,
    HeatMap,
    Lines,
    Map,
    Network,
    shortened,
)

# Inches of a panel.
WIDTH, HEIGHT = 4.2, 3.2


class MatplotlibCanvas:
    """A grid of panels; text is shown as text, never as mathematics."""

    def __init__(self, titles: Sequence[str], columns: int, title: str) -> None:
        rows = -(-len(titles) // columns)
        size = (max(WIDTH * columns, 7), max(HEIGHT * rows, 4))
        self.figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False)
        self.figure.set_layout_engine("constrained")
        self.figure.suptitle(title, parse_math=False)
        self.panels = grid.ravel()
        for axes in self.panels[len(titles) :]:
            axes.set_visible(False)
        for axes, name in zip(self.panels, titles):
            axes.set_title(name, parse_math=False, fontsize="medium")

    def finished(self) -> Any:
        """Return the figure; a notebook that shows open figures by itself would show it twice."""
        if "inline" in plt.get_backend():
            plt.close(self.figure)
        return self.figure

    def draw(self, panel: int, figure: Figure) -> None:
        """Draw a figure into a panel, counted from 0."""
        self._draw(figure, self.panels[panel])

    def mark(self, panel: int, x: float) -> None:
        """Draw a dotted line at a place of the horizontal axis."""
        self.panels[panel].axvline(x, linestyle=":", color="0.4")

    @singledispatchmethod
    def _draw(self, figure: object, axes: Any) -> None:
        raise NotImplementedError(type(figure).__name__)

    @_draw.register
    def _(self, figure: Lines, axes: Any) -> None:
        for number, (name, x, y) in enumerate(figure.series):
            colour = COLOURS[(figure.colours[number] if figure.colours else number) % len(COLOURS)]
            style = ":" if name in figure.dotted else "-"
            axes.plot(list(x), list(y), style, color=colour, label=as_text(name))
        axes.set_xscale("log" if figure.log_x else axes.get_xscale())
        axes.set_yscale("log" if figure.log_y else axes.get_yscale())
        if not figure.log_x and all(np.asarray(x).dtype.kind in "iu" for _, x, _ in figure.series):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))  # 2.5 components are none
        axes.set_xlabel(figure.x_label, parse_math=False)
        axes.set_ylabel(figure.y_label, parse_math=False)
        if len(figure.series) > 1:
            axes.legend(fontsize="small")

    @_draw.register
    def _(self, figure: Columns, axes: Any) -> None:
        known = list(dict.fromkeys(figure.kinds))
        colours = [COLOURS[known.index(kind) % len(COLOURS)] for kind in figure.kinds]
        axes.bar(range(len(figure.names)), figure.values, color=colours or COLOURS[0])
        axes.set_xticks([])
        axes.set_ylabel(figure.value_label, parse_math=False)

    @_draw.register
    def _(self, figure: Bars, axes: Any) -> None:
        axes.barh(range(len(figure.names)), np.asarray(figure.values), color=COLOURS[0])
        names = [as_text(shortened(name)) for name in figure.names]
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.invert_yaxis()
        axes.set_xlabel(figure.value_label, parse_math=False)

    @_draw.register
    def _(self, figure: HeatMap, axes: Any) -> None:
        low, high = figure.limits
        self._heat(figure.values, low, high, figure.value_label, axes, "auto")
        columns = [as_text(shortened(name)) for name in figure.column_names]
        axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", fontsize="small")
        rows = [as_text(shortened(name)) for name in figure.row_names] if figure.show_rows else []
        axes.set_yticks(range(len(rows)), rows, fontsize="small")

    @_draw.register
    def _(self, figure: Map, axes: Any) -> None:
        self._heat(figure.values, 0.0, figure.largest, figure.value_label, axes, "equal")
        axes.set_axis_off()

    @_draw.register
    def _(self, figure: Network, axes: Any) -> None:
        ends = figure.positions[np.asarray(figure.edges).reshape(-1, 2)]
        axes.add_collection(LineCollection(list(ends), colors="0.5", alpha=0.25, linewidths=0.6))
        for group, name in enumerate(figure.group_names):
            own = figure.positions[figure.groups == group]
            colour = COLOURS[group % len(COLOURS)]
            axes.scatter(own[:, 0], own[:, 1], s=14, color=colour, label=as_text(name), zorder=2)
        axes.legend(fontsize="small")
        axes.set_aspect("equal")
        axes.set_axis_off()

    @_draw.register
    def _(self, figure: Bubbles, axes: Any) -> None:
        sizes = np.asarray(figure.sizes) / max(float(np.max(figure.sizes)), 1e-300) * 3000
        axes.scatter(*figure.positions.T, s=sizes, color=COLOURS[0], alpha=0.5)
        for (x, y), name in zip(figure.positions, figure.names):
            axes.annotate(as_text(shortened(name)), (x, y), ha="center", fontsize="small")
        axes.margins(0.2)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_axis_off()

    def _heat(
        self, values: np.ndarray, low: float, high: float, label: str, axes: Any, aspect: str
    ) -> None:
        colours = LinearSegmentedColormap.from_list("provenmf", SCALE)
        image = axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect=aspect)
        self.figure.colorbar(image, ax=axes, label=as_text(label))


def as_text(text: object) -> str:
    """Return text that matplotlib shows as it is: two dollar signs would be mathematics."""
    return str(text).replace("$", r"\$")
