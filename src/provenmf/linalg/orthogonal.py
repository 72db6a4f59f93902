"""Distances to a growing span: Gram-Schmidt, and the first of the nearly largest scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Squared residual lengths are kept by subtraction, which leaves errors of this size relative to
# the squared length of the row; anything smaller is rounding.
ROUNDING = 1e-13


def orthogonal_part(vector: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Remove from `vector` its part in the span of the orthonormal `basis` rows.

    Done twice: the second sweep removes what rounding left behind in the first.
    """
    for _ in range(2):
        vector = vector - (basis @ vector) @ basis
    return vector


def orthonormal_rows(matrix: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return an orthonormal basis, one vector per row, of the row space of a matrix."""
    if matrix.shape[0] == 0:
        return np.zeros(matrix.shape)
    _, singular, right = np.linalg.svd(np.asarray(matrix, dtype=np.float64), full_matrices=False)
    return np.asarray(right[singular > np.sqrt(ROUNDING) * max(singular[0], np.finfo(float).tiny)])


def first_largest(scores: NDArray[np.float64], slack: NDArray[np.float64] | float) -> int:
    """Return the lowest index whose positive score is within its `slack` of the largest one.

    Equal rows get scores that differ in the last bits when they lie in different blocks; the
    slack makes them equal again, so that every storage and block size gives the same answer.
    If no score is positive the first largest one wins.
    """
    if scores.max() <= 0:
        return int(np.argmax(scores))
    return int(np.argmax((scores + slack >= scores.max()) & (scores > 0)))


def without_rounding(
    squared: NDArray[np.float64], scale: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Set squared residuals to zero that rounding alone can explain."""
    return np.where(squared > ROUNDING * scale, squared, 0.0)
