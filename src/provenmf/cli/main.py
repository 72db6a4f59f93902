"""The command `provenmf`: registers the commands, and turns errors into one clear line."""

from __future__ import annotations

import contextvars
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from itertools import islice
from typing import Any

import typer
from typer.core import TyperGroup

from provenmf import __version__
from provenmf.cli import options
from provenmf.cli.applications import communities, parts, signatures, unmix
from provenmf.cli.examples import demo, generate
from provenmf.cli.fit import diagnose, fit, rank
from provenmf.cli.messages import (
    INTERRUPTED,
    OUTSIDE,
    complain,
    is_misuse,
    limit_columns,
    misuse_in_one_line,
    one_line,
    show_bug,
    show_warning,
)
from provenmf.cli.reproduce import reproduce
from provenmf.cli.saved import certify, convert, label, report
from provenmf.cli.topics import topics
from provenmf.errors import was_interrupted


class Program(TyperGroup):
    """The program, whose options may also stand behind a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move the options of the program to the front, then parse the arguments."""
        flags = {name: p.is_flag for p in self.params for name in p.opts}  # type: ignore[attr-defined]
        front, rest = [], []
        items = iter(args)
        for item in items:
            name, equals, _ = item.partition("=")
            if item == "--":
                rest += [item, *items]
            elif name in flags:
                front += [item] if flags[name] or equals else [item, *islice(items, 1)]
            else:
                rest.append(item)
        return super().parse_args(ctx, front + rest)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List all commands with their whole first sentence."""
        found = [self.commands[name] for name in self.list_commands(ctx)]
        rows = [(str(c.name), " ".join((c.help or "").split("\n\n")[0].split())) for c in found]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    name="provenmf",
    cls=Program,
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

    The options below may also stand behind a command; its help names those it uses.
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
@options.with_fields_of(options.Shared)
def provenmf(shared: options.Shared) -> None:
    """Remember the options for every command."""
    options.set_shared(shared)


def register(command: Callable[..., None], *used: str) -> None:
    """Add a command that uses these of the shared options, and refuses the others."""
    name = command.__name__
    others = ", ".join(f"--{option.replace('_', '-')}" for option in used)

    @wraps(command)
    def checked(**arguments: Any) -> None:
        options.check_used(name, used)
        command(**arguments)

    epilog = f"Also: {others}. See provenmf --help." if used else None
    app.command(name, epilog=epilog)(checked)


for analysis in (topics, communities, signatures, unmix, parts, fit):
    register(analysis, *options.ANALYSIS)
register(rank, "json", "random_state")
register(diagnose, "json")
register(certify, "json")
register(report, "force")
register(label)
register(convert, "force")
register(generate, "force", "random_state")
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
    limit_columns()
    known = all_options()
    warnings.showwarning = lambda message, category, *where, **more: show_warning(
        message, category, known
    )
    try:
        with options.limits_of(arguments):
            code = app(arguments or ["--help"], prog_name="provenmf", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:
        if was_interrupted(error):
            code = INTERRUPTED
        elif is_misuse(error):
            complain(f"Error: {misuse_in_one_line(error)}")
            return 2
        elif isinstance(error, OUTSIDE):
            if "--debug" in arguments:
                raise
            complain(f"Error: {one_line(error, known)}")
            return 2
        else:
            show_bug(error, __version__)
            return 1
    if code == INTERRUPTED:
        complain("Interrupted before there was an answer; nothing was written.")
    return code if isinstance(code, int) else 0
