"""How far rows are from the hull or the cone of a few corners."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares
from provenmf.linalg.norms import squared_residual_rows
from provenmf.linalg.storage import Matrix

Model = Literal["hull", "hull and 0", "cone"]


def squared_distances(
    block: Matrix,
    corners: NDArray[np.floating],
    model: Model = "hull",
    divisors: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Squared distance of each row of a block to conv(C), conv(C and 0) or cone(C)."""
    return nearest_points(block, corners, model, divisors)[0]


def nearest_points(
    block: Matrix,
    corners: NDArray[np.floating],
    model: Model = "hull",
    divisors: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same, and the weights of the corners in the nearest points; that of 0 is left out.

    With `divisors` rows are divided by them first; where one is not positive the distance is zero.
    """
    wide = corners.astype(np.float64, copy=False)
    if model == "hull and 0":
        wide = np.vstack([wide, np.zeros((1, wide.shape[1]))])
    solve: Any = nonnegative_least_squares if model == "cone" else simplex_least_squares
    cross = np.asarray(block @ wide.T, dtype=np.float64)
    if divisors is None:
        weights = solve(wide @ wide.T, cross)
        return squared_residual_rows(block, weights, wide), weights[:, : len(corners)]
    unit = np.where(divisors > 0, divisors, 1.0)
    weights = solve(wide @ wide.T, cross / unit[:, None])
    squared = squared_residual_rows(block, unit[:, None] * weights, wide) / unit**2
    return np.where(divisors > 0, squared, 0.0), weights[:, : len(corners)]
