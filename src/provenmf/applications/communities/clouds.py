"""Vertices of rows whose noise has a known covariance, such as nodes of a graph.

Like `vertices.py`, with a matrix of errors for each row in place of a number. A row is a member of
its nearest vertex v, by Mahalanobis distance, if noise of the row's own covariance S would carry a
pure row that far one time in ten,

    (x − v) S⁻¹ (x − v)ᵀ ≤ the 90 % quantile of χ² with `freedom` degrees,

and the vertex becomes the mean of its members, weighted by their inverse covariances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

Floats = NDArray[np.float64]

CONFIDENCE = 0.9
ROUNDS = 8
RIDGE = 1e-2  # of the mean variance, so that a row of few links is never sure of a direction


def averaged_with_covariances(
    points: Floats, start: Floats, covariances: Floats, *, freedom: int
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Vertices (k, d), each the precision-weighted mean of its members; how many those are.

    Last, the covariances (k, d, d) of the vertices: the inverse of their members' precisions, or
    that of the row itself where a vertex has no members.

    Parameters
    ----------
    points : (n, d), mixtures of the vertices plus noise.
    start : (k, d), rows near the vertices.
    covariances : (n, d, d), of each row's noise.
    freedom : dimensions of the noise; d, or d − 1 where the points lie in a plane.
    """
    precisions = inverses(covariances)
    largest = float(chi2.ppf(CONFIDENCE, freedom))
    vertices = start.copy()
    own = np.full(len(points), -1)
    for _ in range(ROUNDS):
        before, own = own, members(points, vertices, precisions, largest)
        if np.array_equal(own, before):
            break
        for j in np.unique(own[own >= 0]).tolist():
            at = own == j
            pulls = np.einsum("nab,nb->a", precisions[at], points[at])
            vertices[j] = np.linalg.solve(precisions[at].sum(axis=0), pulls)
    counts = np.bincount(own[own >= 0], minlength=len(start))
    totals = np.array([precisions[own == j].sum(axis=0) for j in range(len(start))])
    alone = np.flatnonzero(counts == 0)
    nearest = [int(np.argmin(((points - start[j]) ** 2).sum(axis=1))) for j in alone]
    totals[alone] = precisions[nearest]
    return vertices, counts, np.linalg.inv(totals)


def members(
    points: Floats, vertices: Floats, precisions: Floats, largest: float
) -> NDArray[np.intp]:
    """The nearest vertex of each row, −1 where even that is farther than noise explains."""
    distances = np.empty((len(points), len(vertices)))
    for j, vertex in enumerate(vertices):
        away = points - vertex
        distances[:, j] = np.einsum("na,nab,nb->n", away, precisions, away)
    nearest = distances.argmin(axis=1)
    return np.where(distances.min(axis=1) <= largest, nearest, -1)


def inverses(covariances: Floats) -> Floats:
    """Inverse covariances, each with a ridge of its own size; rows without noise count as one."""
    size = covariances.shape[1]
    means = np.trace(covariances, axis1=1, axis2=2) / size
    ridge = np.where(means > 0, RIDGE * means, 1.0)
    widened = covariances + ridge[:, None, None] * np.eye(size)
    return np.linalg.inv(widened).astype(np.float64, copy=False)
