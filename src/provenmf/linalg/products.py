"""Products of a block of rows with a narrow matrix, on all cores for sparse blocks too.

Dense products are BLAS. scipy multiplies sparse matrices on one core; here the rows are shared out
among threads. The transposed product scatters into one buffer per thread, so no transposed copy of
the data is needed.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import available_threads, for_row_slices
from provenmf.linalg.compiled import njit
from provenmf.linalg.storage import Matrix, is_sparse

# Products of a CSR matrix with a narrow dense one, row range by row range.

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]


@njit(cache=True, nogil=True)
def multiply_rows_in_place(
    pointers: Ints, columns: Ints, values: Floats, right: Floats, start: int, stop: int, out: Floats
) -> None:
    """Write out[r] = (row r of the CSR matrix) @ right, for r in start .. stop-1."""
    k = right.shape[1]
    for r in range(start, stop):
        target = out[r]
        for j in range(k):
            target[j] = 0.0
        for p in range(pointers[r], pointers[r + 1]):
            value, source = values[p], right[columns[p]]
            for j in range(k):
                target[j] += value * source[j]


@njit(cache=True, nogil=True)
def add_transposed_product_in_place(
    pointers: Ints, columns: Ints, values: Floats, left: Floats, start: int, stop: int, out: Floats
) -> None:
    """Add (rows start .. stop-1 of the CSR matrix)' @ left[start:stop] to out."""
    k = left.shape[1]
    for r in range(start, stop):
        source = left[r]
        for p in range(pointers[r], pointers[r + 1]):
            value, target = values[p], out[columns[p]]
            for j in range(k):
                target[j] += value * source[j]


# Below this many multiplications the threads cost more than they save.
SMALL_WORK = 200_000


def product(block: Matrix, right: NDArray[np.floating]) -> NDArray[Any]:
    """Return block (n, d) @ right (d, k), dense, in the block's precision."""
    if not _worth_threads(block, right):
        return np.asarray(block @ right)

    out = np.empty((block.shape[0], right.shape[1]), dtype=block.dtype)
    parts = block.indptr, block.indices, block.data, _plain(right, block.dtype)

    def work(rows: slice) -> None:
        multiply_rows_in_place(*parts, rows.start, rows.stop, out)

    for_row_slices(work, block.shape[0], slice_rows=-(-block.shape[0] // (8 * available_threads())))
    return out


def transposed_product(block: Matrix, left: NDArray[np.floating]) -> NDArray[Any]:
    """Return block' (d, n) @ left (n, k), dense, in the block's precision."""
    if not _worth_threads(block, left):
        return np.ascontiguousarray(block.T @ left)

    threads = available_threads()
    sums = np.zeros((threads, block.shape[1], left.shape[1]), dtype=block.dtype)
    parts = block.indptr, block.indices, block.data, _plain(left, block.dtype)
    bounds = np.searchsorted(block.indptr, np.linspace(0, block.nnz, threads + 1))

    def work(each: slice) -> None:
        start, stop = int(bounds[each.start]), int(bounds[each.stop])
        add_transposed_product_in_place(*parts, start, stop, sums[each.start])

    bounds[-1] = block.shape[0]
    for_row_slices(work, threads, slice_rows=1)
    return np.asarray(sums.sum(axis=0) if threads > 1 else sums[0])


def _worth_threads(block: Matrix, narrow: NDArray[np.floating]) -> TypeGuard[sp.csr_array]:
    return is_sparse(block) and block.nnz * narrow.shape[1] > SMALL_WORK


def _plain(narrow: NDArray[np.floating], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a contiguous, writable array in the data's precision, as compiled loops need it."""
    plain = np.ascontiguousarray(narrow, dtype=dtype)
    return plain if plain.flags.writeable else plain.copy()
