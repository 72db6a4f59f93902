"""Factors against the observed entries of a matrix: best rows, better rows, what is left.

Observed entries are a sparse array that stores all of them, zeros too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.linalg.penalties import Penalty
from provenmf.parallel import available_threads, for_row_slices

Array = NDArray[np.floating]
ROUNDING = float(np.finfo(np.float64).eps)


def best_observed_rows(
    entries: sp.csr_array, features: Array, start: Array, known: int, penalty: Penalty
) -> Array:
    """Rows w >= 0 that minimise 1/2 sum of (x_j - w f_j)^2 over the observed j, plus the penalty.

    `features` (d, k); the first `known` entries of each row stay as in `start`.
    """
    from provenmf.kernels.alternating.observed import solve_observed_rows_in_place

    settings = (known, penalty.l1, penalty.l2, ROUNDING)
    return _in_threads(solve_observed_rows_in_place, entries, features, start, *settings)


def better_observed_rows(
    entries: sp.csr_array,
    features: Array,
    start: Array,
    known: int,
    penalty: Penalty,
    sweeps: int,
) -> Array:
    """The same, improved by some sweeps of coordinate descent from `start`."""
    from provenmf.kernels.alternating.observed import descend_observed_rows_in_place

    settings = (known, penalty.l1, penalty.l2, sweeps)
    return _in_threads(descend_observed_rows_in_place, entries, features, start, *settings)


def residual_entries(entries: sp.csr_array, rows: Array, features: Array) -> sp.csr_array:
    """x_ij - w_i f_j at every observed entry, in double precision."""
    from provenmf.kernels.alternating.observed import residual_entries_in_place

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
    """A copy of `start` whose rows the kernel worked on, some of them in each thread."""
    out = np.array(start, order="C")
    n = len(out)

    def work(rows: slice) -> None:
        pointers = entries.indptr[rows.start : rows.stop + 1]
        kernel(pointers, entries.indices, entries.data, features, out[rows], *settings)

    for_row_slices(work, n, slice_rows=max(64, -(-n // (4 * available_threads()))))
    return out
