"""`provenmf label`: names for components, kept in the saved result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli.target import is_report

LONGEST_NUMBER = 9  # digits


def label(
    result: Annotated[Path, typer.Argument(help="Result file written by another command.")],
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
    from provenmf.io import load
    from provenmf.results import as_answer

    answer = as_answer(load(result)).labelled(parsed(names))
    answer.save(result)
    typer.echo(f"{result}: {', '.join(answer.component_names)}")
    page = result.with_suffix(".html")
    if is_report(page):
        from provenmf.report import write

        write(answer, page)
        typer.echo(f"Report written to {page}")


def parsed(pairs: list[str]) -> dict[int, str]:
    """Numbers and names from `3=Sport`."""
    from provenmf.errors import InvalidInput

    names: dict[int, str] = {}
    for pair in pairs:
        number, equals, name = pair.partition("=")
        if not equals or not number.strip().isdecimal() or len(number) > LONGEST_NUMBER:
            raise InvalidInput(f"{pair!r} is not a number and a name: write them like 3=Sport")
        if int(number) in names:
            raise InvalidInput(f"{int(number)} is named twice: give each number one name")
        names[int(number)] = name
    return names
