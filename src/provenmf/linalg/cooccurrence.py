"""The co-occurrence matrix P = FᵀF / n of sparse counts F (n documents × words), never formed.

P has as many entries as there are pairs of words. Everything asked of it here comes from products
with F: row sums Fᵀ(F 1)/n, single rows F[:, j]ᵀF/n, and the leading singular vectors of P with its
rows scaled to sum one, by Lanczos on Fᵀ(F ·).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from provenmf.linalg.scaling import inverse_where_positive
from provenmf.linalg.spectral import Spectrum, leading_eigenpairs, with_fixed_signs


class Cooccurrence:
    """P = FᵀF / n as an operator; symmetric, so rows are columns.

    Parameters
    ----------
    counts : F (n_documents, n_words), sparse or dense, nonnegative.
    """

    def __init__(self, counts: object) -> None:
        matrix = counts if sp.issparse(counts) else np.asarray(counts)
        self._counts = sp.csc_array(matrix).astype(np.float64, copy=False)
        self._transposed = self._counts.T.tocsr()

    @property
    def shape(self) -> tuple[int, int]:
        """(n_words, n_words)."""
        return (self._counts.shape[1],) * 2

    def __matmul__(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P @ right, for a vector or a matrix."""
        return np.asarray(self._transposed @ (self._counts @ right) / self._counts.shape[0])

    def row_sums(self) -> NDArray[np.float64]:
        """Return P 1 = Fᵀ(F 1)/n."""
        return self @ np.ones(self.shape[0])

    def rows(self, index: ArrayLike) -> NDArray[np.float64]:
        """Return P[index, :] as a dense array."""
        chosen = self._transposed[np.atleast_1d(np.asarray(index, dtype=np.intp))]
        return np.asarray((chosen @ self._counts).toarray() / self._counts.shape[0])

    def scaled_spectrum(self, k: int) -> Spectrum:
        """Return squared singular values and right vectors of P̄, P with rows that sum to one."""
        squared_scales = inverse_where_positive(self.row_sums()) ** 2
        return leading_eigenpairs(
            lambda v: self @ (squared_scales[:, None] * (self @ v)), self.shape[0], k
        )

    def scaled_projection(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows of P̄ in the coordinates of its k leading right singular vectors.

        Returns P̄ V (n_words, k) and V as rows (k, n_words): P̄ ≈ (P̄ V) Vᵀ, the best of rank k.
        """
        directions = with_fixed_signs(self.scaled_spectrum(k).vectors)
        scales = inverse_where_positive(self.row_sums())
        return scales[:, None] * (self @ directions.T), directions
