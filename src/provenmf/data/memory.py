"""A dense or sparse matrix in memory, never changed.

A dense block is a view. The rows are shared with the user unless they must be put in order first:
sparse ones by column, dense ones one after the other in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import block_bytes
from provenmf.data.base import Block, Blocks, Progress
from provenmf.linalg.storage import in_row_order, own_rows

# Blocks of this size keep the products inside a pass small beside the data, and are large
# enough for BLAS to use all the cores.
BLOCK_BYTES = 256 * 2**20


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
        """Nonzeros of a sparse matrix, all entries of a dense one."""
        return int(self._matrix.nnz if self.is_sparse else self._matrix.size)

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1, a view where the matrix is dense."""
        if start == 0 and stop == self.n_rows:
            return self._matrix
        return self._matrix[start:stop]

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows, copied."""
        return self._matrix[np.asarray(rows)]

    def in_double_precision(self) -> MemoryBlocks:
        """A copy in double precision."""
        return MemoryBlocks(
            self._matrix.astype(np.float64), block_rows=self.block_rows, progress=self.progress
        )
