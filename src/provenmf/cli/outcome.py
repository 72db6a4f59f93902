"""The end of every fit: write the result and the report, and say what was found."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from provenmf.cli.messages import complain, say, say_wrapped, text_width
from provenmf.cli.options import shared
from provenmf.cli.target import Target, is_report
from provenmf.errors import MissingExtra

if TYPE_CHECKING:
    import pandas

    from provenmf.results import Answer, Factorization
    from provenmf.results.factorization import Origin


INTERRUPTED = 130  # what shells call the exit after Ctrl-C


def finish(result: Factorization | Answer, target: Target) -> None:
    """Save, report, write tables, print."""
    from provenmf.io.records import strict_json

    result = with_origin(result, target.data)
    result.save(target.result)
    files = {"result": str(target.result)}
    try:
        files |= _write_report(result, target)
        if target.tables is not None:
            files["tables"] = ", ".join(map(str, write_tables(result, target.tables)))
    except KeyboardInterrupt:
        complain(f"Interrupted; complete so far: {', '.join(files.values())}")
        sys.exit(INTERRUPTED)
    if shared().json:
        say(strict_json(as_dict(result) | {"files": files}))
        return
    show(result)
    for kind, file in files.items():
        say_wrapped(f"{kind.capitalize()} written to {file}")


def origin_of(data: Path | None) -> Origin:
    """Return file, command and time of what is being made."""
    from provenmf.results.factorization import Origin

    file = "" if data is None else data.resolve().name
    program = Path(sys.argv[0]).name
    ours = program in ("provenmf", "provenmf.exe", "__main__.py")
    command = f"provenmf {shlex.join(sys.argv[1:])}" if ours else ""
    return Origin(file, command, f"{datetime.now():%Y-%m-%d %H:%M}")


def with_origin(result: Factorization | Answer, data: Path | None = None) -> Factorization | Answer:
    """Return the result, knowing file, command and time."""
    from provenmf.results import Answer

    origin = origin_of(data)
    if isinstance(result, Answer):
        return replace(result, factorization=replace(result.factorization, origin=origin))
    return replace(result, origin=origin)


def _write_report(result: Factorization | Answer, target: Target) -> dict[str, str]:
    """Write the report beside the result; one of an earlier result does not stay there."""
    stale = is_report(target.page)
    if stale:
        target.page.unlink()
    if not shared().no_report and write_report(result, target.page):
        return {"report": str(target.page)}
    if stale:
        complain(f"Note: {target.page} was the report of an earlier result; removed")
    return {}


def write_report(result: Factorization | Answer, page: Path, title: str | None = None) -> bool:
    """Write a report where its parts are installed; say what to install otherwise."""
    import provenmf.report

    try:
        provenmf.report.write(result, page, title=title)
    except MissingExtra as error:
        complain(f"Note: no report was written; {error}")
        return False
    return True


def write_tables(result: Factorization | Answer, folder: Path) -> list[Path]:
    """Write each table of an answer as a CSV file."""
    from provenmf.io import write_aside
    from provenmf.results import as_answer

    written = []
    for name, table in as_answer(result).tables().items():
        written.append(folder / f"{name}.csv")
        write_aside(written[-1], partial(_write_table, table))
    return written


def _write_table(table: pandas.DataFrame, file: IO[bytes]) -> None:
    """Write a table as it goes: as one text, weights of a million documents take a gigabyte."""
    texts = {name: table[name].map(_encodable) for name in table.select_dtypes("object")}
    table = table.assign(**texts).rename(index=_encodable, columns=_encodable)
    table.to_csv(file, mode="wb")


def _encodable(value: Any) -> Any:
    """Return text that can be written: names of files need not have an encoding."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def as_dict(result: Factorization | Answer) -> dict[str, Any]:
    """Return the outcome for machines."""
    from provenmf.results import as_answer

    answer = as_answer(result)
    fit = answer.factorization
    return {
        "kind": answer.kind,
        "method": fit.method,
        "n_components": answer.n_components,
        "n_rows": len(answer.weights),
        "n_columns": answer.components.shape[1],
        "factorized": {"n_rows": len(fit.weights), "n_columns": fit.components.shape[1]},
        "stop_reason": fit.stop_reason,
        "iterations": len(fit.trace),
        "anchors": None if fit.anchors is None else fit.anchors.tolist(),
        "components": [
            {"name": name, "share": share, "anchor": anchor, "largest": entries}
            for name, share, anchor, entries in _component_rows(answer)
        ],
        "scores": answer.scores(),
        "notes": list(answer.notes),
        "certificate": fit.certificate and fit.certificate.to_dict(),
    }


def show(result: Factorization | Answer) -> None:
    """Say what was found and what is guaranteed."""
    from provenmf.results import StopReason, as_answer

    answer = as_answer(result)
    say("\n".join(component_lines(answer, text_width())) + "\n")
    for meaning, value in answer.scores().items():
        say_wrapped(f"{meaning[:1].upper()}{meaning[1:]}: {value:.4g}")
    for note in answer.notes:
        say_wrapped(f"Note: {note}")
    reason = answer.factorization.stop_reason
    if reason in (StopReason.INTERRUPTED, StopReason.MAX_ITER):
        say_wrapped(reason.sentence)
    _show_guarantee(answer)


def _show_guarantee(answer: Answer) -> None:
    """Print the certificate in a few sentences."""
    from provenmf.report.certificate import headline

    if answer.certificate is None:
        say_wrapped("There is no certificate: you asked for none, or the method has none.")
        return
    matrix = answer.factorized()
    if matrix:
        say_wrapped(f"The guarantees are about the factorized matrix: {matrix}.")
    for sentence in headline(answer.certificate):
        say_wrapped(sentence)


def component_lines(answer: Answer, width: int) -> list[str]:
    """Return a table of the components: name, share, anchor, largest entries; cut at the width."""
    rows = _component_rows(answer)
    name_width = max(len(name) for name, *_ in rows)
    anchor_width = max(len(anchor) for _, _, anchor, _ in rows)
    anchor_width = anchor_width and min(max(anchor_width, len("anchor")), 18)

    def line(name: str, share: str, anchor: str, entries: str) -> str:
        text = f"{name:{name_width}}  {share:>6}  "
        if anchor_width:
            text += f"{cut(anchor, anchor_width):{anchor_width}}  "
        return cut(text + entries, width).rstrip()

    header = line("", "share", "anchor", answer.words.largest)
    return [header] + [
        line(name, f"{share:.1%}", anchor, "  ".join(entries))
        for name, share, anchor, entries in rows
    ]


def cut(text: str, width: int) -> str:
    """Cut to a width, on one line."""
    text = " ".join(text.split("\n"))
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def _component_rows(answer: Answer) -> list[tuple[str, float, str, list[str]]]:
    """Return name, share of everything, anchor, largest entries (or members) of each component."""
    shares, largest = answer.share, answer.largest()
    return [
        (name, float(shares[i]), answer.anchor_name(i), largest[i])
        for i, name in enumerate(answer.component_names)
    ]
