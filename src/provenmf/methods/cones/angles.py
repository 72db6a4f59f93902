"""Angles between nonnegative vectors, with rounding allowed for.

A sum of n nonnegative products of floating-point numbers has a relative error below n·u, u the
unit roundoff, whatever the order of summation. The cosine ⟨x, y⟩/(‖x‖‖y‖) of nonnegative vectors
with n entries is therefore known within a factor 1 ± (2n + 8)u, and with it an interval that
contains the true angle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff, to be safe


def cosine_error(n_terms: int) -> float:
    """Relative error of a computed cosine of nonnegative vectors with `n_terms` entries."""
    return (2 * n_terms + 8) * _EPS


def angle_at_most(cosine: NDArray[np.floating] | float, n_terms: int) -> NDArray[np.float64]:
    """An angle that the true one does not exceed."""
    lowered = np.clip(np.asarray(cosine) * (1 - cosine_error(n_terms)), 0.0, 1.0)
    return np.arccos(lowered) * (1 + 4 * _EPS)


def angle_at_least(cosine: NDArray[np.floating] | float, n_terms: int) -> NDArray[np.float64]:
    """An angle that the true one does not fall below."""
    raised = np.clip(np.asarray(cosine) * (1 + cosine_error(n_terms)), 0.0, 1.0)
    return np.arccos(raised) * (1 - 4 * _EPS)


def similarity_decimals(dtype: np.dtype[Any]) -> int:
    """Decimals to which inner products of unit vectors are believed, in the given precision."""
    return 12 if dtype == np.float64 else 5
