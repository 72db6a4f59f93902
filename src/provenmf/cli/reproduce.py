"""`provenmf reproduce`: run a table or figure of one of the papers again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provenmf.cli import options
from provenmf.cli.analysis import refuse_overwriting
from provenmf.cli.messages import say, say_json, say_wrapped
from provenmf.cli.options import option
from provenmf.errors import InvalidInput
from provenmf.progress import Progress

if TYPE_CHECKING:
    from provenmf.reproduce.results import Result

DOCUMENT = Path("docs/reproduction.md")


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments. If omitted, all are listed.")
    ] = None,
    everything: Annotated[bool, option("--all", "Run all experiments.")] = False,
    quick: Annotated[bool, option("--quick", "Use small sizes; each takes seconds.")] = False,
    data: Annotated[
        Path | None,
        option("--data DIR", "Folder with the real data sets.", envvar="PROVENMF_DATA"),
    ] = None,
    output: Annotated[
        Path, option("--output -o DIR", "Folder for figures, tables and verdicts.")
    ] = Path("results"),
    write_docs: Annotated[
        bool, option("--write-docs", "Write docs/reproduction.md from the results.")
    ] = False,
) -> None:
    """Reproduce the tables and figures of the four papers, and check their claims.

    Each experiment judges the clauses of a claim one by one and writes NAME.html
    (figures and tables) and NAME.json to the output folder. The longest take hours.

    \b
    Examples:
      provenmf reproduce                         lists tables and figures
      provenmf reproduce cones-fig1 --quick
      provenmf reproduce merit-table4 --data ~/nmf-data
      provenmf reproduce --all --quick --output results
      provenmf reproduce --write-docs
    """
    if not (names or everything or write_docs):
        _show_list(output)
        return
    from provenmf.reproduce import catalogue

    known = catalogue.names()
    wanted = known if everything else (names or [])
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InvalidInput(
            f"{', '.join(unknown)} is not an experiment: `provenmf reproduce` lists them"
        )
    if data is not None and not data.is_dir():
        raise InvalidInput(f"--data {data} is not a folder: give the one that holds the data sets")
    for name in wanted:
        refuse_overwriting(output / f"{name}.json")
    from provenmf.reproduce.claims import Settings
    from provenmf.reproduce.results import Result

    available = catalogue.experiments()
    for name in wanted:
        started, seed = time.perf_counter(), options.shared().random_state
        with Progress(name, steps=1) as progress:
            settings = Settings(quick, data, seed, progress.reach)
            measured = available[name].measure(settings)
        seconds = time.perf_counter() - started
        _tell(Result(available[name], measured, quick, seed, seconds), output)
    if write_docs:
        _write_docs(output)


def _tell(result: Result, output: Path) -> None:
    """Write a result, and say what was found."""
    from provenmf.reproduce.results import write_result

    files = write_result(result, output)
    if options.shared().json:
        say_json(result.to_dict())
        return
    experiment = result.experiment
    lines = [f"{experiment.name}: {experiment.title} ({experiment.paper})"]
    for judgement in result.judgements:
        clause = judgement.clause
        found = "" if judgement.value is None else f" {judgement.value:.4g}"
        wanted = f"[{clause.quantity}:{found}, wanted {clause.wanted}]"
        lines.append(f"  {judgement.decision}: {clause.states} {wanted}")
    endings = ", ".join(sorted({path.suffix for path in files}))
    lines.append(f"  Verdict: {result.verdict}")
    lines.append(f"  {result.seconds:.1f} s; {len(files)} files ({endings}) written to {output}")
    for line in lines:
        say_wrapped(line, indent="    ")


def _show_list(output: Path) -> None:
    """List the catalogue; no experiment is imported."""
    from provenmf.reproduce.catalogue import listing
    from provenmf.reproduce.results import read_record, read_results

    rows = listing(read_results(output), read_record())
    if options.shared().json:
        say_json([vars(row) for row in rows])
        return
    for row in rows:
        say_wrapped(f"{row.name} ({row.paper}): {row.title} [{row.status}]", indent="    ")


def _write_docs(output: Path) -> None:
    """Judge the results in the folder, and those on record where there are none, and write both."""
    from provenmf.reproduce import results
    from provenmf.reproduce.catalogue import document, experiments

    found = {**results.read_record(), **results.read_results(output)}
    judged = {
        name: results.judge_again(experiment, found[name])
        for name, experiment in experiments().items()
        if name in found
    }
    record = Path("src/provenmf/reproduce") / results.RECORD
    for path, text in {DOCUMENT: document(judged), record: results.record_of(judged)}.items():
        if not path.parent.is_dir():
            raise InvalidInput(f"there is no folder {path.parent} here: run it in the repository")
        results.write_file(path, text.encode())
        say(f"Written: {path}")
