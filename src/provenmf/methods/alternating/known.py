"""Where to start beside components that are known and stay as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.io.arrays import numbers
from provenmf.metrics.matching import match_components

Array = NDArray[np.floating]


def checked_known(known: object, n_columns: int, n_components: int | None) -> Array:
    """Known components as an array (m, d), or what is wrong with them."""
    rows = numbers(known, "fixed_components")
    problem = ""
    if rows.ndim != 2 or len(rows) == 0 or rows.shape[1] != n_columns:
        problem = f"has shape {rows.shape}: give one component a row, of {n_columns} columns"
    elif not np.isfinite(rows).all() or (rows < 0).any():
        problem = "has entries that are negative or not finite: components are not negative"
    elif n_components is not None and len(rows) > n_components:
        problem = f"has {len(rows)} rows: give at most n_components={n_components}"
    if problem:
        raise InvalidInput(f"fixed_components {problem}")
    return rows


def with_known_first(start: Array, known: Array) -> Array:
    """The known components, then those of the start that are least like them.

    There are as many as the start has, and no fewer than are known.
    """
    matched = match_components(start, known).found_rows
    free = np.delete(start, matched, axis=0)[: max(len(start) - len(known), 0)]
    return np.vstack([known.astype(start.dtype), free])
