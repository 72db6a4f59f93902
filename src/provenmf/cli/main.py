"""The command `provenmf`: registers the commands, and turns errors into one clear line."""

from __future__ import annotations

import contextvars
import inspect
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, get_type_hints

import typer

from provenmf import __version__
from provenmf.cli import options
from provenmf.cli.applications import communities, parts, signatures, topics, unmix
from provenmf.cli.demo import demo
from provenmf.cli.fit import diagnose, fit, rank
from provenmf.cli.messages import (
    INTERRUPTED,
    OUTSIDE,
    complain,
    is_misuse,
    misuse_in_one_line,
    one_line,
    show_bug,
    show_warning,
)
from provenmf.cli.reproduce import reproduce
from provenmf.cli.saved import certify, label, report
from provenmf.errors import was_interrupted

app = typer.Typer(
    name="provenmf",
    help="""Nonnegative matrix factorization with a certificate: what you can believe about
    each result, and how far it is from the best possible.

    \b
    Start with:
      provenmf demo                                  no data needed
      provenmf topics letters/ -k 10                 texts
      provenmf communities edges.txt -k 4            a graph
      provenmf signatures counts.csv                 mutations of tumors
      provenmf fit table.csv -k 5                    any matrix
      provenmf COMMAND --help                        examples for each command
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def provenmf(version: options.Version = False) -> None:
    """Take the options that need no command."""


def register(command: Callable[..., None], *used: str) -> None:
    """Add a command with its own options and these of the shared ones."""
    shared = inspect.signature(options.Shared).parameters
    hints = options.HINTS | get_type_hints(command, include_extras=True)
    parameters = [
        *inspect.signature(command).parameters.values(),
        *(shared[name] for name in used),
    ]

    @wraps(command)
    def run(**arguments: Any) -> None:
        options.set_shared(**{name: arguments.pop(name) for name in used})
        command(**arguments)

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(annotation=hints[p.name]) for p in parameters]
    )
    first = " ".join((command.__doc__ or "").split("\n\n")[0].split())  # whole, not cut
    app.command(command.__name__, short_help=first)(run)


for analysis in (topics, communities, unmix, parts):
    register(analysis, "key", *options.ANALYSIS)
register(signatures, *options.ANALYSIS)
register(fit, *options.READING, *options.ANALYSIS)
register(rank, *options.READING, "json", "random_state")
register(diagnose, *options.READING, "json")
register(certify, *options.READING, "json")
register(report, "force")
register(label)
register(reproduce, "json", "force", "random_state")
register(demo, "force")


def all_options() -> frozenset[str]:
    """Return every option of the program and of its commands."""
    group = typer.main.get_group(app)
    parameters = [p for command in (group, *group.commands.values()) for p in command.params]
    return frozenset(name for found in parameters for name in (*found.opts, *found.secondary_opts))


def main() -> None:
    """Run the command that was typed, and end with its exit code.

    Errors about input end with one line and code 2, bugs with code 1, Ctrl-C with 130.
    """
    sys.exit(contextvars.copy_context().run(_exit_code, sys.argv[1:]))


def _exit_code(arguments: list[str]) -> int:
    known, said = all_options(), set[str]()
    warnings.showwarning = lambda message, category, *where, **more: show_warning(
        message, category, known, said
    )
    try:
        code = app(arguments or ["--help"], prog_name="provenmf", standalone_mode=False)
    except SystemExit as stop:  # click's own, with 1, if the reader of its output has gone away
        return 0 if stop.code == 1 else INTERRUPTED
    except (Exception, KeyboardInterrupt) as error:
        if was_interrupted(error):
            code = INTERRUPTED
        elif is_misuse(error):
            complain(f"Error: {misuse_in_one_line(error)}")
            return 2
        elif isinstance(error, OUTSIDE):
            complain(f"Error: {one_line(error, known)}")
            return 2
        else:
            show_bug(error, __version__)
            return 1
    if code == INTERRUPTED:
        complain("Interrupted before there was an answer; nothing was written.")
    return code if isinstance(code, int) else 0
