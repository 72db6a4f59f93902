"""Decode rows with a left inverse and a ReLU, and sum up what an update of the features needs.

True weights are not negative, so negative entries of A†y are nothing but error, of noise and of
features that are not yet pure. Their root mean square, doubled in the square for the half of the
errors that is not seen, is the level of the decoding noise; it needs no truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks

NOISE_MULTIPLE = 2.0


@dataclass(frozen=True, eq=False)
class Moments:
    """What one pass sums up.

    update : (k, d) 2 Cov(x, y). squares : (k,) mean of x². noise : level of the decoding noise.
    typical : size of a weight that is there, sqrt(Σv⁴/Σv²) over the positive entries v of A†y.
    """

    update: NDArray[np.float64]
    squares: NDArray[np.float64]
    noise: float
    typical: float

    @property
    def threshold(self) -> float:
        """α that removes the noise and leaves the weights."""
        return min(NOISE_MULTIPLE * self.noise, 0.5 * self.typical)


def relu_decode(
    block: Block, inverse: NDArray[np.floating], threshold: float | NDArray[np.floating]
) -> NDArray[np.float64]:
    """x = max(A†y − α, 0) for every row y (Eq. (2))."""
    return np.maximum(np.asarray(block @ inverse.T, dtype=np.float64) - threshold, 0.0)


def pair_moments(blocks: Blocks, inverse: NDArray[np.floating], threshold: float) -> Moments:
    """Decode and sum up in one pass.

    For independent uniform pairs of rows, Ê[(y − y′)(x − x′)ᵀ] is exactly
    2 (mean(y xᵀ) − mean(y) mean(x)ᵀ).
    """

    def sums(block: Block) -> tuple[Any, ...]:
        raw = np.asarray(block @ inverse.T, dtype=np.float64)
        weights = np.maximum(raw - threshold, 0.0)
        below, above = np.minimum(raw, 0.0) ** 2, np.maximum(raw, 0.0) ** 2
        return (
            np.asarray((block.T @ weights).T),
            weights.sum(axis=0),
            np.asarray(block.sum(axis=0, dtype=np.float64)).reshape(-1),
            np.einsum("ij,ij->j", weights, weights),
            np.array([below.sum(), above.sum(), np.einsum("ij,ij->", above, above)]),
        )

    products, weight_sums, data_sums, squares, powers = blocks.map_reduce(sums)
    n = blocks.n_rows
    update = 2.0 * (products / n - np.outer(weight_sums / n, data_sums / n))
    below, above, fourth = powers.tolist()
    noise = math.sqrt(2.0 * below / (n * len(inverse)))
    return Moments(update, squares / n, noise, math.sqrt(fourth / above) if above > 0 else 0.0)
