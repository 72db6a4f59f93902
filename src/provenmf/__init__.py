"""provenmf: nonnegative matrix factorization that you can trust.

Public names are resolved when first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from provenmf.estimators import CATALOGUE

__version__ = "0.1.0"

_PUBLIC = {name: f"provenmf.estimators.{stem}" for stem, name in CATALOGUE.items()} | {
    "factorize": "provenmf.estimators",
    "conformal_residual": "provenmf.advisor.new_rows",
    "diagnose": "provenmf.advisor.diagnose",
    "load": "provenmf.io",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'provenmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
