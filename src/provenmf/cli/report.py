"""`provenmf report`: the HTML page of a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.target import is_report, refuse_overwriting


def report(
    result: Annotated[Path, typer.Argument(help="Result file written by another command.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="HTML file. Default: next to the result."
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Heading of the page.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Write one self-contained HTML page about a saved result.

    The page shows what was found, how the fit converged and what is guaranteed.
    It works offline. Only the result file is needed, not the data.

    \b
    Examples:
      provenmf report topics-result.npz
      provenmf report result.npz -o page.html --title "Letters 1914-1918"
    """
    from provenmf.io import load
    from provenmf.io.output import check_writable
    from provenmf.report import write

    page = output or result.with_suffix(".html")
    check_writable(page, result)
    # The page beside a result may be written anew; any other that exists may not.
    if not force and (output is not None or not is_report(page)):
        refuse_overwriting(page)
    write(load(result), page, title=title)
    typer.echo(f"Report written to {page}")
