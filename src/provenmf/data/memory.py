"""A matrix in memory, dense or sparse, with all entries or with those that are observed.

The user's arrays are never changed. A dense block is a view. Rows are shared with the user unless
they must be put in order first: sparse ones by column, dense ones one after the other in memory.

A matrix with missing entries is a sparse array that stores every observed entry, also one that is
zero; what is not stored is missing. Sums, norms and products with it are about observed entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import block_bytes, computed_once
from provenmf.data.base import Block, Blocks, Progress
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import row_sums
from provenmf.linalg.storage import in_row_order, is_sparse, own_rows

# Blocks of this size keep the products inside a pass small beside the data, and are large
# enough for BLAS to use all the cores.
BLOCK_BYTES = 256 * 2**20
# Where a start needs a full matrix, missing entries are filled up to this many entries (512 MB).
MOST_FILLED = 1 << 26


class MemoryBlocks(Blocks):
    """Rows of a numpy array or a scipy sparse matrix."""

    in_memory = True

    def __init__(
        self, matrix: Any, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        self.is_sparse = sp.issparse(matrix)
        self._matrix: Any = own_rows(matrix) if self.is_sparse else in_row_order(matrix)
        if block_rows is None:
            row_bytes = max(1, matrix.shape[1] * matrix.dtype.itemsize)
            dense_rows = max(1, block_bytes(BLOCK_BYTES) // row_bytes)
            block_rows = matrix.shape[0] if self.is_sparse else dense_rows
        super().__init__(matrix.shape, self._matrix.dtype, block_rows, progress)

    @property
    def stored_entries(self) -> int:
        """Return the nonzeros of a sparse matrix, all entries of a dense one."""
        return int(self._matrix.nnz if self.is_sparse else self._matrix.size)

    def read(self, start: int, stop: int) -> Block:
        """Return rows start … stop−1, a view if the matrix is dense."""
        if start == 0 and stop == self.n_rows:
            return self._matrix
        return self._matrix[start:stop]

    def take(self, rows: NDArray[np.intp]) -> Block:
        """Return a copy of the given rows."""
        return self._matrix[np.asarray(rows)]

    def in_double_precision(self) -> MemoryBlocks:
        """Return a copy in double precision."""
        return MemoryBlocks(
            self._matrix.astype(np.float64), block_rows=self.block_rows, progress=self.progress
        )


class ObservedBlocks(MemoryBlocks):
    """Observed entries of a matrix, for methods that support missing entries."""

    def __init__(self, entries: sp.csr_array, *, progress: Progress | None = None) -> None:
        super().__init__(entries, progress=progress)

    @property
    def entries(self) -> sp.csr_array:
        """Return every observed entry, zeros too."""
        return self._matrix

    @computed_once
    def by_column(self) -> sp.csr_array:
        """Return the observed entries of the transposed matrix."""
        return sp.csr_array(self.entries.T)

    @property
    def places(self) -> sp.csr_array:
        """Return the pattern of the observed entries, marked by NaN."""
        marks = np.full(self.entries.nnz, np.nan)
        parts = marks, self.entries.indices, self.entries.indptr
        return sp.csr_array(parts, shape=self.shape)

    @property
    def share(self) -> float:
        """Return the share of observed entries."""
        return float(self.entries.nnz / (self.n_rows * self.n_columns))

    def in_double_precision(self) -> ObservedBlocks:
        """Return a copy in double precision."""
        return ObservedBlocks(self.entries.astype(np.float64), progress=self.progress)

    def filled(self) -> Blocks:
        """Return a full matrix to start from: missing entries are row mean × column mean / mean.

        Zeros where the matrix would be too large for memory.
        """
        n, d = self.shape
        if n * d > MOST_FILLED:
            return MemoryBlocks(self.entries)
        mean = float(self.entries.data.mean(dtype=np.float64)) if self.entries.nnz else 0.0
        of_rows = _means(self.entries, mean)
        of_columns = _means(self.by_column, mean)
        full = np.outer(of_rows, of_columns / mean if mean else of_columns).astype(self.dtype)
        rows = np.repeat(np.arange(n), np.diff(self.entries.indptr))
        full[rows, self.entries.indices] = self.entries.data
        return MemoryBlocks(full)


def _means(entries: sp.csr_array, otherwise: float) -> NDArray[np.float64]:
    """Return the mean of the observed entries of each row."""
    counts = np.diff(entries.indptr)
    sums = row_sums(entries)
    means = np.full(len(sums), otherwise)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def observed_entries(X: Block, unstored_missing: bool) -> sp.csr_array:
    """Return the entries of X that are not NaN and, of sparse rows, stored."""
    if not is_sparse(X):
        rows, columns = np.nonzero(~np.isnan(X))
        return _from_sorted(rows, columns, X[rows, columns], X.shape)
    if unstored_missing:
        return without_missing(X)
    raise InvalidInput(
        "X is sparse and contains NaN",
        argument="unstored",
        remedy="give X.toarray(), or {argument='missing'} if the entries that are not stored are "
        "missing, too",
    )


def without_missing(entries: sp.csr_array) -> sp.csr_array:
    """Drop stored entries that are NaN; stored zeros stay."""
    missing = np.isnan(entries.data)
    if not missing.any():
        return entries
    rows = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))[~missing]
    return _from_sorted(rows, entries.indices[~missing], entries.data[~missing], entries.shape)


def _from_sorted(
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    values: NDArray[np.floating],
    shape: tuple[int, int],
) -> sp.csr_array:
    """Return sparse rows with the given entries, which are in row order."""
    pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return sp.csr_array((values, columns, pointers), shape=shape)
