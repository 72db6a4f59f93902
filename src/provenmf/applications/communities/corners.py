"""Corners of the nodes' simplex, averaged over the nodes that lie at them within their noise.

With A = P + noise and P = V Λ Vᵀ, an eigenvector's row is off by (noise row) V Λ⁻¹ to first
order. Links are independent, and a link's variance is about its expected value, so that entry a of
row i has the variance Σ_j A_ij v_ja² / λ_a²: known from the graph itself. The noise of a node is
the root of its mean over a.

Degrees multiply rows. Under the degree-corrected model (Jin, Ke & Luo 2024) v_i = δ_i θ_i C. What
tells the lengths of the corners C is that communities are equally dense inside: the diagonal of
C Λ Cᵀ is constant. Points are divided by p·v as before pure nodes are sought; then θ follows from
the nearest mixture of the corners, its weights divided by the corners' lengths.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.applications.communities.embedding import Embedding, node_points
from provenmf.data import as_blocks
from provenmf.linalg.nnls import simplex_least_squares
from provenmf.methods.separable.vertices import Vertices, average_vertices

Floats = NDArray[np.float64]

# Noise of a pure node is within this nine times in ten. Wider is better where four nodes in ten are
# pure, and worse where one is; narrower the other way round.
INNER = 1.64
LEAST_DENSITY = 1e-6  # of the largest; guards a square root
LEAST_LOAD = 1e-9  # of the largest p·v; rounding below


def averaged_corners(
    adjacency: sp.csr_array,
    embedding: Embedding,
    plane: Floats,
    nodes: NDArray[np.intp],
    anchors: NDArray[np.intp],
) -> Vertices:
    """Return corners (k, k), averaged over the nodes that lie at them.

    Parameters
    ----------
    nodes : those whose p·v is not negligible; anchors : positions among them, near the corners.
    """
    vectors, eigenvalues = embedding.vectors, embedding.eigenvalues[:-1]
    variances = (adjacency @ vectors**2)[nodes] / eigenvalues**2
    errors = np.sqrt(variances.mean(axis=1)) / (vectors[nodes] @ plane)
    points = as_blocks(node_points(embedding, plane, nodes))
    return average_vertices(points, anchors, errors, inner=INNER)


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
    embedding: Embedding, plane: Floats, corners: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return memberships of all nodes, and which are unknown; those get the mean."""
    loads = embedding.vectors @ plane
    known = loads > LEAST_LOAD * np.abs(loads).max()
    points = node_points(embedding, plane, np.flatnonzero(known))
    mixture = simplex_least_squares(corners @ corners.T, points @ corners.T)
    mixture *= corner_lengths(corners, embedding.eigenvalues[:-1])
    found = np.zeros_like(embedding.vectors)
    found[known] = mixture / mixture.sum(axis=1, keepdims=True)
    found[~known] = found[known].mean(axis=0)
    return found, ~known
