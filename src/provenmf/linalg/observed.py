"""Factors against the observed entries of a matrix: best rows, better rows, what is left.

Observed entries are a sparse array that stores all of them, zeros too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import available_threads, for_row_slices
from provenmf.linalg.compiled import inner_njit, njit
from provenmf.linalg.nnls import Penalty, solve_rows_in_place

# Rows of a factor from the observed entries alone: every row has its own normal equations.
#
# The entries of a row lie between its two ``pointers`` in ``indices`` (columns) and ``values``.
# ``features`` (d, k) are the components, transposed. The first ``known`` coordinates of a row are
# fixed; ``l1`` and ``l2`` are penalties added to half the sum of squares.

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
kernel = njit(cache=True, nogil=True, error_model="numpy")


@inner_njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def normal_equations_in_place(
    indices: Ints, values: Floats, features: Floats, gram: Floats, cross: Floats
) -> None:
    """Sum f f' and x f over the entries of one row, in double precision."""
    k = len(cross)
    gram[:] = 0.0
    cross[:] = 0.0
    for p in range(len(indices)):
        feature = features[indices[p]]
        value = values[p]
        for a in range(k):
            cross[a] += value * feature[a]
            left = feature[a]
            if left != 0.0:
                for b in range(a + 1):
                    gram[a, b] += left * feature[b]
    for a in range(k):
        for b in range(a):
            gram[b, a] = gram[a, b]


@kernel
def descend_observed_rows_in_place(
    pointers: Ints,
    indices: Ints,
    values: Floats,
    features: Floats,
    rows: Floats,
    known: int,
    l1: float,
    l2: float,
    sweeps: int,
) -> None:
    """Sweep over the coordinates of each row; rows without an observed value stay as they are."""
    n, k = rows.shape
    gram, cross = np.empty((k, k)), np.empty(k)
    for r in range(n):
        here = slice(pointers[r], pointers[r + 1])
        normal_equations_in_place(indices[here], values[here], features, gram, cross)
        for _ in range(sweeps):
            for j in range(known, k):
                curvature = gram[j, j] + l2
                if curvature > 0.0:
                    descent = cross[j] - l1 - l2 * rows[r, j]
                    for i in range(k):
                        descent -= gram[j, i] * rows[r, i]
                    rows[r, j] = max(rows[r, j] + descent / curvature, 0.0)


@kernel
def solve_observed_rows_in_place(
    pointers: Ints,
    indices: Ints,
    values: Floats,
    features: Floats,
    rows: Floats,
    known: int,
    l1: float,
    l2: float,
    rounding: float,
) -> None:
    """Solve for the best rows; positive entries of ``rows`` are the first guess."""
    n, k = rows.shape
    free = k - known
    gram, cross = np.empty((k, k)), np.empty(k)
    scaled, right = np.empty((free, free)), np.empty((1, free))
    answer, sizes = np.empty((1, free)), np.empty(free)
    for r in range(n):
        here = slice(pointers[r], pointers[r + 1])
        normal_equations_in_place(indices[here], values[here], features, gram, cross)
        for j in range(free):
            size = np.sqrt(gram[known + j, known + j] + l2)
            sizes[j] = size if size > 0.0 else 1.0
        for j in range(free):
            target = cross[known + j] - l1
            for i in range(known):
                target -= gram[known + j, i] * rows[r, i]
            right[0, j] = target / sizes[j]
            answer[0, j] = rows[r, known + j]
            for i in range(free):
                entry = gram[known + j, known + i] + (l2 if i == j else 0.0)
                scaled[j, i] = entry / (sizes[j] * sizes[i])
        solve_rows_in_place(scaled, right, answer, False, free * rounding, rounding)
        for j in range(free):
            rows[r, known + j] = answer[0, j] / sizes[j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def residual_entries_in_place(
    pointers: Ints, indices: Ints, values: Floats, features: Floats, rows: Floats, out: Floats
) -> None:
    """Write out = value - row @ feature at every entry."""
    n, k = rows.shape
    for r in range(n):
        for p in range(pointers[r], pointers[r + 1]):
            fitted = 0.0
            for j in range(k):
                fitted += rows[r, j] * features[indices[p], j]
            out[p] = values[p] - fitted


Array = NDArray[np.floating]
ROUNDING = float(np.finfo(np.float64).eps)


def best_observed_rows(
    entries: sp.csr_array, features: Array, start: Array, known: int, penalty: Penalty
) -> Array:
    """Minimize 1/2 sum of (x_j - w f_j)^2 over the observed j, plus the penalty, w >= 0.

    `features` (d, k); the first `known` entries of each row stay as in `start`.
    """

    settings = (known, penalty.l1, penalty.l2, ROUNDING)
    return _in_threads(solve_observed_rows_in_place, entries, features, start, *settings)


def weights_of_observed(entries: sp.csr_array, components: Array, penalty: Penalty) -> Array:
    """Return the best weights (n, k) of given components, in the precision of the entries."""
    features = np.ascontiguousarray(components.T, dtype=np.float64)
    start = np.zeros((entries.shape[0], len(components)))
    return best_observed_rows(entries, features, start, 0, penalty).astype(entries.dtype)


def better_observed_rows(
    entries: sp.csr_array,
    features: Array,
    start: Array,
    known: int,
    penalty: Penalty,
    sweeps: int,
) -> Array:
    """Improve `start` by some sweeps of coordinate descent on the same objective."""

    settings = (known, penalty.l1, penalty.l2, sweeps)
    return _in_threads(descend_observed_rows_in_place, entries, features, start, *settings)


def residual_entries(entries: sp.csr_array, rows: Array, features: Array) -> sp.csr_array:
    """Return x_ij - w_i f_j at every observed entry, in double precision."""

    left = np.empty(entries.nnz)
    _in_threads(residual_entries_in_place, entries, features, rows, left)
    return sp.csr_array((left, entries.indices, entries.indptr), shape=entries.shape)


def _in_threads(
    kernel: Callable[..., None],
    entries: sp.csr_array,
    features: Array,
    start: Array,
    *settings: Any,
) -> Array:
    """Apply the kernel to a copy of `start`, some of the rows in each thread."""
    out = np.array(start, order="C")
    n = len(out)

    def work(rows: slice) -> None:
        pointers = entries.indptr[rows.start : rows.stop + 1]
        kernel(pointers, entries.indices, entries.data, features, out[rows], *settings)

    for_row_slices(work, n, slice_rows=max(64, -(-n // (4 * available_threads()))))
    return out
