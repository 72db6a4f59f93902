"""Packages that are not always installed."""

from __future__ import annotations

import importlib
from typing import Any

from provenmf.errors import MissingExtra


def optional(module: str, purpose: str, extra: str) -> Any:
    """Import a module that is not always installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(purpose, extra) from error
