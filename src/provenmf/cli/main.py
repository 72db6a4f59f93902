"""The command `provenmf`: registers the commands, and turns errors into one clear line."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

import typer

from provenmf import __version__
from provenmf.cli import (
    certify,
    communities,
    demo,
    diagnose,
    fit,
    generate,
    parts,
    report,
    reproduce,
    topics,
    unmix,
)

app = typer.Typer(
    name="provenmf",
    help="""Nonnegative matrix factorization that you can trust: provable algorithms, and a
    certificate with every fit.

    \b
    Start with:
      provenmf demo                                  no data needed
      provenmf topics letters/ --rank 10             texts
      provenmf communities edges.txt --rank 4        a graph
      provenmf fit table.csv --rank 5                any matrix
      provenmf COMMAND --help                        examples for each command
    """,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"provenmf {__version__}")
        raise typer.Exit()


@app.callback()
def provenmf(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=show_version, is_eager=True
    ),
    debug: bool = typer.Option(
        False, "--debug", help="Show the full traceback of an error (works in any place)."
    ),
) -> None:
    """Options for every command."""


app.command("topics")(topics.topics)
app.command("communities")(communities.communities)
app.command("unmix")(unmix.unmix)
app.command("parts")(parts.parts)
app.command("fit")(fit.fit)
app.command("diagnose")(diagnose.diagnose)
app.command("certify")(certify.certify)
app.command("report")(report.report)
app.command("generate")(generate.generate)
app.command("reproduce")(reproduce.reproduce)
app.command("demo")(demo.demo)


def main() -> None:
    """Entry point: errors about input end with one line and exit code 2."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    warnings.showwarning = show_warning
    try:
        app(arguments)
    except (ValueError, ImportError, OSError, MemoryError) as error:
        if debug:
            raise
        typer.echo(f"Error: {one_line(error)}", err=True)
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            typer.echo("Interrupted before there was an answer; nothing was written.", err=True)
        raise


INTERRUPTED = 130


def one_line(error: BaseException) -> str:
    """The message of an error without the explanations that follow in further lines."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}): use fewer columns, or a matrix on disk (.npy)"
    text = str(error).strip() or type(error).__name__
    return with_options(text.splitlines()[0])


# Arguments of the library that have another name on the command line.
OPTIONS = {
    "n_components": "--rank",
    "n_topics": "--rank",
    "n_communities": "--rank",
    "n_endmembers": "--rank",
    "n_parts": "--rank",
    "random_state": "--seed",
    "method": "--method",
    "encoding": "--encoding",
    "field": "--field",
    "key": "--key",
    "max_iter": "--max-iter",
    "min_documents": "--min-documents",
    "skip_unreadable": "--skip-unreadable",
    "group": "--group",
}


def with_options(message: str) -> str:
    """The library's message for somebody who typed options: `field='a'` becomes `--field 'a'`."""

    def as_typed(found: re.Match[str]) -> str:
        option = OPTIONS[found[1]]
        return {"True": option, "False": option.replace("--", "--no-")}.get(found[2], f"{option} ")

    return re.sub(rf"\b({'|'.join(OPTIONS)})(?:=(True\b|False\b)?| (?=<=))", as_typed, message)


def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Warnings as one line each."""
    if issubclass(category, UserWarning):
        typer.echo(f"Warning: {one_line(Warning(str(message)))}", err=True)
