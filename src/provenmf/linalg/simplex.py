"""Euclidean projection onto the probability simplex."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def project_to_simplex(rows: Array) -> Array:
    """The nearest point of ``{w >= 0, sum(w) = 1}`` to each row.

    The projection of v is ``max(v - t, 0)`` with t fixed by the sum; t comes from the sorted
    entries (Held, Wolfe & Crowder 1974). Accepts one vector or a matrix of rows.
    """
    values = np.asarray(rows)
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    work = np.atleast_2d(values).astype(np.float64)
    # A common shift changes nothing, and entries more than 1 below the largest end at zero anyway.
    work = np.maximum(work - work.max(axis=1, keepdims=True), -1.0)
    ordered = -np.sort(-work, axis=1)
    shifts = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, work.shape[1] + 1)
    last = np.count_nonzero(ordered > shifts, axis=1) - 1
    projected = np.maximum(work - shifts[np.arange(len(work)), last][:, None], 0.0)
    projected /= projected.sum(axis=1, keepdims=True)
    return np.asarray(projected.reshape(values.shape).astype(values.dtype))
