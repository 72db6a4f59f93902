"""Sums, norms and scales of rows, dense or sparse, and their distances to a growing span."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.linalg.storage import Matrix, is_sparse, stored_values

# Between these lengths a square neither underflows by a digit nor overflows.
SAFE_LENGTHS = (1e-140, 1e150)
# Expanded squares below this share of their terms have lost too many digits.
CANCELLED = 1e-6
DENSE_ENTRIES = 1 << 18  # of a block, worked on or made dense at a time: 2 MB


def squared_frobenius_norm(block: Matrix) -> float:
    """Return ‖block‖²_F of a dense or sparse block, summed in double precision."""
    flat = np.ascontiguousarray(stored_values(block)).reshape(-1)
    if flat.dtype == np.float64:
        return float(flat @ flat)
    return float(np.einsum("i,i->", flat, flat, dtype=np.float64))


def squared_row_norms(block: Matrix) -> NDArray[np.float64]:
    """Return the squared length of each row of a dense or sparse block."""
    if is_sparse(block):
        squares = block.data.astype(np.float64) ** 2
        squared = sp.csr_array((squares, block.indices, block.indptr), shape=block.shape)
        return np.asarray(squared.sum(axis=1)).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", block, block, dtype=np.float64))


def row_lengths(block: Matrix) -> NDArray[np.float64]:
    """Return the length of each row; rows whose squares leave the range are scaled first."""
    with np.errstate(over="ignore"):
        lengths = np.sqrt(squared_row_norms(block))
    risky = np.flatnonzero(~((lengths > SAFE_LENGTHS[0]) & (lengths < SAFE_LENGTHS[1])))
    if risky.size:
        rows = block[risky].astype(np.float64)
        largest = np.abs(rows).max(axis=1)
        largest = np.asarray(largest.todense() if sp.issparse(largest) else largest).reshape(-1)
        unit = power_of_two(np.where(largest > 0, largest, 1.0))
        scaled = rows / unit[:, None] if not sp.issparse(rows) else sp.diags_array(1 / unit) @ rows
        lengths[risky] = np.sqrt(squared_row_norms(scaled)) * unit
    return lengths


def power_of_two(values: Any) -> Any:
    """Return the power of two next below each positive value, inside the safe range."""
    exponents = np.frexp(values)[1] - 1
    return np.ldexp(1.0, np.clip(exponents, -1000, 1000))


def row_sums(block: Matrix) -> NDArray[np.float64]:
    """Return the sum of each row of a dense or sparse block."""
    return np.asarray(block @ np.ones(block.shape[1]), dtype=np.float64)


def absolute_row_sums(block: Matrix) -> NDArray[np.float64]:
    """Return the sum of absolute values in each row of a dense or sparse block."""
    if not is_sparse(block):
        step = rows_of_a_slice(block.shape[1])
        slices = (block[i : i + step] for i in range(0, len(block), step))
        sums = [np.abs(rows).sum(axis=1) for rows in slices]
        return np.concatenate(sums, dtype=np.float64) if sums else np.zeros(0)
    return np.asarray(np.abs(block).sum(axis=1), dtype=np.float64).reshape(-1)


def squared_residual_rows(
    block: Matrix, weights: NDArray[np.floating], components: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the squared length of each row of `block − weights @ components`.

    A dense block is subtracted directly, which is exact where the fit is exact. For a sparse
    block the square is expanded, ‖x‖² − 2⟨x Cᵀ, w⟩ + w C Cᵀ wᵀ, so that nothing dense is formed.
    Its rounding error is about 1e-16 (‖x‖ + Σ|w_k|‖c_k‖)²; rows with less than CANCELLED of that
    left are subtracted directly, a few at a time.
    """
    if not is_sparse(block):
        exact = np.empty(len(block))

        def of_slice(rows: slice) -> None:  # few enough rows that the residual stays in the cache
            residual = block[rows] - weights[rows] @ components
            np.einsum("ij,ij->i", residual, residual, dtype=np.float64, out=exact[rows])

        for_row_slices(of_slice, len(block), slice_rows=rows_of_a_slice(block.shape[1]))
        return exact
    components = components.astype(np.float64, copy=False)
    cross = np.asarray(block @ components.T, dtype=np.float64)
    wide = weights.astype(np.float64, copy=False)
    gram = components @ components.T
    fitted = np.einsum("ij,ij->i", wide @ gram, wide)
    lengths = squared_row_norms(block)
    squared = lengths - 2 * np.einsum("ij,ij->i", cross, wide) + fitted
    reach = (np.abs(wide) @ np.sqrt(np.diag(gram))) ** 2
    cancelled = np.flatnonzero(squared < CANCELLED * (lengths + reach))
    step = rows_of_a_slice(block.shape[1])
    for start in range(0, len(cancelled), step):
        rows = cancelled[start : start + step]
        squared[rows] = squared_residual_rows(block[rows].toarray(), wide[rows], components)
    return np.asarray(squared)


def entry_range(block: Matrix) -> tuple[float, float]:
    """Return the smallest and largest stored entry: NaN if one is NaN, zeros if there are none.

    Slices are still in the cache when they are read again.
    """
    values = stored_values(block)
    step = rows_of_a_slice(values.shape[1] if values.ndim > 1 else 1)
    slices = [values[i : i + step] for i in range(0, len(values), step)]
    ends = np.array([(some.min(), some.max()) for some in slices if some.size], dtype=np.float64)
    return (float(ends[:, 0].min()), float(ends[:, 1].max())) if len(ends) else (0.0, 0.0)


def rows_of_a_slice(columns: int) -> int:
    """Return the number of rows that are worked on at a time."""
    return max(1, DENSE_ENTRIES // max(1, columns))


def largest_row_sum(matrix: NDArray[np.floating]) -> float:
    """Return ‖M‖_∞, the largest sum of absolute values in a row."""
    return float(np.abs(matrix).sum(axis=1).max(initial=0.0))


def largest_column_sum(matrix: NDArray[np.floating]) -> float:
    """Return ‖M‖_1, the largest sum of absolute values in a column."""
    return float(np.abs(matrix).sum(axis=0).max(initial=0.0))


# Rows and numbers at a common size; zeros have none and stay zero.


def inverse_where_positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one over each value; zero for what is not positive or too small to be inverted."""
    invertible = values >= np.finfo(np.float64).tiny
    return np.divide(1.0, values, out=np.zeros_like(values), where=invertible)


def unit_rows(matrix: NDArray[np.floating]) -> NDArray[np.float64]:
    """Scale rows to unit length; zero rows stay zero."""
    wide = np.asarray(matrix, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    return np.asarray(np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0))


def rows_to_sum_one(matrix: NDArray[Any]) -> NDArray[Any]:
    """Divide rows by their sums; rows whose sum is not positive become zero."""
    sums = matrix.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0))


# Distances to a growing span.

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
