"""What the command line says about errors and warnings: their fields, with options for arguments.

An error about the input is one line. Anything that is not an error of provenmf's own, of the
machine's memory or of its files is a bug, and is shown as one.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Container
from typing import Any

import typer

from provenmf.errors import Message, Naming, ProvenmfError

# Arguments of the library that have another name on the command line.
RENAMED = {
    "n_components": "--rank",
    "n_topics": "--rank",
    "n_communities": "--rank",
    "n_endmembers": "--rank",
    "n_parts": "--rank",
    "random_state": "--seed",
    "fixed_components": "--known",
    "n_jobs": "--jobs",
}
# Errors that have their cause outside the program.
OUTSIDE = (ProvenmfError, OSError, MemoryError)


def say(text: str) -> None:
    """Write to standard error, if it takes it; the exit code tells, too."""
    with contextlib.suppress(OSError):
        typer.echo(text, err=True)


def as_typed(options: Container[str]) -> Naming:
    """Name arguments as options where there is such an option: `field='a'` is `--field 'a'`."""

    def name(argument: str, value: str | None) -> str:
        option = RENAMED.get(argument, f"--{argument.replace('_', '-')}")
        if option not in options:
            return argument if value is None else f"{argument}={value}"
        return {
            None: option,
            "None": f"{option} (left out)",
            "True": option,
            "False": option.replace("--", "--no-"),
        }.get(value, f"{option} {value}")

    return name


def one_line(error: BaseException, options: Container[str]) -> str:
    """The message of an error without the explanations that follow in further lines."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}): use fewer columns, or a matrix on disk (.npy)"
    text = error.sentence(as_typed(options)) if isinstance(error, Message) else str(error)
    return (text.strip() or type(error).__name__).splitlines()[0]


def is_misuse(error: BaseException) -> bool:
    """An unknown option or command, a missing argument, a value of another type.

    typer has its own copy of click's errors since 0.20 or so: they are known by what they can do.
    """
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def misuse_in_one_line(error: Any) -> str:
    """What is wrong with the command, and which help to read."""
    text = " ".join(str(error.format_message()).split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{text}: see {context.command_path if context else 'provenmf'} --help"


def show_warning(message: Warning | str, category: type[Warning], options: Container[str]) -> None:
    """Warnings as one line each; the outcome itself says why a method stopped."""
    if issubclass(category, UserWarning) and category.__name__ != "ConvergenceWarning":
        warning = message if isinstance(message, Warning) else Warning(message)
        say(f"Warning: {one_line(warning, options)}")


def show_bug(error: BaseException, version: str) -> None:
    """The traceback, and what to do with it."""
    say("".join(traceback.format_exception(error)))
    say(
        f"This is a bug in provenmf {version}, not a mistake of yours. Please report it to its "
        "developers:\nthe lines above, the command you typed, and the data if you may share them."
    )
