"""Corners of the nodes' simplex, averaged over the nodes that lie at them within their noise.

With A = P + noise and P = V Λ Vᵀ, an eigenvector's row is off by (noise row) V Λ⁻¹ to first
order. Links are independent, and a link's variance is about its expected value, so that node i
has the error covariance Λ⁻¹ (Σ_j A_ij v_j v_jᵀ) Λ⁻¹: known from the graph itself.

Degrees multiply rows. Under the degree-corrected model (Jin, Ke & Luo 2024) v_i = δ_i θ_i C. What
tells the lengths of the corners C is that communities are equally dense inside: the diagonal of
C Λ Cᵀ is constant. Points are divided by p·v as before pure nodes are sought; then θ follows from
the nearest mixture of the corners, its weights divided by the corners' lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from provenmf.linalg.nnls import simplex_least_squares
from provenmf.results.estimates import CONFIDENCE, ErrorBars

# Vertices of rows whose noise has a known covariance, such as nodes of a graph.
#
# Like `vertices.py`, with a matrix of errors for each row in place of a number. A row is a member
# of its nearest vertex v, by Mahalanobis distance, if noise of the row's own covariance S would
# carry a pure row that far one time in ten,
#
#     (x − v) S⁻¹ (x − v)ᵀ ≤ the 90 % quantile of χ² with `freedom` degrees,
#
# and the vertex becomes the mean of its members, weighted by their inverse covariances.

Floats = NDArray[np.float64]

NINE_IN_TEN = 0.9
ROUNDS = 8
RIDGE = 1e-2  # of the mean variance, so that a row of few links is never sure of a direction


def averaged_with_covariances(
    points: Floats, start: Floats, covariances: Floats, *, freedom: int
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return vertices (k, d), each the precision-weighted mean of its members; how many those are.

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
    largest = float(chi2.ppf(NINE_IN_TEN, freedom))
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
    """Return the nearest vertex of each row, −1 where even that is farther than noise explains."""
    distances = np.empty((len(points), len(vertices)))
    for j, vertex in enumerate(vertices):
        away = points - vertex
        distances[:, j] = ((precisions @ away[:, :, None])[:, :, 0] * away).sum(axis=1)
    nearest = distances.argmin(axis=1)
    return np.where(distances.min(axis=1) <= largest, nearest, -1)


def inverses(covariances: Floats) -> Floats:
    """Return inverse covariances, each with a ridge of 1 % of its mean variance."""
    size = covariances.shape[1]
    means = np.trace(covariances, axis1=1, axis2=2) / size
    ridge = np.where(means > 0, RIDGE * means, 1.0)
    widened = covariances + ridge[:, None, None] * np.eye(size)
    return np.linalg.inv(widened).astype(np.float64, copy=False)


LEAST_DENSITY = 1e-6  # smaller densities are raised to this share of the largest
LEAST_LOAD = 1e-9  # nothing is known of a node whose p·v is below this share of the largest
MOST_AVERAGED = 100_000  # nodes with a covariance each in memory


def link_covariances(
    adjacency: sp.csr_array, vectors: Floats, eigenvalues: Floats, nodes: NDArray[np.intp]
) -> Floats:
    """Return error covariances (nodes, k, k) of rows of the eigenvectors."""
    k, links = vectors.shape[1], adjacency[nodes]
    sums = np.empty((len(nodes), k, k))
    for a in range(k):  # a row at a time: all products of all nodes would not fit
        sums[:, a, a:] = links @ (vectors[:, a, None] * vectors[:, a:])
        sums[:, a:, a] = sums[:, a, a:]
    return sums / np.multiply.outer(eigenvalues, eigenvalues)


def point_covariances(
    adjacency: sp.csr_array,
    vectors: Floats,
    eigenvalues: Floats,
    nodes: NDArray[np.intp],
    plane: Floats,
) -> Floats:
    """Return error covariances (nodes, k, k) of the points v / p·v.

    To first order the division moves a point x by (I − x pᵀ) times the error of its row.
    """
    rows = vectors[nodes]
    loads = rows @ plane
    slope = np.eye(rows.shape[1]) - (rows / loads[:, None])[:, :, None] * plane[None, None, :]
    covariances = link_covariances(adjacency, vectors, eigenvalues, nodes)
    return slope @ covariances @ slope.transpose(0, 2, 1) / loads[:, None, None] ** 2


def averaged_corners(
    adjacency: sp.csr_array,
    vectors: Floats,
    eigenvalues: Floats,
    nodes: NDArray[np.intp],
    anchors: NDArray[np.intp],
    plane: Floats,
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return corners (k, k) of the points v / p·v, how many nodes each averages, and covariances.

    Parameters
    ----------
    nodes : those whose p·v is not negligible; anchors : positions among them.
    plane : p.

    Of very many nodes the means of every second, third, … are as good.
    """
    every = -(-len(nodes) // MOST_AVERAGED)
    pure, nodes = nodes[anchors], nodes[::every]
    rows = vectors[nodes]
    points = rows / (rows @ plane)[:, None]
    covariances = point_covariances(adjacency, vectors, eigenvalues, nodes, plane)
    freedom = max(1, vectors.shape[1] - 1)
    start = vectors[pure] / (vectors[pure] @ plane)[:, None]
    return averaged_with_covariances(points, start, covariances, freedom=freedom)


def corner_lengths(corners: Floats, eigenvalues: Floats) -> Floats:
    """Return lengths (k,) that make all communities equally dense: C Λ Cᵀ has a unit diagonal.

    Equal lengths where a community has no links inside, as in a bipartite graph.
    """
    density = np.einsum("ij,j,ij->i", corners, eigenvalues, corners)
    size = np.einsum("ij,j,ij->i", corners, np.abs(eigenvalues), corners)
    if (density <= LEAST_DENSITY * size).all():
        return np.ones(len(corners))
    return np.asarray(np.sqrt(np.maximum(density, LEAST_DENSITY * np.abs(density).max())))


def memberships_in_plane(
    vectors: Floats, eigenvalues: Floats, corners: Floats, plane: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return memberships of all nodes, and which are unknown; those get the mean."""
    lengths = corner_lengths(corners, eigenvalues)
    loads = vectors @ plane
    known = loads > LEAST_LOAD * np.abs(loads).max()
    found = np.zeros_like(vectors)
    points = vectors[known] / loads[known, None]
    found[known] = simplex_least_squares(corners @ corners.T, points @ corners.T) * lengths
    found[known] /= found[known].sum(axis=1, keepdims=True)
    found[~known] = found[known].mean(axis=0)
    return found, ~known


# Standard errors of memberships, by the delta method.
#
# A node's point x = v / p·v mixes the corners C with weights b = x C⁻¹, and its memberships are θ_m
# = b_m ℓ_m / Σ b ℓ with the corners' lengths ℓ_j = √(c_j Λ c_jᵀ). To first order, with s = Σ b ℓ,
#
#     dθ = J db + Σ_j b_j (e_j − θ) dℓ_j / s,    J = (diag ℓ − θ ℓᵀ) / s,
#     db = (dx − b dC) C⁻¹,                      dℓ_j = dc_j · (c_j Λ) / ℓ_j.
#
# The error of x comes from the node's own links (`link_covariances`), that of a corner from the
# nodes it is the mean of; both are taken as independent. A network is seen once, so that there are
# no nodes to draw anew: a node drawn twice would be its own neighbour.

BLOCK = 20_000  # nodes at a time
ASSUMES = (
    "links are independent with the probabilities of the mixed-membership model, communities are "
    "equally dense inside, and the corners found are off by chance alone"
)


@dataclass(frozen=True, eq=False)
class NodeModel:
    """What memberships rest on: eigenpairs, the plane, the corners and their covariances."""

    adjacency: sp.csr_array
    vectors: Floats
    eigenvalues: Floats
    plane: Floats
    corners: Floats
    corner_covariances: Floats


def membership_error_bars(
    model: NodeModel, memberships: Floats, undetermined: NDArray[np.bool_]
) -> ErrorBars:
    """Return standard errors and intervals of all memberships."""
    errors = np.full_like(memberships, np.inf)
    known = np.flatnonzero(~undetermined)
    for start in range(0, len(known), BLOCK):
        nodes = known[start : start + BLOCK]
        errors[nodes] = np.sqrt(_variances(model, memberships[nodes], nodes))
    quantile = float(norm.ppf((1 + CONFIDENCE) / 2))
    lower = np.clip(memberships - quantile * errors, 0.0, 1.0)
    upper = np.clip(memberships + quantile * errors, 0.0, 1.0)
    return ErrorBars(errors, lower, upper, "weights", ASSUMES)


def _variances(model: NodeModel, memberships: Floats, nodes: NDArray[np.intp]) -> Floats:
    """Return squared standard errors (nodes, k)."""
    corners = model.corners
    if np.linalg.matrix_rank(corners) < len(corners):  # nothing is known of the memberships
        return np.full(memberships.shape, np.inf)
    inverse = np.linalg.inv(corners)
    lengths = corner_lengths(corners, model.eigenvalues)
    mixture = memberships / lengths
    mixture /= mixture.sum(axis=1, keepdims=True)
    sums = mixture @ lengths
    slope = np.eye(len(corners)) * lengths - memberships[:, :, None] * lengths
    slope /= sums[:, None, None]
    of_points = slope @ inverse.T  # dθ = of_points dx
    own = point_covariances(model.adjacency, model.vectors, model.eigenvalues, nodes, model.plane)
    variances = ((of_points @ own) * of_points).sum(axis=2)
    for j, covariance in enumerate(model.corner_covariances):
        along = corners[j] * model.eigenvalues / lengths[j]
        stretch = np.eye(len(corners))[j] - memberships
        of_corner = (stretch / sums[:, None])[:, :, None] * along - of_points
        of_corner *= mixture[:, j, None, None]
        variances += ((of_corner @ covariance) * of_corner).sum(axis=2)
    return np.asarray(np.maximum(variances, 0.0))
