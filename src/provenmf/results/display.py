"""Operations of all records: save, compare, show in notebooks, draw by the report."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from provenmf.arguments import checked
from provenmf.errors import shortened
from provenmf.results.states import agree

if TYPE_CHECKING:
    from provenmf.results.answers import Answer
    from provenmf.results.certificate import Certificate


# Components shown; the others are in `table()` and in the report.
MOST_ROWS = 20
WIDTH = 80  # of texts
NO_CERTIFICATE = "There is no certificate: you asked for none, or the method has none."


def certificate_html(certificate: Certificate) -> str:
    """Return the verdict and, to unfold, all conditions and numbers behind it."""
    whole = (
        f"<details><summary>Certificate</summary><pre>{escape(str(certificate))}</pre></details>"
    )
    return f"<div><p>{escape(certificate.verdict)}</p>{whole}</div>"


def answer_html(answer: Answer, title: str) -> str:
    """Return heading, verdict, choices, and the table of the components."""
    certificate = answer.certificate
    verdict = f"<p>{NO_CERTIFICATE}</p>" if certificate is None else certificate_html(certificate)
    notes = "".join(f"<li>{escape(note)}</li>" for note in answer.notes)
    table = component_lines(answer)
    more = [f"and {len(table) - 1 - MOST_ROWS} more"] * (len(table) - 1 > MOST_ROWS)
    lines = escape("\n".join([*table[: MOST_ROWS + 1], *more]))
    return (
        f"<div><strong>{escape(title)}</strong>{verdict}"
        f"{f'<ul>{notes}</ul>' if notes else ''}<pre>{lines}</pre></div>"
    )


def component_lines(answer: Answer, width: int = 80) -> list[str]:
    """Return a table of the components: name, share, anchor, largest entries; cut at the width."""
    rows = component_rows(answer)
    name_width = max(len(name) for name, *_ in rows)
    anchor_width = max(len(anchor) for _, _, anchor, _ in rows)
    anchor_width = anchor_width and min(max(anchor_width, len("anchor")), 18)

    def line(name: str, share: str, anchor: str, entries: Sequence[str]) -> str:
        text = f"{name:{name_width}}  {share:>6}  "
        if anchor_width:
            text += f"{name_within(anchor, anchor_width):{anchor_width}}  "
        text += name_within(entries[0], max(width - len(text), 8)) if entries else ""
        for entry in entries[1:]:  # whole names only
            if len(text) + 2 + len(entry) > width:
                break
            text += f"  {entry}"
        return text[:width].rstrip()

    header = line("", "share", "anchor", [answer.words.largest])
    return [header] + [
        line(name, f"{share:.1%}", anchor, entries) for name, share, anchor, entries in rows
    ]


def name_within(name: str, width: int) -> str:
    """Shorten a name in its middle, on one line: names of a table often begin alike."""
    return shortened(" ".join(name.split("\n")), width)


def component_rows(answer: Answer, n: int = 10) -> list[tuple[str, float, str, list[str]]]:
    """Return name, share of everything, anchor, largest entries (or members) of each component."""
    shares, largest = answer.share, answer.largest(n)
    return [
        (name, float(shares[i]), answer.anchor_name(i), largest[i])
        for i, name in enumerate(answer.component_names)
    ]


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
