"""The charts of the report as matplotlib figures, which exported notebooks show without a network.

Text is shown as text, never as mathematics. Matplotlib is loaded with the first figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from provenmf.applications.parts import Parts
from provenmf.errors import InvalidInput, optional, shortened
from provenmf.report.elements import Card, Cards, Chart, ChartGrid, Element
from provenmf.report.figures import (
    COLOURS,
    SCALE,
    Bubbles,
    Columns,
    Curve,
    Figure,
    Lines,
    Map,
    Network,
    Tree,
)
from provenmf.report.matrix import convergence, found
from provenmf.results import Answer, Factorization, as_answer

Panels = Sequence[tuple[str, Figure | Card]]

ABREAST = 3  # panels in a row
WIDTH, HEIGHT = 4.2, 3.2  # inches of a panel


def plot(result: Factorization | Answer, chart: str | None) -> Any:
    """Draw one chart of the report, by words of its title; without them the components."""
    known = charts(as_answer(result))
    if chart is None:
        title = next(iter(known))
    else:
        fitting = [title for title in known if chart.lower() in title.lower()]
        if not fitting:
            raise InvalidInput(
                f"no chart has {chart!r} in its title",
                argument="chart",
                remedy=f"choose one of {', '.join(map(repr, known))}",
            )
        title = fitting[0]
    panels = known[title]
    return drawn(panels, title, columns=min(ABREAST, len(panels)))


def charts(answer: Answer) -> dict[str, Panels]:
    """Return all charts of an answer by title, the components first."""
    known: dict[str, Panels] = {}
    if isinstance(answer, Parts):
        largest = max(float(answer.parts.max()), 0.0)
        known["Parts"] = [
            (name, Map(part, "pixel", largest))
            for name, part in zip(answer.component_names, answer.parts)
        ]
    for element in [*found(answer), *convergence(answer.factorization)]:
        panels = _panels(element)
        if panels:
            known.setdefault(element.title, panels)  # type: ignore[union-attr]
    return known


def _panels(element: Element) -> Panels:
    if isinstance(element, Cards):
        return [(card.title, card) for card in element.cards]
    if isinstance(element, ChartGrid):
        return [(chart.title, chart.figure) for chart in element.charts]
    return [("", element.figure)] if isinstance(element, Chart) else []


def stacked(
    panels: Mapping[str, Sequence[Curve]], x_label: str, title: str, *, mark: float | None = None
) -> Any:
    """Draw curves by the label of their axis, one panel above the other, with a line at `mark`."""
    lines = [("", Lines(curves, x_label, label)) for label, curves in panels.items()]
    return drawn(lines, title, columns=1, mark=mark)


def drawn(panels: Panels, title: str, *, columns: int, mark: float | None = None) -> Any:
    """Draw panels as one figure; a notebook that shows open figures by itself shows it once."""
    plt = optional("matplotlib.pyplot", "a figure", "plot")
    rows = -(-len(panels) // columns)
    size = (max(WIDTH * columns, 7), max(HEIGHT * rows, 4))
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    figure.suptitle(title, parse_math=False)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)
    for axes, (name, chart) in zip(grid.ravel(), panels):
        axes.set_title(name, parse_math=False, fontsize="medium")
        _draw(chart, axes)
        if mark is not None:
            axes.axvline(mark, linestyle=":", color="0.4")
    if "inline" in plt.get_backend():
        plt.close(figure)
    return figure


@singledispatch
def _draw(figure: object, axes: Any) -> None:
    raise NotImplementedError(type(figure).__name__)


@_draw.register
def _(figure: Lines, axes: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    for number, (name, x, y) in enumerate(figure.series):
        colour = COLOURS[(figure.colours[number] if figure.colours else number) % len(COLOURS)]
        style = ":" if name in figure.dotted else "-"
        axes.plot(list(x), list(y), style, color=colour, label=as_text(name))
    axes.set_xscale("log" if figure.log_x else axes.get_xscale())
    axes.set_yscale("log" if figure.log_y else axes.get_yscale())
    if not figure.log_x and all(np.asarray(x).dtype.kind in "iu" for _, x, _ in figure.series):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))  # no ticks at fractions
    axes.set_xlabel(figure.x_label, parse_math=False)
    axes.set_ylabel(figure.y_label, parse_math=False)
    if len(figure.series) > 1:
        axes.legend(fontsize="small")


@_draw.register
def _(figure: Columns, axes: Any) -> None:
    known = list(dict.fromkeys(figure.kinds))
    colours = [COLOURS[known.index(kind) % len(COLOURS)] for kind in figure.kinds]
    values, base = np.atleast_2d(np.asarray(figure.values).T), 0.0
    for number, (heights, name) in enumerate(zip(values, figure.parts or [""])):
        colour = COLOURS[number % len(COLOURS)] if figure.parts else colours or COLOURS[0]
        axes.bar(range(len(heights)), heights, bottom=base, color=colour, label=name)
        base = base + heights
    if figure.parts:  # beside the bars, which fill their frame
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.margins(x=0.0)
    middles = [np.mean([i for i, own in enumerate(figure.kinds) if own == kind]) for kind in known]
    axes.set_xticks(middles, _short(known), fontsize="small")
    axes.set_ylabel(figure.value_label, parse_math=False)


@_draw.register
def _(card: Card, axes: Any) -> None:
    axes.barh(range(len(card.bars)), [bar.length for bar in card.bars], color=COLOURS[0])
    axes.set_yticks(range(len(card.bars)), _short([b.label for b in card.bars]), fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel("of the largest")


@_draw.register
def _(figure: Map, axes: Any) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("provenmf", SCALE)
    image = axes.imshow(figure.values, cmap=colours, vmin=0.0, vmax=figure.largest)
    axes.figure.colorbar(image, ax=axes, label=as_text(figure.value_label))
    axes.set_axis_off()


@_draw.register
def _(figure: Network, axes: Any) -> None:
    from matplotlib.collections import LineCollection

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
def _(figure: Bubbles, axes: Any) -> None:
    across, up = figure.positions.T
    axes.scatter(across, up, s=4000 * figure.sizes, color=COLOURS[0], alpha=0.4)
    for place, name in zip(figure.positions, figure.names):
        axes.annotate(as_text(shortened(name, 28)), place, ha="center", fontsize="small")
    axes.margins(0.2)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()


@_draw.register
def _(figure: Tree, axes: Any) -> None:
    for path in figure.branches():
        axes.plot(*zip(*path), color=COLOURS[0])
    names = _short([figure.names[i] for i in figure.order()])
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel(figure.value_label, parse_math=False)


def _short(names: Sequence[object]) -> list[str]:
    return [as_text(shortened(str(name), 28)) for name in names]


def as_text(text: object) -> str:
    """Return text that matplotlib shows as it is: two dollar signs would be mathematics."""
    return str(text).replace("$", r"\$")
