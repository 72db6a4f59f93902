"""Output of the command line: standard output, errors and warnings.

Nothing in a text can steer the terminal, and arguments of the library are named as the options
that were typed. An error about the input is one line; anything that is not an error of provenmf's
own, of the machine's memory or of its files is a bug, and is shown as one.
"""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Container
from textwrap import wrap
from typing import Any

from provenmf.errors import Message, Naming, ProvenmfError, printable, shortened
from provenmf.progress import tell

# Errors that have their cause outside the program.
OUTSIDE = (ProvenmfError, OSError, MemoryError)
NARROWEST, WIDEST = 20, 80
INTERRUPTED = 130  # what shells call the exit after Ctrl-C
# The number of components has a name in each application, and -k on the command line.
NUMBERS = ("n_components", "n_topics", "n_communities", "n_endmembers", "n_parts")


def text_width() -> int:
    """Return the output width in columns, limited for readability."""
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def say(text: str) -> None:
    """Print a text as it is, without what could steer the terminal."""
    print(printable(text), flush=True)


def say_json(content: object) -> None:
    """Print JSON."""
    from provenmf.io.records import strict_json

    say(strict_json(content))


def say_wrapped(text: str, *, indent: str = "") -> None:
    """Print a sentence in lines of the terminal's width."""
    lines = wrap(
        printable(text).replace(" %", "\u00a0%"),  # stays with its number
        text_width(),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    say("\n".join(lines).replace("\u00a0%", " %"))


def complain(text: str) -> None:
    """Write to standard error."""
    tell(printable(text))


def as_typed(options: Container[str]) -> Naming:
    """Name arguments as options where there is such an option: `field='a'` is `--field 'a'`."""

    def name(argument: str, value: str | None) -> str:
        option = "-k" if argument in NUMBERS else f"--{argument.replace('_', '-')}"
        without = option.replace("--", "--no-")
        if value == "False" and without in options:
            return without
        if option not in options:
            return argument if value is None else f"{argument}={value} in Python"
        return {
            None: option,
            "None": f"{option} (left out)",
            "True": option,
        }.get(value, f"{option} {value}")

    return name


def one_line(error: BaseException, options: Container[str]) -> str:
    """Return the message of an error without the explanations that follow in further lines."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}): use fewer columns, or a matrix on disk (.npy)"
    text = error.sentence(as_typed(options)) if isinstance(error, Message) else str(error)
    return shortened((text.strip() or type(error).__name__).splitlines()[0])


def is_misuse(error: BaseException) -> bool:
    """Recognize an unknown option or command, a missing argument, a value of another type.

    typer has its own copy of click's errors since 0.20 or so: they are known by what they can do.
    """
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def misuse_in_one_line(error: Any) -> str:
    """Say what is wrong with the command, and which help to read."""
    text = " ".join(str(error.format_message()).split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{shortened(text)}: see {context.command_path if context else 'provenmf'} --help"


def show_warning(
    message: Warning | str, category: type[Warning], options: Container[str], said: set[str]
) -> None:
    """Show warnings as one line each, unless it was said; the outcome says why a method stopped."""
    if issubclass(category, UserWarning) and category.__name__ != "ConvergenceWarning":
        line = one_line(message if isinstance(message, Warning) else Warning(message), options)
        if line not in said:
            said.add(line)
            complain(f"Warning: {line}")


def show_bug(error: BaseException, version: str) -> None:
    """Show the traceback, and what to do with it."""
    complain("".join(traceback.format_exception(error)))
    complain(
        f"This is a bug in provenmf {version}, not a mistake of yours. Please report it to its "
        "developers:\nthe lines above, the command you typed, and the data if you may share them."
    )
