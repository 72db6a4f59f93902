"""Cyclic coordinate descent on rows of nonnegative weights, and a step ahead along their path."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def descend_coordinates_in_place(
    gram: Floats, cross: Floats, weights: Floats, sweeps: int, enough: float
) -> None:
    """Lower 1/2 w G w' - w c' over w >= 0 for every row of ``weights``.

    A row ends after ``sweeps`` sweeps, or when one lowers its objective by less than ``enough``
    times what the first one did. A coordinate that stays at zero costs one comparison.
    """
    n, k = weights.shape
    descent = np.empty(k, dtype=cross.dtype)
    for r in range(n):
        row = weights[r]
        descent[:] = cross[r]
        for j in range(k):
            if row[j] != 0.0:
                for i in range(k):
                    descent[i] -= row[j] * gram[j, i]
        first = 0.0
        for sweep in range(sweeps):
            gain = 0.0
            for j in range(k):
                if gram[j, j] > 0.0 and (descent[j] > 0.0 or row[j] > 0.0):
                    step = max(descent[j] / gram[j, j], -row[j])
                    row[j] += step
                    for i in range(k):
                        descent[i] -= step * gram[j, i]
                    gain += step * step * gram[j, j]
            if sweep == 0:
                first = gain
            elif gain <= enough * first:
                break


@njit(cache=True, nogil=True)
def look_ahead_in_place(new: Floats, last: Floats, length: float, ahead: Floats) -> None:
    """ahead = max(new + length * (new - last), 0)."""
    n, k = new.shape
    for r in range(n):
        for j in range(k):
            ahead[r, j] = max(new[r, j] + length * (new[r, j] - last[r, j]), 0.0)
