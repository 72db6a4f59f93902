"""The charts of the report as figures for notebooks, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from provenmf.applications.parts import Parts
from provenmf.errors import InvalidInput, MissingExtra
from provenmf.report.elements import Cards, Chart, ChartGrid, Element, TopicMap
from provenmf.report.figures import Bars, Curve, Figure, Lines, Map
from provenmf.report.matrix import convergence, found
from provenmf.results import Answer, Factorization, as_answer

ABREAST = 3  # panels in a row

Panels = Sequence[tuple[str, Figure]]


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
    return drawn(known[title], title)


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


def drawn(panels: Panels, title: str) -> Any:
    """Draw panels side by side as one figure."""
    canvas = _canvas([name for name, _ in panels], min(ABREAST, len(panels)), title)
    for number, (_, figure) in enumerate(panels):
        canvas.draw(number, figure)
    return canvas.finished()


def stacked(
    panels: Mapping[str, Sequence[Curve]],
    x_label: str,
    title: str,
    *,
    mark: float | None = None,
) -> Any:
    """Draw curves by the label of their axis, one panel above the other, with a line at `mark`."""
    canvas = _canvas([""] * len(panels), 1, title)
    for number, (label, curves) in enumerate(panels.items()):
        canvas.draw(number, Lines(curves, x_label, label))
        if mark is not None:
            canvas.mark(number, mark)
    return canvas.finished()


def _canvas(titles: Sequence[str], columns: int, title: str) -> Any:
    """Return an empty grid of panels; matplotlib is loaded here."""
    try:
        from provenmf.report.matplotlib_canvas import MatplotlibCanvas
    except ImportError as error:
        raise MissingExtra("a figure", "plot") from error
    return MatplotlibCanvas(titles, columns, title)
