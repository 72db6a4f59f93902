"""Rows and numbers brought to a common size; zeros, which have none, stay zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def inverse_where_positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one over each value; zero for what is not positive."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def unit_rows(matrix: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale rows to unit length; zero rows stay zero."""
    wide = np.asarray(matrix, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0))


def rows_to_sum_one(matrix: NDArray[Any]) -> NDArray[Any]:
    """Divide rows by their sums; rows whose sum is not positive become zero."""
    sums = matrix.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0))
