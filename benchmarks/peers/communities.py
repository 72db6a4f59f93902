"""Mixed-SCORE and SPACL, written as their papers have them: adjacency and k in, memberships out."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from sklearn.cluster import KMeans

from provenmf.applications.communities.embedding import embed
from provenmf.data import as_blocks
from provenmf.methods.separable.spa import spa


def share_out(found):
    """Nonnegative rows that sum to one; rows of zeros get the mean row."""
    found = np.maximum(found, 0.0)
    found[found < 1e-12] = 0.0
    sums = found.sum(axis=1, keepdims=True)
    scaled = np.divide(found, sums, out=np.zeros_like(found), where=sums > 0)
    scaled[sums[:, 0] == 0] = scaled[sums[:, 0] > 0].mean(axis=0)
    return scaled


def mixed_score(adjacency, k):
    """Mixed-SCORE, Jin, Ke & Luo 2024: ratios of eigenvectors, vertices among k-means centres.

    Vertex search is the successive projection among 10 k centres (their sketched vertex search).
    """
    found = embed(adjacency, k, energy=1.0)
    values, vectors = found.eigenvalues[:k], found.vectors
    order = np.argsort(-np.abs(values))
    values, vectors = values[order], vectors[:, order]
    first = vectors[:, 0] * np.sign(vectors[:, 0].sum())
    values = values * np.sign(values[0])
    safe = np.where(np.abs(first) > 1e-12, first, np.inf)
    most = np.log(len(first))
    ratios = np.clip(vectors[:, 1:] / safe[:, None], -most, most)
    centres = KMeans(10 * k, n_init=1, random_state=0).fit(ratios).cluster_centers_
    lifted = np.column_stack([np.ones(len(centres)), centres])
    vertices = centres[spa(as_blocks(lifted), k).anchors]
    corners = np.column_stack([np.ones(k), vertices])
    mixture = np.linalg.solve(corners.T, np.column_stack([np.ones(len(ratios)), ratios]).T).T
    # Their b₁: the length of each corner, from a constant diagonal of the block matrix.
    density = values[0] + (vertices**2) @ values[1:]
    return share_out(mixture * np.sqrt(np.maximum(density, 1e-12)))


def spacl(adjacency, k, *, neighbours=10, long=0.95, lonely=0.75):
    """SPACL, Mao, Sarkar & Chakrabarti 2021: long rows far from their neighbours are pruned."""
    vectors = embed(adjacency, k, energy=1.0).vectors
    lengths = np.linalg.norm(vectors, axis=1)
    outer = np.flatnonzero(lengths > np.quantile(lengths, long))
    distances = KDTree(vectors).query(vectors[outer], k=neighbours + 1)[0][:, 1:].mean(axis=1)
    pruned = outer[distances > np.quantile(distances, lonely)]
    kept = np.setdiff1d(np.arange(len(vectors)), pruned)
    corners = vectors[kept[spa(as_blocks(vectors[kept]), k).anchors]]
    return share_out(np.linalg.lstsq(corners.T, vectors.T, rcond=None)[0].T)
