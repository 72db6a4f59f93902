"""`provenmf reproduce`: run a table or figure of one of the papers again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provenmf.cli import options
from provenmf.cli.analysis import refuse_overwriting
from provenmf.cli.messages import say, say_wrapped
from provenmf.errors import InvalidInput
from provenmf.progress import Progress

if TYPE_CHECKING:
    from provenmf.reproduce.claims import Experiment

DOCUMENT = Path("docs/reproduction.md")


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; see --list.")] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List every table and figure with its status, and exit.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Run all experiments.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small sizes; each takes seconds.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", envvar="PROVENMF_DATA", help="Folder with the real data sets."
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder for figures, tables and verdicts."
        ),
    ] = Path("results"),
    write_docs: Annotated[
        bool, typer.Option("--write-docs", help="Write docs/reproduction.md from the results.")
    ] = False,
) -> None:
    """Reproduce the tables and figures of the four papers, and check their claims.

    Each experiment judges the clauses of a claim one by one and writes NAME.html
    (figures and tables) and NAME.json to the output folder; and-fig5 also NAME.png.
    merit-table2 takes hours; it saves finished trials in NAME.finished.jsonl and
    resumes from them.

    \b
    Examples:
      provenmf reproduce --list
      provenmf reproduce cones-fig1 --quick
      provenmf reproduce merit-table4 --data ~/nmf-data
      provenmf reproduce --all --quick --output results
      provenmf reproduce --write-docs
    """
    shared = options.shared()
    if show_list:
        _show_list(output, shared.json)
        return
    from provenmf.reproduce import catalogue

    known = catalogue.names()
    wanted = known if everything else (names or [])
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InvalidInput(
            f"{', '.join(unknown)} is not an experiment: see provenmf reproduce --list"
        )
    if not wanted and not write_docs:
        raise InvalidInput("name an experiment, or use --list to see them all")
    if data is not None and not data.is_dir():
        raise InvalidInput(f"--data {data} is not a folder: give the one that holds the data sets")
    for name in wanted:
        refuse_overwriting(output / f"{name}.json")
    available = catalogue.experiments()
    for name in wanted:
        _run(available[name], quick, data, output)
    if write_docs:
        _write_docs(output)


def _run(experiment: Experiment, quick: bool, data: Path | None, output: Path) -> None:
    from provenmf.reproduce.claims import Settings
    from provenmf.reproduce.results import Result, write_result

    seed = options.shared().random_state
    started = time.perf_counter()
    with Progress(experiment.name, steps=1) as progress:
        keep = None if quick else output
        settings = Settings(quick, data, seed, progress.fraction, keep)
        measured = experiment.measure(settings)
    result = Result(experiment, measured, quick, seed, time.perf_counter() - started)
    files = write_result(result, output)
    if options.shared().json:
        from provenmf.io.records import strict_json

        say(strict_json(result.to_dict()))
        return
    say_wrapped(f"{experiment.name}: {experiment.title} ({experiment.paper})", indent="    ")
    for judgement in result.judgements:
        clause = judgement.clause
        found = "" if judgement.value is None else f" {judgement.value:.4g}"
        wanted = f"[{clause.quantity}:{found}, wanted {clause.wanted}]"
        say_wrapped(f"  {judgement.decision}: {clause.states} {wanted}", indent="    ")
    say_wrapped(f"  Verdict: {result.verdict}", indent="    ")
    endings = ", ".join(sorted({path.suffix for path in files}))
    written = f"{len(files)} files ({endings}) written to {output}"
    say_wrapped(f"  {result.seconds:.1f} s; {written}", indent="    ")


def _show_list(output: Path, as_json: bool) -> None:
    """List the catalogue; no experiment is imported."""
    from provenmf.reproduce.catalogue import listing
    from provenmf.reproduce.results import read_record, read_results

    rows = listing(read_results(output), read_record())
    if as_json:
        from provenmf.io.records import strict_json

        say(strict_json([vars(row) for row in rows]))
        return
    for row in rows:
        say_wrapped(f"{row.name} ({row.paper}): {row.title} [{row.status}]", indent="    ")


def _write_docs(output: Path) -> None:
    """Judge the results in the folder, and those on record where there are none, and write both."""
    from provenmf.reproduce.catalogue import document, experiments
    from provenmf.reproduce.results import (
        RECORD,
        judge_again,
        read_record,
        read_results,
        record_of,
        write_file,
    )

    found = {**read_record(), **read_results(output)}
    results = {
        name: judge_again(experiment, found[name])
        for name, experiment in experiments().items()
        if name in found
    }
    texts = {
        DOCUMENT: document(results),
        Path("src/provenmf/reproduce") / RECORD: record_of(results),
    }
    for path, text in texts.items():
        if not path.parent.is_dir():
            raise InvalidInput(f"there is no folder {path.parent} here: run it in the repository")
        write_file(path, text.encode())
        say(f"Written: {path}")
