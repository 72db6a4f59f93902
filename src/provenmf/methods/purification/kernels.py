"""Passes of Purification: decode rows with a left inverse and a ReLU, and sum their moments.

True weights are not negative, so negative entries of A†y are nothing but error, of noise and of
features that are not yet pure. Their root mean square, doubled in the square for the half of the
errors that is not seen, is the level of the decoding noise; it needs no truth.

A row that is a feature decodes to one, so that α = 1 leaves nothing of it but rounding. What is
within rounding of the threshold counts as below it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.linalg.norms import squared_row_norms

ROUNDING = 1e-14  # of ‖y‖‖b‖ in a product ⟨y, b⟩, and of terms that cancel in a covariance


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of decoded weights x and rows y, from one pass.

    update : (k, d) 2 Cov(x, y). terms : (k, d) sizes of the two terms of it, which may cancel.
    squares : (k,) mean of x². noise : level of the decoding noise.
    typical : size of a positive weight, sqrt(Σv⁴/Σv²) over the positive entries v of A†y.
    """

    update: NDArray[np.float64]
    terms: NDArray[np.float64]
    squares: NDArray[np.float64]
    noise: float
    typical: float

    @property
    def threshold(self) -> float:
        """α: twice the noise level, but at most half of a typical weight."""
        return min(2.0 * self.noise, 0.5 * self.typical)


def relu_decode(
    block: Block, inverse: NDArray[np.floating], threshold: float | NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return x = max(A†y − α, 0) for every row y (Eq. (2))."""
    raw = np.asarray(block @ inverse.T, dtype=np.float64)
    return above_threshold(raw, threshold, smallest_products(block, inverse))


def smallest_products(block: Block, inverse: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the size of rounding errors in the entries of A†y."""
    lengths = np.sqrt(squared_row_norms(block))
    return np.asarray(ROUNDING * np.outer(lengths, np.linalg.norm(inverse, axis=1)))


def above_threshold(
    raw: NDArray[np.float64],
    threshold: float | NDArray[np.floating],
    rounding: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return max(v − α, 0), zero where v exceeds α by rounding only."""
    above = raw - threshold
    return np.where(above > rounding, above, 0.0)


def pair_moments(blocks: Blocks, inverse: NDArray[np.floating], threshold: float) -> Moments:
    """Decode and sum up in one pass.

    For independent uniform pairs of rows, Ê[(y − y′)(x − x′)ᵀ] is exactly
    2 (mean(y xᵀ) − mean(y) mean(x)ᵀ).
    """

    def sums(block: Block) -> tuple[Any, ...]:
        raw = np.asarray(block @ inverse.T, dtype=np.float64)
        weights = above_threshold(raw, threshold, smallest_products(block, inverse))
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
    together, apart = products / n, np.outer(weight_sums / n, data_sums / n)
    below, above, fourth = powers.tolist()
    noise = math.sqrt(2.0 * below / (n * len(inverse)))
    typical = math.sqrt(fourth / above) if above > 0 else 0.0
    terms = 2.0 * (np.abs(together) + np.abs(apart))
    return Moments(2.0 * (together - apart), terms, squares / n, noise, typical)


def balancing_scales(
    blocks: Blocks,
    inverse: NDArray[np.float64],
    threshold: float,
    *,
    automatic_threshold: bool = True,
) -> NDArray[np.float64]:
    """Return the diagonal of D that evens out the second moments of decoded weights.

    Li16, Section 6: instead of y ≈ A x one solves y ≈ [A D][D⁻¹x] with E[x_i²]/D_ii² within a
    factor of two. The geometric mean of D is one.

    (A D)† = D⁻¹A†, so no new inverse is needed. The threshold does not scale with the weights,
    hence a few rounds. Features that decode to nothing are left as they are.
    """
    scales = np.ones(len(inverse))
    for _ in range(5):
        moments = pair_moments(blocks, inverse / scales[:, None], threshold)
        seen = moments.squares > 0
        if not seen.any() or moments.squares[seen].max() <= 2 * moments.squares[seen].min():
            break
        roots = np.sqrt(moments.squares[seen])
        scales[seen] *= roots / np.exp(np.log(roots).mean())
        if automatic_threshold:
            threshold = pair_moments(blocks, inverse / scales[:, None], threshold).threshold
    return scales
