"""Put the page together: one HTML file with everything inside, no address to fetch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from provenmf.errors import MissingExtra
from provenmf.io import write_aside
from provenmf.records import Factorization
from provenmf.report import communities, matrix, parts, topics, unmixing
from provenmf.report.answer import Answer, answer_of, factorized
from provenmf.report.certificate import certificate_elements, headline
from provenmf.report.convergence import convergence, method_name
from provenmf.report.elements import Chart, ChartGrid, Element, Tab
from provenmf.report.scores import scores_and_notes

FOUND: dict[str, Callable[[Factorization, Answer], list[Element]]] = {
    "topics": topics.found,
    "communities": communities.found,
    "unmixing": unmixing.found,
    "parts": parts.found,
    "matrix": matrix.found,
}


def write(result: Factorization, path: str | Path, *, title: str | None = None) -> None:
    """Write the report of a result to an HTML file, completely or not at all.

    Parameters
    ----------
    result : a saved or fresh Factorization.
    path : of the HTML file.
    title : heading of the page; by default the kind of result and the method.
    """
    text = render(result, title=title)
    write_aside(path, lambda file: file.write(text.encode()))


def render(result: Factorization, *, title: str | None = None) -> str:
    """The report of a result as HTML text."""
    answer = answer_of(result)
    found = FOUND[answer.kind](result, answer) + scores_and_notes(result, answer)
    tabs = [
        Tab("found", "What was found", found),
        Tab("convergence", "How it converged", convergence(result)),
        Tab(
            "certificate",
            "What is guaranteed",
            certificate_elements(result.certificate, factorized(result)),
        ),
    ]
    summary = headline(result.certificate)[0] if result.certificate else ""
    default = {"unmixing": "Unmixing", "matrix": "Factorization"}.get(
        answer.kind, answer.kind.capitalize()
    )
    return page(title or f"{default} by {method_name(result)}", tabs, summary=summary)


def page(title: str, tabs: list[Tab], *, summary: str = "") -> str:
    """Any tabs as one self-contained page."""
    try:
        import jinja2
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtra("the report", "report") from error
    import provenmf

    folder = resources.files("provenmf.report") / "template"
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    charts = list(_charts(tabs))
    numbers = {id(chart): number for number, chart in enumerate(charts)}
    template = environment.from_string((folder / "page.html").read_text("utf-8"))
    return template.render(
        title=title,
        summary=summary,
        tabs=tabs,
        chart_number=lambda chart: numbers[id(chart)],
        figures=script_json([chart.figure for chart in charts]),
        style=(folder / "page.css").read_text("utf-8"),
        script=(folder / "page.js").read_text("utf-8"),
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
        version=provenmf.__version__,
    )


def script_json(content: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _charts(tabs: list[Tab]) -> Iterator[Chart]:
    for tab in tabs:
        for element in tab.elements:
            if isinstance(element, Chart):
                yield element
            elif isinstance(element, ChartGrid):
                yield from element.charts
