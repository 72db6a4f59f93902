"""The command `provenmf`: registers the commands, and turns errors into one clear line."""

from __future__ import annotations

import sys

import typer

from provenmf import __version__
from provenmf.errors import InvalidInput, MissingExtra

app = typer.Typer(
    name="provenmf",
    help="Nonnegative matrix factorization that you can trust: provable algorithms, and a "
    "certificate with every fit.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def provenmf(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
    debug: bool = typer.Option(False, "--debug", help="Show the full traceback of an error."),
) -> None:
    """Options for every command."""
    if version:
        typer.echo(f"provenmf {__version__}")
        raise typer.Exit()


def main() -> None:
    """Entry point: errors about input end with one line and exit code 2."""
    try:
        app()
    except (InvalidInput, MissingExtra) as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"Error: {error}", err=True)
        sys.exit(2)
