"""Measure the recovery of components, anchors and endmembers.

    correlation_errors, total_correlation_error      Li & Liang 2017 (Li17), Section 7
    unit_distances, total_squared_correlation_error  the code of Li17, with a one-to-one matching
    success, mean_removed_spectral_angle (MRSA), relative_approximation (RAE)
                                                     Nguyen22, Section V-A; Gillis & Luce 2018
    compare_endmembers                               spectral angles and abundances of a reference

Li17 sums ε_i = min over j and real σ of ‖a*_i − σ a_j‖ over i; its published code sums *squared*
distances between rows of unit length instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.linalg.norms import unit_rows
from provenmf.metrics.matching import best_assignment, cosine_table, match_components


def correlation_errors(
    found: NDArray[np.floating], truth: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Compute ε_i of Li17: distance of each true row to the best multiple of the best found row.

    Several true rows may be best served by the same found row, and the multiple may be negative.
    """
    best = np.abs(cosine_table(truth, found)).argmax(axis=1)
    directions = unit_rows(found[best])
    along = np.einsum("ij,ij->i", truth, directions)
    return np.asarray(np.linalg.norm(truth - along[:, None] * directions, axis=1))


def total_correlation_error(found: NDArray[np.floating], truth: NDArray[np.floating]) -> float:
    """Return the sum of ε_i over the true rows (Li17, Section 7)."""
    return float(correlation_errors(found, truth).sum())


def unit_distances(found: NDArray[np.floating], truth: NDArray[np.floating]) -> NDArray[np.float64]:
    """Compute distances of true rows to their matches, at unit length and with aligned signs.

    The matching is one-to-one; a true row without a partner is at distance √2, as if its partner
    were orthogonal to it.
    """
    matching = match_components(found, truth, signed=True)
    distances = np.full(truth.shape[0], np.sqrt(2.0))
    signs = np.where(matching.cosines < 0, -1.0, 1.0)
    partners = unit_rows(found)[matching.found_rows] * signs[:, None]
    difference = unit_rows(truth)[matching.true_rows] - partners
    distances[matching.true_rows] = np.linalg.norm(difference, axis=1)
    return distances


def total_squared_correlation_error(
    found: NDArray[np.floating], truth: NDArray[np.floating]
) -> float:
    """Return the sum of squared `unit_distances`: what Li17's published code calls the error."""
    distances = unit_distances(found, truth)
    return float(distances @ distances)


def success(found: ArrayLike, true: ArrayLike) -> bool:
    """Return whether the anchors found are exactly the true ones, in any order."""
    return set(np.ravel(found).tolist()) == set(np.ravel(true).tolist())


def mean_removed_spectral_angle(found: ArrayLike, true: ArrayLike) -> float:
    """Compute the MRSA in percent of π: the mean over true rows of the angle to the matched row.

    The angle is arccos of the correlation coefficient: 0 for rows equal up to an offset and a
    positive factor, π for opposite ones. A constant row, which has no direction, is π/2 from all.
    Rows are matched one to one so that the sum of the angles is least; a true row without a partner
    counts as π. Lower is better.
    """
    angles = np.arccos(np.clip(_centred(found) @ _centred(true).T, -1.0, 1.0))
    rows, columns = best_assignment(-angles)
    missing = angles.shape[1] - len(columns)
    mean = (angles[rows, columns].sum() + missing * math.pi) / angles.shape[1]
    return float(mean * (100 / math.pi))


def relative_approximation(
    data: Any, weights: NDArray[np.floating], components: NDArray[np.floating]
) -> float:
    """Return RAE = 1 − ‖data − weights @ components‖_F / ‖data‖_F of dense data (best 1)."""
    return 1.0 - float(np.linalg.norm(data - weights @ components) / np.linalg.norm(data))


def _centred(rows: ArrayLike) -> NDArray[np.float64]:
    """Center each row and scale it to unit length; constant rows become zero."""
    matrix = np.asarray(rows, dtype=np.float64)
    scale = np.abs(matrix).max(axis=1, keepdims=True)
    matrix = matrix - matrix.mean(axis=1, keepdims=True)
    blank = np.abs(matrix).max(axis=1, keepdims=True) <= 1e-14 * scale
    return unit_rows(np.where(blank, 0.0, matrix))


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


def compare_endmembers(
    found: ArrayLike,
    true: ArrayLike,
    abundances: ArrayLike | None = None,
    true_abundances: ArrayLike | None = None,
) -> Agreement:
    """Match endmembers (rows) with a reference and measure angles and abundances (pixels, k)."""
    angles = np.arccos(np.clip(cosine_table(np.asarray(found), np.asarray(true)), -1.0, 1.0))
    rows, columns = best_assignment(-angles)
    order = rows[np.argsort(columns)]
    matched = angles[order, np.arange(len(order))]
    if abundances is None or true_abundances is None:
        return Agreement(order, matched)
    difference = np.asarray(abundances)[:, order] - np.asarray(true_abundances)
    return Agreement(order, matched, float(np.sqrt(np.mean(difference**2))))
