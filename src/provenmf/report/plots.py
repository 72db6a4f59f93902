"""The charts of the report as figures for notebooks, drawn by plotly or matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from provenmf.applications.parts import Parts
from provenmf.errors import InvalidInput, MissingExtra
from provenmf.report.convergence import convergence
from provenmf.report.elements import Cards, Chart, ChartGrid, Element, TopicMap
from provenmf.report.figures import Bars, Curve, Figure, Lines, Map
from provenmf.report.matrix import found
from provenmf.results import Answer, Factorization, as_answer

if TYPE_CHECKING:
    from provenmf.results.display import Backend

# Several panels stand in rows of so many.
ABREAST = 3

Panels = Sequence[tuple[str, Figure]]


class Canvas(Protocol):
    """A grid of panels that one backend draws."""

    def __init__(self, titles: Sequence[str], columns: int, title: str) -> None: ...

    def draw(self, panel: int, figure: Figure) -> None:
        """Draw a figure into a panel, counted from 0."""

    def mark(self, panel: int, x: float) -> None:
        """Draw a line at a place of the horizontal axis."""

    def finished(self) -> Any:
        """The figure of the backend."""


def plot(result: Factorization | Answer, chart: str | None, backend: Backend) -> Any:
    """One chart of the report, by the words of its title; without them the components."""
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
    return drawn(known[title], title, backend)


def charts(answer: Answer) -> dict[str, Panels]:
    """All charts of an answer by title, the components first."""
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
        return [
            (
                card.title,
                Bars([b.label for b in card.bars], [b.length for b in card.bars], "of the largest"),
            )
            for card in element.cards
        ]
    if isinstance(element, ChartGrid):
        return [(chart.title, chart.figure) for chart in element.charts]
    if isinstance(element, TopicMap):
        return [("", element.chart.figure)]
    return [("", element.figure)] if isinstance(element, Chart) else []


def drawn(panels: Panels, title: str, backend: Backend) -> Any:
    """Panels side by side as one figure."""
    canvas = canvas_of(backend)([name for name, _ in panels], min(ABREAST, len(panels)), title)
    for number, (_, figure) in enumerate(panels):
        canvas.draw(number, figure)
    return canvas.finished()


def stacked(
    panels: Mapping[str, Sequence[Curve]],
    x_label: str,
    title: str,
    backend: Backend,
    *,
    mark: float | None = None,
    log: Sequence[str] = (),
) -> Any:
    """Curves by the label of their axis, one panel above the other, with a line at `mark`."""
    canvas = canvas_of(backend)([""] * len(panels), 1, title)
    for number, (label, curves) in enumerate(panels.items()):
        canvas.draw(number, Lines(curves, x_label, label, log_y=label in log))
        if mark is not None:
            canvas.mark(number, mark)
    return canvas.finished()


def canvas_of(backend: str) -> type[Canvas]:
    """The class that draws with a backend."""
    try:
        if backend == "plotly":
            from provenmf.report.plotly_canvas import PlotlyCanvas

            return PlotlyCanvas
        if backend == "matplotlib":
            from provenmf.report.matplotlib_canvas import MatplotlibCanvas

            return MatplotlibCanvas
    except ImportError as error:
        raise MissingExtra("a figure", "plot") from error
    raise InvalidInput(
        "draws nothing", argument="backend", value=backend, remedy="use 'plotly' or 'matplotlib'"
    )
