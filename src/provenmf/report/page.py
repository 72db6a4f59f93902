"""Put the page together: one HTML file with everything inside, no address to fetch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from provenmf.io.files import check_target, write_aside
from provenmf.report.certificate import FIRST_SCREEN, certificate_elements
from provenmf.report.elements import Chart, Element, Overview, Paragraph, Tab, Table
from provenmf.report.figures import COLOURS, SCALE
from provenmf.report.matrix import convergence, found, method_name, overview, row_table
from provenmf.results import Answer, Factorization, as_answer
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


# Scripts of the page in the order of their dependencies.
SCRIPTS = ("drawing", "charts", "saving", "page")


def write(result: Factorization | Answer, path: str | Path, *, title: str | None = None) -> None:
    """Write the report of a result to an HTML file, completely or not at all.

    Parameters
    ----------
    result : a Factorization, or the answer of an application; saved or fresh.
    path : of the HTML file.
    title : heading of the page; by default the kind of result and the file of the data.
    """
    check_target(Path(path))
    text = render(result, title=title)
    write_aside(path, lambda file: file.write(text.encode(errors="replace")))


def render(result: Factorization | Answer, *, title: str | None = None) -> str:
    """Return the report of a result as HTML."""
    answer = as_answer(result)
    fit, certificate = answer.factorization, answer.certificate
    summary, *details = found(answer)
    tables = [] if answer.kind in ("parts", "unmixing") else row_table(answer)
    tabs = [
        Tab("found", "What was found", [*notes(answer), *details, *tables, *scores(answer)]),
        Tab("convergence", "How it converged", convergence(fit)),
        Tab(
            "certificate",
            "What is guaranteed",
            certificate_elements(certificate, answer.factorized()),
        ),
    ]
    lead, shown = summary.text if isinstance(summary, Paragraph) else "", overview(answer)
    if len(shown) < answer.n_components:
        lead += f" The {len(shown)} largest are listed here."
    top = Top(origin_rows(answer), lead=lead, overview=shown)
    if certificate:
        judged = certificate.evidence
        good = is_good_news(certificate)
        if judged is not None:
            rest = set(range(answer.n_components)) - set(judged.confirmed)
            top, good = replace(top, doubtful=frozenset(j + 1 for j in rest)), not rest
        # The theory stands in its tab.
        top = replace(top, verdict=verdict_of(answer), tone="good" if good else "note")
    return page(title or _heading(answer), tabs, top)


def verdict_of(answer: Answer) -> list[str]:
    """Return the verdict; if its error is not about the user's own data, say what it is about."""
    assert answer.certificate is not None
    matrix = answer.factorized()
    return [
        f"{sentence.rstrip('.')} (of {matrix})."
        if matrix and sentence.startswith("The relative error")
        else sentence
        for sentence in headline(answer.certificate)[:FIRST_SCREEN]
    ]


def _heading(answer: Answer) -> str:
    """Return the heading: "Topics of letters", or "Topics" if there is no file."""
    fit, title = answer.factorization, answer.words.title
    if fit.origin and fit.origin.file:
        return f"{title} of {fit.origin.file}"
    return f"{title} by {method_name(fit.method)}" if type(answer) is Answer else title


@dataclass(frozen=True)
class Top:
    """Contents above the tabs: origin, overview and verdict.

    Components that are not confirmed are `doubtful`, and grey wherever they are named.
    """

    origin: Sequence[tuple[str, str]] = ()
    verdict: Sequence[str] = ()
    tone: str = ""
    lead: str = ""
    overview: Sequence[Overview] = ()
    doubtful: frozenset[int] = frozenset()


def origin_rows(answer: Answer) -> list[tuple[str, str]]:
    """Return file, date, method, version and command, as far as they are known."""
    fit = answer.factorization
    origin, version = fit.origin or Origin(), fit.versions.get("provenmf")
    rows = [
        ("File", origin.file),
        ("Date", origin.date),
        ("Method", method_name(answer.found_by)),
        ("Version", f"provenmf {version}" if version else ""),
        ("Command", origin.command),
    ]
    return [(name, value) for name, value in rows if value]


def page(title: str, tabs: list[Tab], top: Top | None = None) -> str:
    """Render tabs as one self-contained page."""
    import jinja2

    import provenmf

    folder = resources.files("provenmf.report") / "template"
    charts: list[Chart] = []

    def number(chart: Chart) -> int:
        """Number a chart as it is drawn."""
        charts.append(chart)
        return len(charts) - 1

    def drawn() -> str:
        """Return all charts for the page's program, and the colours that they share."""
        figures = [{"kind": chart.figure.kind, **chart.figure.spec()} for chart in charts]
        return script_json({"colours": COLOURS, "scale": SCALE, "figures": figures})

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string((folder / "page.html").read_text("utf-8"))
    return template.render(
        title=title,
        top=top or Top(),
        tabs=tabs,
        number=number,
        figures=drawn,
        style=(folder / "page.css").read_text("utf-8"),
        scripts=[(folder / f"{name}.js").read_text("utf-8") for name in SCRIPTS],
        version=provenmf.__version__,
    )


def script_json(content: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
