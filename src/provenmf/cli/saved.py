"""`provenmf certify`, `report` and `label` for saved results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.analysis import (
    is_report,
    refuse_overwriting,
    say_found,
)
from provenmf.cli.messages import say
from provenmf.errors import InvalidInput, printable
from provenmf.io.files import check_result, check_writable, existing
from provenmf.progress import Progress

LONGEST_NUMBER = 9  # digits


def certify(
    result: options.Result,
    data: Annotated[Path, typer.Argument(help="The data that the result was computed from.")],
    vocabulary: options.Vocabulary = None,
    field: options.Field = "text",
    mail: options.Mail = False,
) -> None:
    """Recompute the certificate of a saved result from scratch, without trusting the file.

    Only the factors are taken from the result file, and no solver runs.

    \b
    Examples:
      provenmf certify counts-result.npz counts.csv
      provenmf certify samson-result.npz samson.npz --json
    """
    result, data = check_result(result), existing(data)
    from provenmf.cli.fit import read_data
    from provenmf.io.records import load
    from provenmf.methods.certify import certify as certify_result
    from provenmf.results.answers import Answer, ReadOptions

    saved = load(result)
    with Progress(f"Certifying {printable(result.name)}"):
        if isinstance(saved, Answer):
            source = saved.read(data, ReadOptions(options.shared().key, vocabulary, field, mail))
        else:
            source = read_data(data).matrix
        certificate = certify_result(source, saved)
    say_found(certificate)


def report(
    result: options.Result,
    output: Annotated[
        Path | None,
        options.option("--output -o FILE", "HTML file. Default: next to the result."),
    ] = None,
) -> None:
    """Write one self-contained HTML page about a saved result.

    The page shows what was found, how the fit converged and what is guaranteed.
    It works offline. Only the result file is needed, not the data.

    \b
    Examples:
      provenmf report topics-result.npz
      provenmf report result.npz -o page.html
    """
    result = check_result(result)
    page = output or result.with_suffix(".html")
    check_writable(page, result)
    # The page beside a result may be written anew; any other that exists may not.
    if output is not None or not is_report(page):
        refuse_overwriting(page)
    from provenmf.io.records import load
    from provenmf.report import write

    write(load(result), page)
    say(f"Report written to {page}")


def label(
    result: options.Result,
    names: Annotated[
        list[str], typer.Argument(metavar="NUMBER=NAME...", help="New names, such as 3=Sport.")
    ],
) -> None:
    """Name the topics, communities, materials, parts or components of a saved result.

    The names are saved in the result file and shown in tables and reports. If
    there is a report next to the result, it is updated.

    \b
    Examples:
      provenmf label topics-result.npz 3=Sport 5=Technology
      provenmf label samson-result.npz 1=soil "2=deep water"
    """
    result, labels = check_result(result), parsed(names)
    from provenmf.io.records import load
    from provenmf.results import as_answer

    answer = as_answer(load(result)).labelled(labels)
    answer.save(result)
    say(f"{result}: {', '.join(answer.component_names)}")
    page = result.with_suffix(".html")
    if is_report(page):
        answer.report(page)
        say(f"Report written to {page}")


def parsed(pairs: list[str]) -> dict[int, str]:
    """Return numbers and names from `3=Sport`."""
    names: dict[int, str] = {}
    for pair in pairs:
        number, equals, name = pair.partition("=")
        if not equals or not number.strip().isdecimal() or len(number) > LONGEST_NUMBER:
            raise InvalidInput(f"{pair!r} is not a number and a name: write them like 3=Sport")
        if int(number) in names:
            raise InvalidInput(f"{int(number)} is named twice: give each number one name")
        names[int(number)] = name
    return names
