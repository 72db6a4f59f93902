"""What all records do: save, compare, show in notebooks, draw by the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from provenmf.arguments import checked
from provenmf.results.states import agree

if TYPE_CHECKING:
    from provenmf.results.answers import Answer
    from provenmf.results.certificate import Certificate


# Components shown; the others are in `table()` and in the report.
MOST_ROWS = 20
MOST_ENTRIES = 6
WIDTH = 80  # of texts
NO_CERTIFICATE = "There is no certificate: you asked for none, or the method has none."


def certificate_html(certificate: Certificate) -> str:
    """Return the verdict and, to unfold, all conditions and numbers behind it."""
    whole = (
        f"<details><summary>Certificate</summary><pre>{escape(str(certificate))}</pre></details>"
    )
    return f"<div><p>{escape(certificate.verdict)}</p>{whole}</div>"


def answer_html(answer: Answer, title: str) -> str:
    """Return heading, verdict, choices, and a table of the components."""
    certificate = answer.certificate
    verdict = f"<p>{NO_CERTIFICATE}</p>" if certificate is None else certificate_html(certificate)
    notes = "".join(f"<li>{escape(note)}</li>" for note in answer.notes)
    return (
        f"<div><strong>{escape(title)}</strong>{verdict}"
        f"{f'<ul>{notes}</ul>' if notes else ''}{_component_table(answer)}</div>"
    )


def _component_table(answer: Answer) -> str:
    largest = answer.largest(MOST_ENTRIES)
    shares = answer.share
    shown = range(min(answer.n_components, MOST_ROWS))
    anchors = [answer.anchor_name(number) for number in shown]
    header = ["", "share", *(["anchor"] if any(anchors) else []), answer.words.largest]
    rows = [
        [
            answer.component_names[number],
            f"{shares[number]:.1%}",
            *([anchors[number]] if any(anchors) else []),
            ", ".join(map(str, largest[number])),
        ]
        for number in shown
    ]
    left_out = answer.n_components - len(shown)
    more = f"<p>and {left_out} more</p>" if left_out else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{_cells('th', header)}</tr>{body}</table>{more}"


def _cells(tag: str, texts: Iterable[str]) -> str:
    """Return table cells aligned to the left; notebooks align them to the right."""
    return "".join(f'<{tag} style="text-align: left">{escape(text)}</{tag}>' for text in texts)


# The report stands above the records and knows their types, so that its module is named here and
# not imported, as pandas does with its plotting backends; it is loaded with the first plot.


class Record:
    """Base of factorizations and answers: what can be saved, compared, shown and drawn.

    The arguments of all public methods are checked by their declared types.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(cls, name, checked()(method))

    @checked()
    def save(self, path: str | Path) -> None:
        """Write the record to one file; `provenmf.load` gives it back."""
        from provenmf.io.records import save

        save(cast(Any, self), path)

    def __eq__(self, other: object) -> bool:
        return agree(self, other) if isinstance(other, Record) else NotImplemented

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the verdict first, then the components."""
        from provenmf.results.answers import as_answer

        return answer_html(as_answer(cast(Any, self)), repr(self))

    @checked()
    def plot(self, chart: str | None = None) -> Any:
        """Draw one chart of the report as a matplotlib figure, for notebooks.

        Parameters
        ----------
        chart : str, optional
            Words of its title, such as "map" or "trace"; by default the components.

        Returns
        -------
        matplotlib.figure.Figure
            Needs the extra `plot`.
        """
        return import_module("provenmf.report.plots").plot(self, chart)

    @checked()
    def report(self, path: str | Path, *, title: str | None = None) -> None:
        """Write the report of this result to one HTML file that needs no network.

        Parameters
        ----------
        path : str or Path
            The file to write, such as "report.html".
        title : str, optional
            Heading of the page; by default the kind of result and the file of the data.
        """
        import_module("provenmf.report").write(self, path, title=title)


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table: names of the rows flush left (numbers flush right), values flush right.

    >>> print(*table_lines(("method", "error"), [("spa", "0.125"), ("merit", "0.25")]), sep="\\n")
    method  error
    spa     0.125
    merit    0.25
    """
    lines = [header, *rows]
    first, *others = [max(map(len, column)) for column in zip(*lines)]
    flush = ">" if all(row[0].isdecimal() for row in rows) else "<"
    return [
        f"{line[0]:{flush}{first}}" + "".join(f"  {c:>{w}}" for c, w in zip(line[1:], others))
        for line in lines
    ]


def wrapped(*sentences: str, indent: str = "") -> list[str]:
    """Return sentences in lines of at most 80 characters, each on a new line."""
    return [line for text in sentences for line in wrap(text, WIDTH, subsequent_indent=indent)]


def plot_curves(panels: Any, x_label: str, title: str, **more: Any) -> Any:
    """Draw curves by the label of their axis, in panels one above the other."""
    return import_module("provenmf.report.plots").stacked(panels, x_label, title, **more)


def summary(answer: Answer) -> dict[str, Any]:
    """Return what any container can hold about an answer besides its arrays."""
    verdict = answer.certificate.verdict if answer.certificate else ""
    version = answer.factorization.versions.get("provenmf", "")
    return {
        "kind": answer.kind,
        "method": answer.factorization.method,
        "version": str(version),
        "verdict": verdict,
        "component_names": np.array(answer.component_names, dtype=object),
    }
