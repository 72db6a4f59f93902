"""How well true components are recovered: the correlation error of Li & Liang 2017 (Li17).

Li17, Section 7, uses ε_i = min over j and real σ of ‖a*_i − σ a_j‖ and sums it over i. Their
published code sums *squared* distances between rows of unit length instead. The names here keep
the two apart:

    correlation_errors, total_correlation_error      the paper's
    unit_distances, total_squared_correlation_error  the code's, with a one-to-one matching
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.scaling import unit_rows
from provenmf.metrics.matching import cosine_table, match_components


def correlation_errors(
    found: NDArray[np.floating], truth: NDArray[np.floating]
) -> NDArray[np.float64]:
    """ε_i of Li17 for each true row: distance to the best multiple of the best found row.

    Several true rows may be best served by the same found row, and the multiple may be negative.
    """
    best = np.abs(cosine_table(truth, found)).argmax(axis=1)
    directions = unit_rows(found[best])
    along = np.einsum("ij,ij->i", truth, directions)
    return np.asarray(np.linalg.norm(truth - along[:, None] * directions, axis=1))


def total_correlation_error(found: NDArray[np.floating], truth: NDArray[np.floating]) -> float:
    """Sum of ε_i over the true rows (Li17, Section 7)."""
    return float(correlation_errors(found, truth).sum())


def unit_distances(found: NDArray[np.floating], truth: NDArray[np.floating]) -> NDArray[np.float64]:
    """Distance between each true row and its match, both of unit length, signs made to agree.

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
    """Sum of squared `unit_distances`: what Li17's published code calls the error."""
    distances = unit_distances(found, truth)
    return float(distances @ distances)
