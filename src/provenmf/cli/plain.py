"""Commands whose help shows no type for a flag, and fits narrow terminals too."""

from __future__ import annotations

import shutil
from typing import Any

from typer.core import TyperCommand, TyperGroup

# Below this width, framed tables cut words off; plain lines do not.
FRAMES_NEED = 70


def without_types(parameters: list[Any]) -> list[Any]:
    """Parameters as the help shows them: `--json` and not `--json <bool>`, DATA for an argument."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument" and parameter.metavar is None:
            parameter.metavar = str(parameter.name).upper()
    return parameters


class _Plain:
    """What commands and the program itself have in common."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, the option --help too."""
        return without_types(super().get_params(ctx))  # type: ignore[misc]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Without frames where they do not fit."""
        if shutil.get_terminal_size().columns < FRAMES_NEED:
            self.__dict__["rich_markup_mode"] = None
        super().format_help(ctx, formatter)  # type: ignore[misc]


class PlainCommand(_Plain, TyperCommand):
    """A command with plain help."""


class PlainGroup(_Plain, TyperGroup):
    """The program with plain help."""
