"""How well anchors and components were found: success, recall, MRSA, RAE, SNR.

The measures of Nguyen22, Section V-A (MRSA and RAE after Gillis & Luce 2018).
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.linalg.scaling import unit_rows
from provenmf.metrics.matching import best_assignment


def success(found: ArrayLike, true: ArrayLike) -> bool:
    """Whether the anchors found are exactly the true ones, in any order."""
    return set(np.ravel(found).tolist()) == set(np.ravel(true).tolist())


def anchor_recall(found: ArrayLike, true: ArrayLike) -> float:
    """Which fraction of the true anchors was found."""
    wanted = set(np.ravel(true).tolist())
    return len(wanted & set(np.ravel(found).tolist())) / len(wanted)


def mean_removed_angles(found: ArrayLike, true: ArrayLike) -> NDArray[np.float64]:
    """Angle in radians between each row of `found` and each of `true`, their means removed.

    arccos of the correlation coefficient: 0 for rows equal up to an offset and a positive
    factor, π for opposite ones. A constant row, which has no direction, is π/2 from all.
    """
    return np.arccos(np.clip(_centred(found) @ _centred(true).T, -1.0, 1.0))


def mean_removed_spectral_angle(
    found: ArrayLike, true: ArrayLike, *, unit: Literal["percent", "radians"] = "percent"
) -> float:
    """MRSA: the mean over the true rows of the angle to the found row matched with it.

    Rows are matched one to one so that the sum of the angles is least; a true row without a
    partner counts as π. Lower is better.

    Parameters
    ----------
    unit : "percent" is 100/π times the radians, in [0, 100].
    """
    angles = mean_removed_angles(found, true)
    rows, columns = best_assignment(-angles)
    missing = angles.shape[1] - len(columns)
    mean = (angles[rows, columns].sum() + missing * math.pi) / angles.shape[1]
    return float(mean * (100 / math.pi if unit == "percent" else 1.0))


def relative_approximation(
    data: Any, weights: NDArray[np.floating], components: NDArray[np.floating]
) -> float:
    """RAE = 1 − ‖data − weights @ components‖_F / ‖data‖_F of dense data; higher is better."""
    return 1.0 - float(np.linalg.norm(data - weights @ components) / np.linalg.norm(data))


def signal_to_noise(clean: ArrayLike, noise: ArrayLike) -> float:
    """10 log10(‖clean‖² / ‖noise‖²) in decibels; infinite without noise."""
    power = float(np.sum(np.square(noise)))
    return math.inf if power == 0 else 10 * math.log10(float(np.sum(np.square(clean))) / power)


def _centred(rows: ArrayLike) -> NDArray[np.float64]:
    """Rows minus their mean, of unit length; constant rows become zero."""
    matrix = np.asarray(rows, dtype=np.float64)
    scale = np.abs(matrix).max(axis=1, keepdims=True)
    matrix = matrix - matrix.mean(axis=1, keepdims=True)
    blank = np.abs(matrix).max(axis=1, keepdims=True) <= 1e-14 * scale
    return unit_rows(np.where(blank, 0.0, matrix))
