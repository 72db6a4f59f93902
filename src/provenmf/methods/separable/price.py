"""What using a row costs in FastGradient: μ, from SPA's anchors at first, then steered."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.errors import DegenerateData
from provenmf.linalg.norms import squared_frobenius_norm, squared_residual_rows
from provenmf.methods.separable.spa import spa
from provenmf.methods.weights import encode


class Price:
    """μ, steered towards a trace by a factor that halves at each change of direction."""

    def __init__(self, mu: float, target: float | None = None) -> None:
        self.mu = mu
        self._target = target  # None: μ stays
        self._stride = 0.1
        self._lowered: bool | None = None

    def steer(self, trace: float) -> None:
        """Lower μ where too little is used, else raise it."""
        if self._target is None:
            return
        lower = trace < self._target
        if self._lowered is not None and lower != self._lowered:
            self._stride /= 2
        self._lowered = lower
        self.mu *= 1 - self._stride if lower else 1 + self._stride


def steered_price(blocks: Blocks, n_components: int | None, prices: NDArray[np.float64]) -> Price:
    """μ with μ Σ p_i = ‖X − WC‖² at SPA's anchors, their U_ii being one; to be steered from there.

    Differs: GL18's program adds 1e-3 to the squared residual, which depends on the unit of the
    data; here a millionth of ‖X‖² is the least.
    """
    with warnings.catch_warnings():
        # SPA warns of fewer independent rows than components; a cone may have dependent corners.
        warnings.simplefilter("ignore", DegenerateData)
        first = spa(blocks, n_components)
    assert first.anchors is not None  # SPA always chooses rows
    weights = encode(blocks, first.components)
    squared, total = blocks.map_reduce(
        lambda block, w: (
            squared_residual_rows(block, w, first.components).sum(),
            squared_frobenius_norm(block),
        ),
        weights,
    )
    mu = max(float(squared), 1e-6 * float(total)) / float(prices[first.anchors].sum())
    return Price(mu, target=len(first.anchors) / 2 + 1)
