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

from provenmf.blocks import RowArray
from provenmf.blocks.rows import of_each, total

Floats = NDArray[np.float64]


def correlations_and_chance(weights: RowArray, failure: float) -> tuple[Floats, Floats]:
    """Absolute correlations of all pairs of columns, and what chance does not exceed.

    If the columns are independent, some correlation exceeds its bound with probability at most
    `failure`. Constant columns correlate with none.
    """
    n, sums = total(lambda rows: (len(rows), rows.sum(axis=0, dtype=np.float64)), weights)
    means, k = sums / n, len(sums)
    lowest, highest, size = _ends(weights, means)
    peaks = np.maximum(-lowest, highest)
    constant = peaks <= n * np.finfo(np.float64).eps * size
    peaks = np.where(constant, 1.0, peaks)
    lowest, highest = (np.where(constant, 0.0, end / peaks) for end in (lowest, highest))
    shifts = (np.zeros(k), lowest, highest)

    def moments(rows: NDArray[np.floating]) -> tuple[Floats, Floats, Floats]:
        """Of the deviations from the means: products, squares, and squares of both parts."""
        deviations = np.where(constant, 0.0, (rows - means) / peaks)
        squares = [
            [(part**2).sum(axis=0) for part in _parts(deviations, shift)] for shift in shifts
        ]
        return deviations.T @ deviations, (deviations**2).sum(axis=0), np.array(squares)

    products, squared, squared_parts = total(moments, weights)
    lengths = np.where(constant, 1.0, np.sqrt(squared))
    both = np.outer(lengths, lengths)
    L = math.log(4 * max(1, k * (k - 1) // 2) / failure)  # two parts and two tails for each pair
    variances, farthest = lengths**2 / n, np.maximum(-lowest, highest)
    chance = np.full((k, k), np.inf)
    for shift, squares in zip(shifts, squared_parts, strict=True):
        largest = np.maximum(highest - shift, 0.0), np.maximum(shift - lowest, 0.0)
        of_parts = zip(squares, largest, strict=True)
        exceeded = [
            _exceeded(np.outer(a, variances), np.outer(b, farthest), L) for a, b in of_parts
        ]
        chance = np.minimum(chance, sum(exceeded))
    chance = np.minimum(chance, chance.T)
    pairs = np.triu_indices(k, 1)
    return (np.abs(products) / both)[pairs], (chance / both)[pairs]


def _ends(weights: RowArray, means: Floats) -> tuple[Floats, Floats, Floats]:
    """The lowest and highest deviation from the mean of each column, and its largest |entry|."""

    def of_rows(rows: NDArray[np.floating]) -> tuple[Floats, Floats, Floats]:
        deviations = rows - means
        lowest = deviations.min(axis=0, initial=np.inf)
        highest = deviations.max(axis=0, initial=-np.inf)
        return lowest, highest, np.abs(rows).max(axis=0, initial=0.0)

    lowest, highest, size = zip(*of_each(of_rows, weights), strict=True)
    return np.min(lowest, axis=0), np.max(highest, axis=0), np.max(size, axis=0)


def _parts(deviations: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """a⁺ and a⁻."""
    return np.maximum(deviations - shift, 0.0), np.maximum(shift - deviations, 0.0)


def _exceeded(V: Floats, M: Floats, L: float) -> Floats:
    """What a sum exceeds with probability exp(−L) at the most."""
    M = M * L / 3
    return np.asarray(M + np.sqrt(M**2 + 2 * V * L))
