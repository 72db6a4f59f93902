"""The end of every fit: write the result and the report, and say what was found."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from provenmf.cli.target import Target, remove_stale_report
from provenmf.errors import MissingExtra

if TYPE_CHECKING:
    import pandas
    from rich.console import Console

    from provenmf.results import Answer, Factorization
    from provenmf.results.factorization import Origin


INTERRUPTED = 130  # what shells call the exit after Ctrl-C


def console() -> Console:
    """Standard output, 80 columns wide unless the terminal says otherwise."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def text_width() -> int:
    """Columns for tables and sentences: those of the terminal, but no lines that tire the eye."""
    return min(console().width, 80)


def finish(result: Factorization | Answer, target: Target, *, as_json: bool) -> None:
    """Save, report, write tables, print."""
    from provenmf.io.records import strict_json

    result = with_origin(result, target.data)
    result.save(target.result)
    files = {"result": str(target.result)}
    try:
        _write_what_follows(result, target, files)
    except KeyboardInterrupt:
        typer.echo(f"Interrupted; complete so far: {', '.join(files.values())}", err=True)
        sys.exit(INTERRUPTED)
    if as_json:
        typer.echo(strict_json(as_dict(result) | {"files": files}))
        return
    screen = console()
    show(result, screen)
    for kind, file in files.items():
        screen.print(f"{kind.capitalize()} written to {file}", markup=False)


def _write_what_follows(
    result: Factorization | Answer, target: Target, files: dict[str, str]
) -> None:
    """Write report and tables, and note each that is complete."""
    files |= _write_report(result, target)
    if target.tables is not None:
        files["tables"] = ", ".join(map(str, write_tables(result, target.tables)))
    if target.frames is not None:
        files["frames"] = ", ".join(map(str, write_tables(result, target.frames, ".parquet")))


def origin_of(data: Path | None) -> Origin:
    """File, command and time of what is being made."""
    from provenmf.results.factorization import Origin

    file = "" if data is None else data.resolve().name
    program = Path(sys.argv[0]).name
    ours = program in ("provenmf", "provenmf.exe", "__main__.py")
    command = f"provenmf {shlex.join(sys.argv[1:])}" if ours else ""
    return Origin(file, command, f"{datetime.now():%Y-%m-%d %H:%M}")


def with_origin(result: Factorization | Answer, data: Path | None = None) -> Factorization | Answer:
    """The result, knowing file, command and time."""
    from provenmf.results import Answer

    origin = origin_of(data)
    if isinstance(result, Answer):
        return replace(result, factorization=replace(result.factorization, origin=origin))
    return replace(result, origin=origin)


def _write_report(result: Factorization | Answer, target: Target) -> dict[str, str]:
    """The report beside the result; one of an earlier result does not stay there."""
    stale = remove_stale_report(target)
    if target.with_report:
        try:
            from provenmf.report import write

            write(result, target.page)
            return {"report": str(target.page)}
        except MissingExtra as error:
            typer.echo(f"Note: no report was written; {error}", err=True)
    if stale:
        typer.echo(f"Note: {target.page} was the report of an earlier result; removed", err=True)
    return {}


def write_tables(result: Factorization | Answer, folder: Path, ending: str = ".csv") -> list[Path]:
    """Each table of an answer as a CSV or Parquet file."""
    from provenmf.io import write_aside
    from provenmf.results import as_answer

    written = []
    for name, table in as_answer(result).tables().items():
        written.append(folder / f"{name}{ending}")
        write_aside(written[-1], partial(_write_table, table, ending))
    return written


def _write_table(table: pandas.DataFrame, ending: str, file: IO[bytes]) -> None:
    """Write a table as it goes: as one text, weights of a million documents take a gigabyte."""
    texts = {name: table[name].map(_encodable) for name in table.select_dtypes("object")}
    table = table.assign(**texts).rename(index=_encodable, columns=_encodable)
    if ending == ".csv":
        table.to_csv(file, mode="wb")
    else:
        table.to_parquet(file)


def _encodable(value: Any) -> Any:
    """Text that can be written: names of files need not have an encoding."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def as_dict(result: Factorization | Answer) -> dict[str, Any]:
    """The outcome for machines."""
    from provenmf.results import as_answer

    answer = as_answer(result)
    fit = answer.factorization
    return {
        "kind": answer.kind,
        "method": fit.method,
        "n_components": fit.n_components,
        "n_rows": len(fit.weights),
        "n_columns": fit.components.shape[1],
        "stop_reason": fit.stop_reason,
        "iterations": len(fit.trace),
        "anchors": None if fit.anchors is None else fit.anchors.tolist(),
        "components": [
            {"name": name, "share": share, "anchor": anchor, "largest": entries}
            for name, share, anchor, entries in _component_rows(answer)
        ],
        "notes": list(answer.notes),
        "certificate": fit.certificate and fit.certificate.to_dict(),
    }


def show(result: Factorization | Answer, screen: Console) -> None:
    """What was found and what is guaranteed, for people."""
    from provenmf.report.page import score_rows
    from provenmf.results import StopReason, as_answer

    answer = as_answer(result)
    for line in component_lines(answer, screen.width):
        print_line(screen, line)
    print_line(screen, "")
    for meaning, value in score_rows(answer):
        print_line(screen, f"{meaning[:1].upper()}{meaning[1:]}: {value}")
    for note in answer.notes:
        print_line(screen, f"Note: {note}")
    reason = answer.factorization.stop_reason
    if reason in (StopReason.INTERRUPTED, StopReason.MAX_ITER):
        print_line(screen, reason.sentence)
    show_guarantee(answer, screen)


def component_lines(answer: Answer, width: int) -> list[str]:
    """A table of the components: name, share, anchor, largest entries; cut at the width."""
    rows = _component_rows(answer)
    name_width = max(len(name) for name, *_ in rows)
    anchor_width = max(len(anchor) for _, _, anchor, _ in rows)
    anchor_width = anchor_width and min(max(anchor_width, len("anchor")), 18)

    def line(name: str, share: str, anchor: str, entries: str) -> str:
        text = f"{name:{name_width}}  {share:>6}  "
        if anchor_width:
            text += f"{shortened(anchor, anchor_width):{anchor_width}}  "
        return shortened(text + entries, width)

    header = line("", "share", "anchor", answer.words.largest)
    return [header] + [
        line(name, f"{share:.1%}", anchor, "  ".join(entries))
        for name, share, anchor, entries in rows
    ]


def shortened(text: str, width: int) -> str:
    """Cut to a width."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def print_line(screen: Console, text: str) -> None:
    """Print text as it is: no markup, nothing that steers the terminal."""
    screen.print(printable(text), markup=False, highlight=False)


def show_guarantee(answer: Answer, screen: Console) -> None:
    """The certificate in a few sentences."""
    from provenmf.report.certificate import headline

    if answer.certificate is None:
        screen.print("There is no certificate: you asked for none, or the method has none.")
        return
    matrix = answer.factorized()
    if matrix:
        print_line(screen, f"The guarantees are about the factorized matrix: {matrix}.")
    for sentence in headline(answer.certificate):
        print_line(screen, sentence)


def printable(text: str) -> str:
    """Text that cannot steer the terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _component_rows(answer: Answer) -> list[tuple[str, float, str, list[str]]]:
    """For each component: name, share of everything, anchor, largest entries (or members)."""
    shares, largest = answer.share, answer.largest()
    return [
        (name, float(shares[i]), answer.anchor_name(i), largest[i])
        for i, name in enumerate(answer.component_names)
    ]
