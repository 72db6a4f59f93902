"""The end of every fit: write the result and the report, and say what was found."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from provenmf.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from rich.console import Console

    from provenmf.records import Factorization


def check_writable(path: Path) -> None:
    """Refuse an output path that cannot be written, before any time is spent."""
    folder = path.parent
    if path.is_dir():
        raise InvalidInput(f"cannot write {path}: it is a folder; name a file")
    if not folder.is_dir():
        raise InvalidInput(
            f"cannot write {path}: the folder {folder} does not exist; make it first"
        )
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InvalidInput(
            f"cannot write {path} ({error.strerror}): choose a folder that can be written to"
        ) from error


def console() -> Console:
    """Standard output, 80 columns wide unless the terminal says otherwise."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def finish(result: Factorization, output: Path, *, with_report: bool, as_json: bool) -> None:
    """Save, report, print."""
    result.save(output)
    files = {"result": str(output)}
    if with_report:
        page = output.with_suffix(".html")
        try:
            from provenmf.report import write

            write(result, page)
            files["report"] = str(page)
        except MissingExtra as error:
            typer.echo(f"Note: no report was written; {error}", err=True)
    if as_json:
        typer.echo(json.dumps(as_dict(result) | {"files": files}, indent=1, default=str))
        return
    screen = console()
    show(result, screen)
    for kind, file in files.items():
        screen.print(f"{kind.capitalize()} written to {file}", markup=False)


def as_dict(result: Factorization) -> dict[str, Any]:
    """The outcome for machines."""
    return {
        "kind": result.kind,
        "method": result.method,
        "n_components": result.n_components,
        "n_rows": len(result.weights),
        "n_columns": result.components.shape[1],
        "stop_reason": result.stop_reason,
        "iterations": len(result.trace),
        "anchors": None if result.anchors is None else result.anchors.tolist(),
        "components": [
            {"name": name, "share": share, "anchor": anchor, "largest": entries}
            for name, share, anchor, entries in _component_rows(result)
        ],
        "notes": [str(note) for note in result.extras.get("notes", ())],
        "certificate": result.certificate and result.certificate.to_dict(),
    }


def show(result: Factorization, screen: Console) -> None:
    """What was found and what is guaranteed, for people."""
    from provenmf.records import StopReason
    from provenmf.report.scores import score_rows

    for line in component_lines(result, screen.width):
        print_line(screen, line)
    print_line(screen, "")
    for meaning, value in score_rows(result):
        print_line(screen, f"{meaning[:1].upper()}{meaning[1:]}: {value}")
    for note in result.extras.get("notes", ()):
        print_line(screen, f"Note: {note}")
    if result.stop_reason in (StopReason.INTERRUPTED, StopReason.MAX_ITER):
        print_line(screen, result.stop_reason.sentence)
    show_guarantee(result, screen)


def component_lines(result: Factorization, width: int) -> list[str]:
    """A table of the components: name, share, anchor, largest entries; cut at the width."""
    rows = _component_rows(result)
    name_width = max(len(name) for name, *_ in rows)
    anchor_width = max(len(anchor) for _, _, anchor, _ in rows)
    anchor_width = anchor_width and min(max(anchor_width, len("anchor")), 18)

    def line(name: str, share: str, anchor: str, entries: str) -> str:
        text = f"{name:{name_width}}  {share:>6}  "
        if anchor_width:
            text += f"{shortened(anchor, anchor_width):{anchor_width}}  "
        return shortened(text + entries, width)

    header = line("", "share", "anchor", LARGEST.get(result.kind, "largest entries"))
    return [header] + [
        line(name, f"{share:.1%}", anchor, "  ".join(entries))
        for name, share, anchor, entries in rows
    ]


LARGEST = {
    "topics": "most frequent words",
    "communities": "members with the largest shares",
    "parts": "images that use it most",
    "unmixing": "brightest bands",
}


def shortened(text: str, width: int) -> str:
    """Cut to a width."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def print_line(screen: Console, text: str) -> None:
    """Print text as it is: no markup, nothing that steers the terminal."""
    screen.print(printable(text), markup=False, highlight=False)


def show_guarantee(result: Factorization, screen: Console) -> None:
    """The certificate in a few sentences."""
    from provenmf.report.answer import factorized
    from provenmf.report.certificate import headline

    if result.certificate is None:
        screen.print("There is no certificate: none was asked for, or the method has none.")
        return
    matrix = factorized(result)
    if matrix:
        print_line(screen, f"Guarantees are about the matrix that was factorized: {matrix}.")
    for sentence in headline(result.certificate):
        print_line(screen, sentence)


def printable(text: str) -> str:
    """Text that cannot steer the terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _component_rows(result: Factorization) -> list[tuple[str, float, str, list[str]]]:
    """For each component: name, share of everything, anchor, largest entries (or members)."""
    import numpy as np

    from provenmf.report.answer import answer_of

    answer = answer_of(result)
    by_member = answer.kind in ("communities", "parts")
    entries = answer.weights.T if by_member else answer.components
    names = answer.row_names if by_member else answer.column_names
    largest = np.argsort(-entries, axis=1, kind="stable")[:, :10]
    return [
        (name, float(answer.share[i]), answer.anchor_name(i), [names[j] for j in largest[i]])
        for i, name in enumerate(answer.names)
    ]
