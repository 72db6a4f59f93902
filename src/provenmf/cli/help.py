"""Commands whose help is plain text: no types for flags, and it fits narrow terminals too."""

from __future__ import annotations

import re
import shutil
from functools import partial
from itertools import islice
from textwrap import wrap
from typing import Any

from typer.core import TyperCommand, TyperGroup

WIDEST, NARROW = 80, 70
# Options longer than this have a line of their own.
WIDE_COLUMN, NARROW_COLUMN = 28, 16
VERBATIM = "\b"  # marks a paragraph whose lines are kept as they are
NO_BREAK = "\N{NO-BREAK SPACE}"


def narrowed(text: str, width: int) -> str:
    """Fold the verbatim lines of help to the width."""
    paragraphs = text.split("\n\n")
    for place, paragraph in enumerate(paragraphs):
        if paragraph.lstrip().startswith(VERBATIM):
            lines = [short for line in paragraph.splitlines() for short in folded(line, width)]
            paragraphs[place] = "\n".join(lines)
    return "\n\n".join(paragraphs)


def folded(example: str, width: int) -> list[str]:
    r"""Return an example in short lines that a shell still reads: remarks first, then \ at ends.

    >>> folded("  provenmf topics letters/ -k 10    a folder of text files", 30)
    ['  # a folder of text files', '  provenmf topics letters/ \\', '    -k 10']
    """
    if len(example) <= width:
        return [example]
    indent = " " * (len(example) - len(example.lstrip()))
    command, *remark = re.split(r" {2,}", example.strip(), maxsplit=1)
    lines = [f"{indent}# {line}" for text in remark for line in wrap(text, width - len(indent) - 2)]
    together = re.sub(r"( --?[a-z]\S*) (?!-)", rf"\1{NO_BREAK}", command)  # an option and its value
    pieces = wrap(together, width - len(indent) - 4, break_long_words=False, break_on_hyphens=False)
    command = " \\\n".join(pieces).replace(NO_BREAK, " ")
    return lines + [
        f"{indent}{'  ' if number else ''}{line}" for number, line in enumerate(command.split("\n"))
    ]


class _Plain:
    """What commands and the program itself have in common."""

    help: str | None

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters, the option --help too: `--json`, not `--json <bool>`."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            elif parameter.param_type_name == "argument":
                parameter.metavar = parameter.metavar or str(parameter.name).upper()
                parameter.display_type_rich = lambda ctx: ""
        return parameters

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return DATA for an argument, as in other programs, not {DATA}."""
        pieces = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [re.sub(r"^\{(.*?)\}(?:\.\.\.)?$", r"\1", piece) for piece in pieces]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Use the terminal's width, and short columns for options where it is narrow."""
        formatter.width = min(shutil.get_terminal_size().columns, WIDEST)
        column = NARROW_COLUMN if formatter.width < NARROW else WIDE_COLUMN
        formatter.write_dl = partial(formatter.write_dl, col_max=column)
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description, its examples folded to the width."""
        whole = self.help
        self.help = None if whole is None else narrowed(whole, formatter.width - 2)
        try:
            super().format_help_text(ctx, formatter)  # type: ignore[misc]
        finally:
            self.help = whole


class PlainCommand(_Plain, TyperCommand):
    """A command with plain help."""


class PlainGroup(_Plain, TyperGroup):
    """The program with plain help, whose options may also stand behind a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Bring the options of the program to the front."""
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
