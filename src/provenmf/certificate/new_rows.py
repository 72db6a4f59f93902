"""What rows that were kept aside say about rows to come: split conformal prediction.

Vovk, Gammerman & Shafer 2005; Lei et al. 2018, Theorem 2. The components know nothing of the m rows
that were kept aside. If those and a new row are exchangeable, the rank of its residual among all
m + 1 is uniform, so that it is at most the ⌈(m + 1) c⌉-th smallest of theirs with probability c.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def rows_needed(confidence: float) -> int:
    """The fewest rows kept aside for which there is a bound: ⌈(m + 1) c⌉ ≤ m."""
    return math.ceil(confidence / (1 - confidence) - 1e-9)


def residual_bound(residuals: NDArray[np.float64], confidence: float) -> float:
    """The ⌈(m + 1) c⌉-th smallest of m residuals."""
    place = math.ceil((len(residuals) + 1) * confidence - 1e-9)
    return float(np.sort(residuals)[place - 1])
