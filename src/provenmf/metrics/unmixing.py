"""How well spectra and abundances agree with a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.metrics.matching import best_assignment, cosine_table


@dataclass(frozen=True, eq=False)
class Agreement:
    """Comparison with a reference after matching endmembers by least total spectral angle.

    order : order[i] is the found endmember matched with reference i; angles : radians, one per
    reference endmember; abundance_rmse : over all pixels and endmembers, None without abundances.
    """

    order: NDArray[np.intp]
    angles: NDArray[np.float64]
    abundance_rmse: float | None = None

    @property
    def mean_angle(self) -> float:
        """Mean spectral angle in radians."""
        return float(self.angles.mean())


def spectral_angles(found: ArrayLike, true: ArrayLike) -> NDArray[np.float64]:
    """Angle in radians between each row of `found` and each row of `true`."""
    return np.arccos(np.clip(cosine_table(np.asarray(found), np.asarray(true)), -1.0, 1.0))


def compare_endmembers(
    found: ArrayLike,
    true: ArrayLike,
    abundances: ArrayLike | None = None,
    true_abundances: ArrayLike | None = None,
) -> Agreement:
    """Match endmembers (rows) with a reference and measure angles and abundances (pixels, k)."""
    angles = spectral_angles(found, true)
    rows, columns = best_assignment(-angles)
    order = rows[np.argsort(columns)]
    matched = angles[order, np.arange(len(order))]
    if abundances is None or true_abundances is None:
        return Agreement(order, matched)
    difference = np.asarray(abundances)[:, order] - np.asarray(true_abundances)
    return Agreement(order, matched, float(np.sqrt(np.mean(difference**2))))
