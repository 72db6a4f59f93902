"""Sizes that arrays of a record share, said in their types, and whether two records agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType

import numpy as np

# Metadata of a field that lives in memory only.
NOT_SAVED = MappingProxyType({"saved": False})


@dataclass(frozen=True, init=False)
class Shape:
    """Names of an array's sizes: `Annotated[Floats, Shape("n", "k")]`.

    Within one record the same name stands for the same size; a file in which it does not is
    refused. Entries that count rows, words, … of an earlier field are `below` that size.
    """

    sizes: tuple[str | int, ...]
    below: str

    def __init__(self, *sizes: str | int, below: str = "") -> None:
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "below", below)


def agree(a: object, b: object) -> bool:
    """Return whether two records or values are equal, field by field; NaN equals NaN."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        nan = a.dtype.kind == "f"
        return a.dtype == b.dtype and bool(np.array_equal(a, b, equal_nan=nan))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(agree(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(agree, a, b))
    if type(a) is not type(b):
        return False
    if is_dataclass(a) and not isinstance(a, type):
        return all(agree(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    return bool(a == b)
