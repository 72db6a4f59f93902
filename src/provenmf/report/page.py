"""Put the page together: one HTML file with everything inside, no address to fetch."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from provenmf.applications.parts import Parts
from provenmf.applications.unmixing import Unmixing
from provenmf.errors import MissingExtra
from provenmf.io import write_aside
from provenmf.report import communities, parts, signatures, topics, unmixing  # noqa: F401
from provenmf.report.certificate import certificate_elements
from provenmf.report.elements import (
    Chart,
    ChartGrid,
    Element,
    Overview,
    Paragraph,
    Tab,
    Table,
    TopicMap,
)
from provenmf.report.figures import COLOURS, SCALE
from provenmf.report.matrix import convergence, found, method_name, overview, row_table
from provenmf.results import Answer, Factorization, as_answer
from provenmf.results.estimates import Evidence
from provenmf.results.factorization import Origin
from provenmf.results.verdict import headline, is_good_news


def scores(answer: Answer) -> list[Element]:
    """Return a table of the scores, if there are any."""
    rows = [(meaning, f"{value:.4g}") for meaning, value in answer.scores().items()]
    return [Table("Scores", ("score", "value"), rows)] if rows else []


def notes(answer: Answer) -> list[Element]:
    """Return the notes: what was chosen automatically and what was done to the input."""
    return [
        Paragraph("Note: " + note[:1].upper() + note[1:].rstrip(".") + ".", "remark")
        for note in answer.notes
    ]


# Sections with pictures of their own register themselves with `found`.

# The page's programs, in the order in which they need each other.
SCRIPTS = ("drawing", "charts", "saving", "names", "topic_map", "page")


def write(result: Factorization | Answer, path: str | Path, *, title: str | None = None) -> None:
    """Write the report of a result to an HTML file, completely or not at all.

    Parameters
    ----------
    result : a Factorization, or the answer of an application; saved or fresh.
    path : of the HTML file.
    title : heading of the page; by default the kind of result and the file of the data.
    """
    # A report stands beside its result, under the same name.
    beside = shlex.quote(Path(path).with_suffix(".npz").name)
    text = render(result, title=title, result_file=beside)
    write_aside(path, lambda file: file.write(text.encode(errors="replace")))


def render(
    result: Factorization | Answer, *, title: str | None = None, result_file: str = ""
) -> str:
    """Return the report of a result as HTML; the page says that names are kept in `result_file`."""
    answer = as_answer(result)
    fit, certificate = answer.factorization, answer.certificate
    summary, *details = found(answer)
    tables = [] if isinstance(answer, Parts | Unmixing) else row_table(answer)
    tabs = [
        Tab("found", "What was found", [*notes(answer), *details, *tables, *scores(answer)]),
        Tab("convergence", "How it converged", convergence(fit)),
        Tab(
            "certificate",
            "What is guaranteed",
            certificate_elements(certificate, answer.factorized()),
        ),
    ]
    lead = summary.text if isinstance(summary, Paragraph) else ""
    origin = origin_rows(fit.origin, fit.versions.get("provenmf"), method_name(fit))
    top = Top(origin, result_file=result_file, lead=lead, overview=overview(answer))
    hidden = answer.n_components - len(top.overview)
    if hidden:
        top = replace(top, lead=f"{lead} The {len(top.overview)} largest are listed here.")
    if certificate:
        judged = certificate.evidence
        good = is_good_news(certificate) if judged is None else all(_confirmed(judged))
        # The theory stands in its tab.
        top = replace(top, verdict=_verdict(answer), tone="good" if good else "note")
    return page(title or _heading(answer), tabs, top)


def _verdict(answer: Answer) -> list[str]:
    """Return the verdict; an error that is not about the user's own data says what it is about."""
    assert answer.certificate is not None
    matrix = answer.factorized()
    return [
        f"{sentence.rstrip('.')} (of {matrix})."
        if matrix and sentence.startswith("The relative error")
        else sentence
        for sentence in headline(answer.certificate)[:2]
    ]


def _confirmed(evidence: Evidence) -> list[bool]:
    return [judgement == "confirmed" for judgement in evidence.judgements]


def _heading(answer: Answer) -> str:
    """Return the heading: "Topics of letters", or the method where there is no file."""
    fit = answer.factorization
    file = fit.origin.file if fit.origin else ""
    return f"{answer.words.title} " + (f"of {file}" if file else f"by {method_name(fit)}")


@dataclass(frozen=True)
class Top:
    """What stands above the tabs: where the result comes from, what was found, and the verdict."""

    origin: Sequence[tuple[str, str]] = ()
    verdict: Sequence[str] = ()
    tone: str = ""
    result_file: str = ""
    lead: str = ""
    overview: Sequence[Overview] = ()


def origin_rows(
    origin: Origin | None, version: str | None, method: str = ""
) -> list[tuple[str, str]]:
    """Return file, date, method, version and command, as far as they are known."""
    origin = origin or Origin()
    rows = [
        ("File", origin.file),
        ("Date", origin.date),
        ("Method", method),
        ("Version", f"provenmf {version}" if version else ""),
        ("Command", origin.command),
    ]
    return [(name, value) for name, value in rows if value]


def page(title: str, tabs: list[Tab], top: Top | None = None) -> str:
    """Render tabs as one self-contained page."""
    top = top or Top()
    try:
        import jinja2
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
        summary=[sentence.replace(" %", "\u00a0%") for sentence in top.verdict],
        tone=top.tone,
        lead=top.lead,
        overview=top.overview,
        origin=top.origin,
        result_file=top.result_file,
        tabs=tabs,
        chart_number=lambda chart: numbers[id(chart)],
        figures=script_json(figure_data(charts)),
        style=(folder / "page.css").read_text("utf-8"),
        scripts=[(folder / f"{name}.js").read_text("utf-8") for name in SCRIPTS],
        version=provenmf.__version__,
    )


def figure_data(charts: list[Chart]) -> dict[str, Any]:
    """Return all charts for the page's program, and the colours that they share."""
    figures = [{"kind": chart.figure.kind, **chart.figure.spec()} for chart in charts]
    return {"colours": COLOURS, "scale": SCALE, "figures": figures}


def script_json(content: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _charts(tabs: list[Tab]) -> Iterator[Chart]:
    for tab in tabs:
        for element in tab.elements:
            if isinstance(element, Chart):
                yield element
            elif isinstance(element, ChartGrid):
                yield from element.charts
            elif isinstance(element, TopicMap):
                yield element.chart
