"""Distances of points to convex hulls, each with a proved lower and upper bound.

Fully corrective Frank-Wolfe: the nearest point p of the corners known so far gives an upper bound
||x - p||; the hull's farthest point in direction w = (x - p) / ||x - p|| gives the lower bound
<x, w> - max <point, w>, because the hyperplane through it separates x from the hull; and that
farthest point becomes the next corner. Rounding errors are on the safe side of both bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares
from provenmf.linalg.norms import squared_residual_rows, unit_rows
from provenmf.linalg.storage import Matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# farthest(numbers of targets, one direction for each) -> a number that <point, direction> exceeds
# nowhere in the hull of that target, and points that (nearly) attain it; -inf for an empty hull.
# Directions have unit length or are zero.
Farthest = Callable[[Ints, Floats], tuple[Floats, Floats]]


def product_rounding(n_terms: int) -> float:
    """Bound |computed <x, w> - <x, w>| / (||x|| ||w||) in double precision.

    n u / (1 - n u) with unit roundoff u; twice of that, and room for a factor or two.
    """
    return (n_terms + 8) * float(np.finfo(np.float64).eps)


def distances_to_hulls(
    targets: Floats,
    farthest: Farthest,
    *,
    tol: float = 1e-2,
    max_iter: int = 200,
    asked: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return lower <= distance <= upper for each target and its own hull.

    A target is done once upper - lower <= tol * upper, or once the difference is rounding, or once
    it is known whether its distance exceeds the one `asked` about. The distance to an empty hull is
    infinite.
    """
    count, d = targets.shape
    rounding = product_rounding(d)
    lengths = np.linalg.norm(targets, axis=1)
    lower, upper = np.zeros(count), np.full(count, np.inf)
    corners: list[Floats] = [np.empty((0, d))] * count
    reach, points = farthest(np.arange(count), unit_rows(targets))
    lower[np.isneginf(reach)] = np.inf
    open_targets = np.flatnonzero(np.isfinite(reach))
    for i in open_targets.tolist():
        corners[i] = points[i : i + 1]
    for _ in range(max_iter):
        directions = np.zeros((len(open_targets), d))
        for place, i in enumerate(open_targets.tolist()):
            nearest, corners[i] = nearest_point(targets[i], corners[i])
            away = targets[i] - nearest
            length = float(np.linalg.norm(away))
            directions[place] = away / length if length > 0 else 0.0
            longest = float(np.linalg.norm(corners[i], axis=1).max())
            slack = (rounding + product_rounding(len(corners[i]))) * (lengths[i] + longest)
            upper[i] = min(upper[i], length * (1 + rounding) + slack)
        reach, points = farthest(open_targets, directions)
        own = np.einsum("ij,ij->i", targets[open_targets], directions)
        own -= rounding * lengths[open_targets]
        separation = (own - reach) * (1 - rounding)
        lower[open_targets] = np.maximum(lower[open_targets], separation)
        rounded = reach - np.einsum("ij,ij->i", points, directions)
        rounded += 4 * rounding * lengths[open_targets]
        gap = upper[open_targets] - lower[open_targets]
        undecided = gap > np.maximum(tol * upper[open_targets], 2 * rounded)
        if asked is not None:
            within = asked[open_targets]
            undecided &= (lower[open_targets] <= within) & (upper[open_targets] > within)
        for place in np.flatnonzero(undecided).tolist():
            i = int(open_targets[place])
            corners[i] = np.vstack([corners[i], points[place]])
        open_targets = open_targets[undecided]
        if len(open_targets) == 0:
            break
    return np.minimum(lower, upper), upper


def nearest_point(target: Floats, corners: Floats) -> tuple[Floats, Floats]:
    """Return the point of the corners' hull nearest to the target, and the corners it mixes."""
    from_target = corners - target
    gram = from_target @ from_target.T
    weights = simplex_least_squares(gram, np.zeros((1, len(corners))))[0]
    used = weights > 0
    return weights[used] @ corners[used] / weights[used].sum(), corners[used]


def distances_to_other_points(points: Floats, *, tol: float = 1e-2) -> tuple[Floats, Floats]:
    """Return bounds of the distance of each point to the hull of all the others."""
    slack = product_rounding(points.shape[1]) * np.linalg.norm(points, axis=1)

    def farthest(which: Ints, directions: Floats) -> tuple[Floats, Floats]:
        along = directions @ points.T + slack
        along[np.arange(len(which)), which] = -np.inf
        best = along.argmax(axis=1)
        return along[np.arange(len(which)), best], points[best]

    return distances_to_hulls(points, farthest, tol=tol)


# How far rows are from the hull or the cone of a few corners.

Model = Literal["hull", "hull and 0", "cone"]


def nearest_points(
    block: Matrix,
    corners: NDArray[np.floating],
    model: Model = "hull",
    divisors: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return squared distances of rows to conv(C), conv(C and 0) or cone(C), and nearest points.

    The points are weights of the corners, without that of 0. With `divisors` rows are divided by
    them first; where one is not positive the distance is zero.
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
