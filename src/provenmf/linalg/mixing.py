"""How one set of components mixes another: A = A*(Σ + E) + N.

A* and A are feature matrices (d, k), our components transposed. Σ is diagonal, E off-diagonal, N
lies outside the span of A*. AND and Purification measure progress by Σ, E and N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.norms import largest_column_sum, largest_row_sum


class Mixing(NamedTuple):
    """components = (diag(diagonal) + off_diagonal) @ reference + outside.

    Row i speaks of component i, so `off_diagonal` is Eᵀ and `outside` is Nᵀ of the papers.
    """

    diagonal: NDArray[np.float64]
    off_diagonal: NDArray[np.float64]
    outside: NDArray[np.float64]

    def relative(self) -> Mixing:
        """Return the mixing with every component divided by its own diagonal entry."""
        factors = 1.0 / self.diagonal[:, None]
        return Mixing(
            np.ones_like(self.diagonal), self.off_diagonal * factors, self.outside * factors
        )


def mixing_of(components: NDArray[np.floating], reference: NDArray[np.floating]) -> Mixing:
    """Split components by the span of independent reference components, orthogonally."""
    coordinates = np.linalg.lstsq(
        np.asarray(reference, dtype=np.float64).T, np.asarray(components).T, rcond=None
    )[0].T
    diagonal = np.diag(coordinates).copy()
    off_diagonal = coordinates - np.diag(diagonal)
    outside = np.asarray(components - coordinates @ reference, dtype=np.float64)
    return Mixing(diagonal, off_diagonal, outside)


def symmetric_norm(matrix: NDArray[np.floating]) -> float:
    """Return ‖M‖_s, the largest row or column sum of absolute values."""
    return max(largest_row_sum(matrix), largest_column_sum(matrix))
