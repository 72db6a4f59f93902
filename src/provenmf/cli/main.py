"""The command `provenmf`: registers the commands, and turns errors into one clear line."""

from __future__ import annotations

import io
import sys
import warnings

import typer

from provenmf import __version__
from provenmf.cli import (
    certify,
    communities,
    convert,
    demo,
    diagnose,
    fit,
    generate,
    label,
    parts,
    rank,
    report,
    reproduce,
    topics,
    unmix,
)
from provenmf.cli.messages import (
    OUTSIDE,
    is_misuse,
    misuse_in_one_line,
    one_line,
    say,
    show_bug,
    show_warning,
)
from provenmf.cli.outcome import INTERRUPTED
from provenmf.cli.plain import PlainCommand, PlainGroup

app = typer.Typer(
    name="provenmf",
    cls=PlainGroup,
    help="""Nonnegative matrix factorization with a certificate: what you can believe about
    each result, and how far it is from the best possible.

    \b
    Start with:
      provenmf demo                                  no data needed
      provenmf topics letters/ -k 10                 texts
      provenmf communities edges.txt -k 4            a graph
      provenmf fit table.csv -k 5                    any matrix
      provenmf COMMAND --help                        examples for each command
    """,
    no_args_is_help=True,
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
    debug: bool = typer.Option(False, "--debug", help="Show the full traceback of an error."),
    no_limits: bool = typer.Option(
        False,
        "--no-limits",
        help="Also read compressed files that expand to far more than their size.",
    ),
) -> None:
    """Options for every command."""


for command in (
    topics.topics,
    communities.communities,
    unmix.unmix,
    parts.parts,
    fit.fit,
    rank.rank,
    diagnose.diagnose,
    certify.certify,
    report.report,
    label.label,
    convert.convert,
    generate.generate,
    reproduce.reproduce,
    demo.demo,
):
    app.command(command.__name__, cls=PlainCommand)(command)


# Options that may stand in any place.
ANYWHERE = ("--debug", "--no-limits")


def all_options() -> frozenset[str]:
    """Every option of every command."""
    group = typer.main.get_group(app)
    parameters = [parameter for command in group.commands.values() for parameter in command.params]
    return frozenset(name for found in parameters for name in (*found.opts, *found.secondary_opts))


def print_anything() -> None:
    """Letters that the terminal's encoding lacks are shown by their number, not refused."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Entry point: errors about input end with one line and exit code 2, bugs with code 1."""
    print_anything()
    arguments = [argument for argument in sys.argv[1:] if argument not in ANYWHERE]
    debug = "--debug" in sys.argv[1:]
    if "--no-limits" in sys.argv[1:]:
        from provenmf.io.files import unlimited

        unlimited().__enter__()  # for the rest of the program
    options = all_options()
    warnings.showwarning = lambda message, category, *where, **more: show_warning(
        message, category, options
    )
    try:
        code = app(arguments or ["--help"], standalone_mode=False)
    except OUTSIDE as error:
        if debug:
            raise
        say(f"Error: {one_line(error, options)}")
        sys.exit(2)
    except Exception as error:
        if is_misuse(error):
            say(f"Error: {misuse_in_one_line(error)}")
            sys.exit(2)
        show_bug(error, __version__)
        sys.exit(1)
    if code == INTERRUPTED:
        say("Interrupted before there was an answer; nothing was written.")
    sys.exit(code if isinstance(code, int) else 0)
