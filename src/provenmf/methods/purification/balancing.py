"""Rescale features so that their weights have about the same second moment (Li16, Section 6).

Instead of y ≈ A x one solves y ≈ [A D][D⁻¹x] with E[x_i²]/D_ii² within a factor of two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.methods.purification.decoding import pair_moments

ROUNDS = 5


def balancing_scales(
    blocks: Blocks,
    inverse: NDArray[np.float64],
    threshold: float,
    *,
    automatic_threshold: bool = True,
) -> NDArray[np.float64]:
    """The diagonal of D, from the second moments of decoded weights; its geometric mean is one.

    (A D)† = D⁻¹A†, so no new inverse is needed. The threshold does not scale with the weights,
    hence a few rounds. Features that decode to nothing are left as they are.
    """
    scales = np.ones(len(inverse))
    for _ in range(ROUNDS):
        moments = pair_moments(blocks, inverse / scales[:, None], threshold)
        seen = moments.squares > 0
        if not seen.any() or moments.squares[seen].max() <= 2 * moments.squares[seen].min():
            break
        roots = np.sqrt(moments.squares[seen])
        scales[seen] *= roots / np.exp(np.log(roots).mean())
        if automatic_threshold:
            threshold = pair_moments(blocks, inverse / scales[:, None], threshold).threshold
    return scales
