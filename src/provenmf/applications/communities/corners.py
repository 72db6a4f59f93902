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

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CornerSettings:
    """Numbers of the averaging."""

    inside: float = 0.9  # of the noise of a pure node; more would let mixed nodes in
    rounds: int = 8  # members seldom change after four
    ridge: float = 1e-2  # of the mean variance: a node of few links is never sure of a direction
    least_density: float = 1e-6  # of the largest; guards a square root
    least_load: float = 1e-9  # of the largest p·v; rounding below
    most_nodes: int = 100_000  # with a covariance each in memory; of more, every second, third, …
    block: int = 20_000  # nodes whose standard errors are found together


SETTINGS = CornerSettings()


@dataclass(frozen=True, eq=False)
class NodeModel:
    """Eigenpairs (n, k) and (k,) of an adjacency, and the plane p·v = 1 of the points v / p·v."""

    adjacency: sp.csr_array
    vectors: Floats
    eigenvalues: Floats
    plane: Floats

    def points(self, nodes: NDArray[np.intp]) -> Floats:
        """Return the points of some nodes (nodes, k)."""
        rows = self.vectors[nodes]
        return np.asarray(rows / (rows @ self.plane)[:, None])

    def covariances(self, nodes: NDArray[np.intp]) -> Floats:
        """Return error covariances (nodes, k, k) of the points.

        To first order the division moves a point x by (I − x pᵀ) times the error of its row.
        """
        points = self.points(nodes)
        slope = np.eye(points.shape[1]) - points[:, :, None] * self.plane
        loads = self.vectors[nodes] @ self.plane
        of_rows = link_covariances(self.adjacency, self.vectors, self.eigenvalues, nodes)
        return np.asarray(slope @ of_rows @ slope.transpose(0, 2, 1) / loads[:, None, None] ** 2)


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


def averaged_corners(
    model: NodeModel, nodes: NDArray[np.intp], anchors: NDArray[np.intp]
) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Return corners (k, k), how many nodes each averages, and covariances of the corners.

    A node x is a member of its nearest corner c, by Mahalanobis distance, if noise of the node's
    own covariance S would carry a pure node that far one time in ten,

        (x − c) S⁻¹ (x − c)ᵀ ≤ the 90 % quantile of χ² with k − 1 degrees of freedom,

    and the corner becomes the mean of its members, weighted by their inverse covariances. The
    covariance of a corner is the inverse of the sum of these, or that of its node without members.

    Parameters
    ----------
    nodes : those whose p·v is not negligible; anchors : positions among them, near the corners.
    """
    start, nodes = model.points(nodes[anchors]), nodes[:: -(-len(nodes) // SETTINGS.most_nodes)]
    points, precisions = model.points(nodes), inverses(model.covariances(nodes))
    largest = float(chi2.ppf(SETTINGS.inside, max(1, points.shape[1] - 1)))
    corners, own = start.copy(), np.full(len(points), -1)
    for _ in range(SETTINGS.rounds):
        before, own = own, members(points, corners, precisions, largest)
        if np.array_equal(own, before):
            break
        for j in np.unique(own[own >= 0]).tolist():
            at = own == j
            pulls = np.einsum("nab,nb->a", precisions[at], points[at])
            corners[j] = np.linalg.solve(precisions[at].sum(axis=0), pulls)
    counts = np.bincount(own[own >= 0], minlength=len(start))
    totals = np.array([precisions[own == j].sum(axis=0) for j in range(len(start))])
    for j in np.flatnonzero(counts == 0):
        totals[j] = precisions[np.argmin(((points - start[j]) ** 2).sum(axis=1))]
    return corners, counts, np.linalg.inv(totals)


def members(
    points: Floats, corners: Floats, precisions: Floats, largest: float
) -> NDArray[np.intp]:
    """Return the nearest corner of each point; −1 where it is farther than noise explains."""
    distances = np.empty((len(points), len(corners)))
    for j, corner in enumerate(corners):
        away = points - corner
        distances[:, j] = ((precisions @ away[:, :, None])[:, :, 0] * away).sum(axis=1)
    return np.where(distances.min(axis=1) <= largest, distances.argmin(axis=1), -1)


def inverses(covariances: Floats) -> Floats:
    """Return inverse covariances, each with a ridge of 1 % of its mean variance."""
    size = covariances.shape[1]
    means = np.trace(covariances, axis1=1, axis2=2) / size
    ridge = np.where(means > 0, SETTINGS.ridge * means, 1.0)
    return np.asarray(np.linalg.inv(covariances + ridge[:, None, None] * np.eye(size)))


def corner_lengths(corners: Floats, eigenvalues: Floats) -> Floats:
    """Return lengths (k,) that make all communities equally dense: C Λ Cᵀ has a unit diagonal.

    Equal lengths where a community has no links inside, as in a bipartite graph.
    """
    density = np.einsum("ij,j,ij->i", corners, eigenvalues, corners)
    size = np.einsum("ij,j,ij->i", corners, np.abs(eigenvalues), corners)
    if (density <= SETTINGS.least_density * size).all():
        return np.ones(len(corners))
    return np.asarray(np.sqrt(np.maximum(density, SETTINGS.least_density * np.abs(density).max())))


def memberships_in_plane(model: NodeModel, corners: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return memberships of all nodes, and which are unknown; those get the mean."""
    loads = model.vectors @ model.plane
    known = loads > SETTINGS.least_load * np.abs(loads).max()
    found, points = np.zeros_like(model.vectors), model.points(np.flatnonzero(known))
    mixture = simplex_least_squares(corners @ corners.T, points @ corners.T)
    mixture *= corner_lengths(corners, model.eigenvalues)
    found[known] = mixture / mixture.sum(axis=1, keepdims=True)
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
# no nodes to resample: a node drawn twice would be its own neighbour.

ASSUMES = (
    "links are independent with the probabilities of the mixed-membership model, communities are "
    "equally dense inside, and the corners found are off by chance alone"
)


def membership_error_bars(
    model: NodeModel,
    corners: Floats,
    covariances: Floats,
    memberships: Floats,
    undetermined: NDArray[np.bool_],
) -> ErrorBars:
    """Return standard errors and intervals of all memberships, from the corners' covariances."""
    errors = np.full_like(memberships, np.inf)
    if np.linalg.matrix_rank(corners) == len(corners):  # else nothing is known of the memberships
        known = np.flatnonzero(~undetermined)
        for start in range(0, len(known), SETTINGS.block):
            nodes = known[start : start + SETTINGS.block]
            variances = _variances(model, corners, covariances, memberships[nodes], nodes)
            errors[nodes] = np.sqrt(variances)
    quantile = float(norm.ppf((1 + CONFIDENCE) / 2))
    lower = np.clip(memberships - quantile * errors, 0.0, 1.0)
    upper = np.clip(memberships + quantile * errors, 0.0, 1.0)
    return ErrorBars(errors, lower, upper, "weights", ASSUMES)


def _variances(
    model: NodeModel,
    corners: Floats,
    covariances: Floats,
    memberships: Floats,
    nodes: NDArray[np.intp],
) -> Floats:
    """Return squared standard errors (nodes, k)."""
    k, inverse = len(corners), np.linalg.inv(corners)
    lengths = corner_lengths(corners, model.eigenvalues)
    mixture = memberships / lengths
    mixture /= mixture.sum(axis=1, keepdims=True)
    sums = (mixture @ lengths)[:, None, None]
    slope = (np.eye(k) * lengths - memberships[:, :, None] * lengths) / sums
    of_points = slope @ inverse.T  # dθ = of_points dx
    variances = ((of_points @ model.covariances(nodes)) * of_points).sum(axis=2)
    for j, covariance in enumerate(covariances):
        along = corners[j] * model.eigenvalues / lengths[j]
        of_corner = (np.eye(k)[j] - memberships)[:, :, None] / sums * along - of_points
        of_corner *= mixture[:, j, None, None]
        variances += ((of_corner @ covariance) * of_corner).sum(axis=2)
    return np.asarray(np.maximum(variances, 0.0))
