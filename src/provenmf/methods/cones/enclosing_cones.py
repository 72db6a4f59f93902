"""Smallest circular cones around clusters of nonnegative rows.

The cone with axis u contains a row x if their angle is at most its size angle. For unit vectors
z_i, max_u min_i ⟨u, z_i⟩ = min over the convex hull of the z_i of the length (minimax), so the
best axis is the direction of the hull's shortest point p, and for *any* point p of the hull

    arccos ‖p‖  ≤  smallest size angle  ≤  largest angle of a row to p.

The left side says how much a better axis could gain; the right side is measured over all rows,
rounding allowed for, and is what is claimed. Each pass measures all rows and hands the worst
ones of each cluster to an exact active-set solver.

Rounding: a sum of n nonnegative products of floating-point numbers has a relative error below n·u,
u the unit roundoff, whatever the order of summation. The cosine ⟨x, y⟩/(‖x‖‖y‖) of vectors
with n nonnegative entries is therefore known within a factor 1 ± (2n + 8)u, and with it an interval
that contains the true angle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.linalg.nnls import simplex_least_squares
from provenmf.linalg.norms import unit_rows
from provenmf.linalg.storage import as_dense
from provenmf.methods.cones.kernels import combine_rows, products_with_own_vector

_EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff, to be safe


def cosine_error(n_terms: int) -> float:
    """Return the relative error of a cosine of nonnegative vectors with `n_terms` entries."""
    return (2 * n_terms + 8) * _EPS


def angle_at_most(cosine: NDArray[np.floating] | float, n_terms: int) -> NDArray[np.float64]:
    """Return an angle that the true one does not exceed."""
    lowered = np.clip(np.asarray(cosine) * (1 - cosine_error(n_terms)), 0.0, 1.0)
    return np.arccos(lowered) * (1 + 4 * _EPS)


def angle_at_least(cosine: NDArray[np.floating] | float, n_terms: int) -> NDArray[np.float64]:
    """Return an angle that the true one does not fall below."""
    raised = np.clip(np.asarray(cosine) * (1 + cosine_error(n_terms)), 0.0, 1.0)
    return np.arccos(raised) * (1 - 4 * _EPS)


@dataclass(frozen=True)
class EnclosingCones:
    """Cones around clusters.

    axes : unit vectors (k, d); angles : size angles that surely suffice; least_angles : no axis
    does better than these. A cluster without rows has a zero axis and zero angles.
    """

    axes: NDArray[np.float64]
    angles: NDArray[np.float64]
    least_angles: NDArray[np.float64]


def smallest_cones(
    blocks: Blocks,
    labels: NDArray[np.intp],
    lengths: NDArray[np.float64],
    n_clusters: int,
    *,
    tol: float = 1e-6,
) -> EnclosingCones:
    """Enclose all clusters in cones, each within `tol` radians of the smallest possible.

    After 30 passes, or where more than 128 rows decide about an axis, the search ends sooner: the
    cones are still right, only less tight.
    """
    members = [np.flatnonzero(labels == k) for k in range(n_clusters)]
    support = [np.empty(0, dtype=np.intp)] * n_clusters
    inverse = 1.0 / np.where((labels >= 0) & (lengths > 0), lengths, 1.0)

    def sums(block: Block, label: NDArray[np.intp], factor: NDArray[np.float64]) -> Any:
        return combine_rows(block, label, factor, n_clusters)

    trial = unit_rows(blocks.map_reduce(sums, labels, inverse))
    axes = trial.copy()
    angles = np.where([rows.size > 0 for rows in members], np.pi / 2, 0.0)
    least = np.zeros(n_clusters)
    open_clusters = np.flatnonzero(angles > 0)
    for _ in range(30):
        cosines = cosines_to_own_axis(blocks, labels, lengths, trial)
        for k in open_clusters:
            reached = float(angle_at_most(cosines[members[k]].min(), blocks.n_columns))
            if reached < angles[k]:
                angles[k], axes[k] = reached, trial[k]
        few = np.array([support[k].size <= 128 for k in open_clusters])
        open_clusters = open_clusters[few & (angles - least > tol)[open_clusters]]
        if not open_clusters.size:
            break
        for k in open_clusters:
            worst = members[k][np.argsort(cosines[members[k]], kind="stable")[:32]]
            candidates = np.union1d(support[k], worst)
            weights, trial[k], lower = best_axis(blocks.take(candidates), lengths[candidates])
            support[k] = candidates[weights > 0]
            least[k] = max(least[k], lower)
    return EnclosingCones(axes, angles, np.minimum(least, angles))


def best_axis(
    block: Block, lengths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return hull weights, unit axis, and the least size angle of cones around the rows."""
    gram = as_dense(block.astype(np.float64) @ block.T)
    unit_gram = gram / np.outer(lengths, lengths)
    weights = simplex_least_squares(unit_gram, np.zeros((1, len(gram))))[0]  # of the shortest point
    point = np.asarray((weights / lengths) @ block, dtype=np.float64)
    length = float(np.linalg.norm(point))
    return weights, point / length, float(np.arccos(min(1.0, length)))


def cosines_to_own_axis(
    blocks: Blocks,
    labels: NDArray[np.intp],
    lengths: NDArray[np.float64],
    axes: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the cosine of each row's angle to the axis of its cluster, in one pass."""

    def products(block: Block, label: NDArray[np.intp]) -> NDArray[np.float64]:
        return products_with_own_vector(block, label, axes)

    return blocks.map_rows(products, labels) / np.where(lengths > 0, lengths, 1.0)
