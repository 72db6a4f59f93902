"""The co-occurrence matrix P = FᵀF / c of sparse counts F (documents × words), never formed.

P has as many entries as there are pairs of words. Everything asked of it here comes from products
with F: row sums Fᵀ(F 1)/c, single columns FᵀF[:, j]/c, lengths of rows from blocks of rows, and the
leading singular vectors of P with its rows scaled to sum one, by Lanczos on Fᵀ(F ·).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.scaling import inverse_where_positive
from provenmf.linalg.spectral import Spectrum, leading_eigenpairs, with_fixed_signs

# Entries of P that may be held at a time while its rows are visited.
PART_ENTRIES = 2**24


class Cooccurrence:
    """P = FᵀF / divisor as an operator; symmetric, so rows are columns.

    Parameters
    ----------
    counts : F (n_documents, n_words), sparse or dense, nonnegative.
    divisor : c; the number of documents if None.
    """

    def __init__(self, counts: Any, *, divisor: float | None = None) -> None:
        matrix = counts if sp.issparse(counts) else np.asarray(counts)
        self._counts = sp.csc_array(matrix).astype(np.float64, copy=False)
        self._transposed = self._counts.T.tocsr()
        self.divisor = float(self._counts.shape[0] if divisor is None else divisor)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_words, n_words)."""
        return (self._counts.shape[1],) * 2

    def __matmul__(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """P @ right, for a vector or a matrix."""
        return self._transposed @ (self._counts @ right) / self.divisor

    def row_sums(self) -> NDArray[np.float64]:
        """P 1 = Fᵀ(F 1)/c."""
        return self @ np.ones(self.shape[0])

    def diagonal(self) -> NDArray[np.float64]:
        """P_jj = ‖F[:, j]‖²/c."""
        return squared_row_norms(self._transposed) / self.divisor

    def rows(self, index: ArrayLike) -> NDArray[np.float64]:
        """P[index, :] as a dense array."""
        chosen = self._transposed[np.atleast_1d(np.asarray(index, dtype=np.intp))]
        return (chosen @ self._counts).toarray() / self.divisor

    def columns(self, index: ArrayLike) -> NDArray[np.float64]:
        """P[:, index] as a dense array."""
        return np.ascontiguousarray(self.rows(index).T)

    def sparse_rows(self, start: int, stop: int) -> sp.csr_array:
        """P[start:stop, :] as a sparse array."""
        return sp.csr_array(self._transposed[start:stop] @ self._counts) / self.divisor

    def squared_row_norms(self) -> NDArray[np.float64]:
        """‖P[i, :]‖² for every i; rows of P are formed a few at a time and dropped."""
        step = max(1, PART_ENTRIES // self.shape[0])
        parts = [
            squared_row_norms(self.sparse_rows(start, min(start + step, self.shape[0])))
            for start in range(0, self.shape[0], step)
        ]
        return np.concatenate(parts)

    def scaled_spectrum(self, k: int) -> Spectrum:
        """Squared singular values and right vectors of P̄: P with its rows scaled to sum one."""
        squared_scales = inverse_where_positive(self.row_sums()) ** 2
        return leading_eigenpairs(
            lambda v: self @ (squared_scales[:, None] * (self @ v)), self.shape[0], k
        )

    def scaled_projection(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows of P̄ in the coordinates of its k leading right singular vectors.

        Returns P̄ V (n_words, k) and V as rows (k, n_words): P̄ ≈ (P̄ V) Vᵀ, the best of rank k.
        """
        directions = with_fixed_signs(self.scaled_spectrum(k).vectors)
        scales = inverse_where_positive(self.row_sums())
        return scales[:, None] * (self @ directions.T), directions
