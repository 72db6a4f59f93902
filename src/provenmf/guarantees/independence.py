"""How large a sample correlation of independent columns can be, whatever their distribution.

If columns a and b are independent and rows exchangeable, every order of b's entries is equally
likely given both sets of entries. For any shift c, the deviation of <a, b> from its mean over all
orders π is

    Σ_l (a_l − c)(b_π(l) − b̄)  =  Σ a⁺_l (b_π(l) − b̄)  −  Σ a⁻_l (b_π(l) − b̄),

a⁺ and a⁻ the positive and the negative part of a − c. Entries in random order are negatively
associated (Joag-Dev & Proschan 1983, Theorem 2.11), so the exponential moments of each sum are at
most those of independent draws, and Bernstein's inequality holds for it: with V = σ_b² Σ (a^±)²
and M = max a^± · max |b − b̄| a sum exceeds ML/3 + sqrt((ML/3)² + 2VL) with probability at most
exp(−L). Rare weights, whose few coincidences make large correlations, are thereby allowed for.
The bound depends on the two sets of entries only, so the best shift may be taken.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def correlations_and_chance(weights: NDArray[np.floating], failure: float) -> tuple[Floats, Floats]:
    """Absolute correlations of all pairs of columns, and what chance does not exceed.

    If the columns are independent, some correlation exceeds its bound with probability at most
    `failure`. Constant columns correlate with none.
    """
    n, k = weights.shape
    deviations = weights - weights.mean(axis=0, dtype=np.float64)
    peaks = np.abs(deviations).max(axis=0, initial=0.0)
    constant = peaks <= n * np.finfo(np.float64).eps * np.abs(weights).max(axis=0, initial=0.0)
    deviations = np.where(constant, 0.0, deviations / np.where(constant, 1.0, peaks))
    lengths = np.where(constant, 1.0, np.linalg.norm(deviations, axis=0))
    both = np.outer(lengths, lengths)
    L = math.log(4 * max(1, k * (k - 1) // 2) / failure)  # two parts and two tails for each pair
    shifts = (0.0, deviations.min(axis=0), deviations.max(axis=0))
    chance = np.min([_deviation(deviations, lengths, shift, L) for shift in shifts], axis=0)
    chance = np.minimum(chance, chance.T)
    pairs = np.triu_indices(k, 1)
    return (np.abs(deviations.T @ deviations) / both)[pairs], (chance / both)[pairs]


def _deviation(deviations: Floats, lengths: Floats, shift: Floats | float, L: float) -> Floats:
    """What the product of column a (row of the result), shifted, and b exceeds by chance only."""
    total = np.zeros((deviations.shape[1], deviations.shape[1]))
    for part in (np.maximum(deviations - shift, 0.0), np.maximum(shift - deviations, 0.0)):
        V = np.outer((part**2).sum(axis=0), lengths**2 / len(deviations))
        M = np.outer(part.max(axis=0), np.abs(deviations).max(axis=0)) * L / 3
        total += M + np.sqrt(M**2 + 2 * V * L)
    return total
