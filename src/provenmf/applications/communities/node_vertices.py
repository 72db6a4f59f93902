"""Corners of the nodes' simplex, averaged over the nodes that lie at them within their noise.

With A = P + noise and P = V Λ Vᵀ, an eigenvector's row is off by (noise row) V Λ⁻¹ to first order.
Links are independent, and a link's variance is about its expected value, so that node i has the
error covariance Λ⁻¹ (Σ_j A_ij v_j v_jᵀ) Λ⁻¹: known from the graph itself.

Degrees multiply rows. Under the degree-corrected model (Jin, Ke & Luo 2024) v_i = δ_i θ_i C. What
tells the lengths of the corners C is that communities are equally dense inside: the diagonal of
C Λ Cᵀ is constant. Points are divided by p·v as before pure nodes are sought; then θ follows from
the nearest mixture of the corners, its weights divided by the corners' lengths.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.communities.clouds import averaged_with_covariances
from provenmf.linalg.nnls import simplex_least_squares

Floats = NDArray[np.float64]

LEAST_DENSITY = 1e-6  # smaller densities are raised to this share of the largest
LEAST_LOAD = 1e-9  # nothing is known of a node whose p·v is below this share of the largest
# Averaging assumes that the eigenvectors describe the graph, not a few dense corners of it.
LEAST_SHARE = 0.5
FEW = 8  # communities looked for first: the more eigenvalues, the longer they take
COUNTED = 1e-4  # accuracy of the eigenvalues that are counted
MOST_AVERAGED = 100_000  # nodes with a covariance each in memory


def link_covariances(
    adjacency: sp.csr_array, vectors: Floats, eigenvalues: Floats, nodes: NDArray[np.intp]
) -> Floats:
    """Error covariances (nodes, k, k) of rows of the eigenvectors."""
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
    """Error covariances (nodes, k, k) of the points v / p·v.

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
    """Corners (k, k) of the points v / p·v, how many nodes each is the mean of, and covariances.

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
    """Lengths (k,) that make all communities equally dense inside, C Λ Cᵀ having the diagonal one.

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
    """Memberships of all nodes, and which of them nothing is known of; those get the mean."""
    lengths = corner_lengths(corners, eigenvalues)
    loads = vectors @ plane
    known = loads > LEAST_LOAD * np.abs(loads).max()
    found = np.zeros_like(vectors)
    points = vectors[known] / loads[known, None]
    found[known] = simplex_least_squares(corners @ corners.T, points @ corners.T) * lengths
    found[known] /= found[known].sum(axis=1, keepdims=True)
    found[~known] = found[known].mean(axis=0)
    return found, ~known


def number_of_communities(adjacency: sp.csr_array, *, most: int = 50) -> int:
    """How many communities the links show beyond chance, at least one.

    Negative eigenvalues of the Bethe Hessian (r² − 1) I − r A + D, with r² the mean number of
    further links at the end of a link (Saade, Krzakala & Zdeborová 2014; Le & Levina 2022).
    """
    from scipy.sparse.linalg import eigsh

    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    n, total = len(degrees), degrees.sum()
    squared = max((degrees**2).sum() / total - 1.0, 1.0) if total > 0 else 1.0
    typical = squared - 1.0 + total / n
    # The typical diagonal entry minus the Hessian: tolerances relative to its eigenvalues hold for
    # those near the border too, where the Hessian has values near zero.
    shifted = sp.csr_array(sp.diags_array(total / n - degrees) + np.sqrt(squared) * adjacency)
    if n <= max(300, 3 * most):
        return _between_one_and(most, np.linalg.eigvalsh(shifted.toarray()) > typical)
    start = np.random.default_rng(0).standard_normal(n)
    for wanted in (min(FEW, most), most):
        values = eigsh(
            shifted, k=wanted, which="LA", v0=start, return_eigenvectors=False, tol=COUNTED
        )
        if values.min() <= typical:
            break
    return _between_one_and(most, values > typical)


def _between_one_and(most: int, counted: NDArray[np.bool_]) -> int:
    return max(1, min(int(np.count_nonzero(counted)), most))
