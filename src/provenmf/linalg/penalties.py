"""Penalties on the factors, with a scale that depends on no number of rows or columns.

For data X (n, d), weights W (n, k) and components C (k, d) the objective is

    1/(2 n d) ||X - WC||_F^2  +  1/n (l1_weights ||W||_1 + 1/2 l2_weights ||W||_F^2)
                              +  1/d (l1_components ||C||_1 + 1/2 l2_components ||C||_F^2),

a mean over entries, rows and columns: rows given twice change no component. Times n d it is
1/2 ||X - WC||_F^2 + d (…) + n (…). Missing entries leave out their squares and nothing else, so
that a row's weights depend on that row only. scikit-learn's NMF has the same scale: `alpha_W *
l1_ratio` is `l1_weights`, `alpha_W * (1 - l1_ratio)` is `l2_weights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Penalty:
    """l1 ||F||_1 + 1/2 l2 ||F||_F^2 on a factor, beside 1/2 ||X - WC||_F^2."""

    l1: float = 0.0
    l2: float = 0.0

    def __bool__(self) -> bool:
        return self.l1 > 0 or self.l2 > 0

    def normal_equations(
        self, gram: NDArray[Any], cross: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the penalised problem of a nonnegative factor as one without a penalty."""
        return self.with_gram(gram), self.with_cross(cross)

    def with_gram(self, gram: NDArray[Any]) -> NDArray[Any]:
        """Return the Gram matrix of the normal equations."""
        return gram + self.l2 * np.eye(len(gram)) if self else gram

    def with_cross(self, cross: NDArray[Any]) -> NDArray[Any]:
        """Return their right-hand sides, for any rows."""
        return np.asarray(cross - cross.dtype.type(self.l1)) if self else cross

    def value(self, factor: Array) -> float:
        """Return the penalty of a nonnegative factor."""
        if not self:
            return 0.0
        wide = factor.astype(np.float64, copy=False)
        return float(self.l1 * wide.sum() + 0.5 * self.l2 * np.vdot(wide, wide))


@dataclass(frozen=True)
class Penalties:
    """Penalties on weights and components, as in the objective above."""

    l1_weights: float = 0.0
    l2_weights: float = 0.0
    l1_components: float = 0.0
    l2_components: float = 0.0

    def on_weights(self, n_columns: int) -> Penalty:
        """Beside half the sum of squares."""
        return Penalty(n_columns * self.l1_weights, n_columns * self.l2_weights)

    def on_components(self, n_rows: int) -> Penalty:
        """Beside half the sum of squares."""
        return Penalty(n_rows * self.l1_components, n_rows * self.l2_components)
