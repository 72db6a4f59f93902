"""Nodes of a graph as points: rows of the leading eigenvectors of its adjacency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.spectral import with_fixed_signs
from provenmf.methods.separable.spa import spa

# Eigenvalues, and squared row lengths, that differ by less than this fraction are equal.
TIE = 1e-9
ROUGH = 1e-3  # of a residual; the eigenvalue itself is off by about its square
CLOSE = 1e-5  # eigenvalues that differ by less than this fraction choose their vectors at random
LEAST_LOAD = 0.02  # of a corner: rows with a smaller p·v are too uncertain to be pure nodes
ENERGY = 0.99  # share of the squared lengths that the searched nodes hold (Nguyen22, V-C)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Eigenvectors (n, k), the nodes kept for the search, and notes."""

    vectors: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    kept: NDArray[np.intp]
    notes: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the nodes that the eigenvectors describe."""
        return len(self.kept) / len(self.vectors)


def embed(adjacency: sp.csr_array, k: int, *, energy: float = ENERGY) -> Embedding:
    """Return the k leading eigenvectors, and the nodes that hold `energy` of their squares."""
    n = adjacency.shape[0]
    if not 1 <= k < n:
        raise InvalidInput(
            f"must be at least 1 and less than the {n} nodes", argument="n_communities", value=k
        )
    notes: list[str] = []
    values, vectors = _leading_eigenvectors(adjacency, k)
    supported = int(np.count_nonzero(np.abs(values) > n * np.finfo(float).eps * abs(values[0])))
    if supported < k:
        raise InvalidInput(
            f"is more than the spectrum supports: the adjacency has {supported} nonzero "
            "eigenvalues",
            argument="n_communities",
            value=k,
            remedy=f"choose {{argument}} <= {supported}",
        )
    if len(values) > k and abs(values[k - 1]) - abs(values[k]) < CLOSE * abs(values[0]):
        notes.append(
            f"eigenvalues {k} and {k + 1} have the same size, so the communities found are "
            "arbitrary; try another number"
        )
    pieces = connected_components(adjacency, directed=False)[0]
    if pieces > 1:
        notes.append(f"the graph is not connected: it has {pieces} separate pieces")
    kept = _nodes_with_energy(vectors, energy)
    eigenvalues = np.full(k + 1, np.nan)
    eigenvalues[: len(values)] = values
    return Embedding(vectors, eigenvalues, kept, tuple(notes))


def _leading_eigenvectors(
    adjacency: sp.csr_array, k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return up to k + 1 eigenvalues of largest size and the first k eigenvectors.

    Signs are fixed so that two runs agree. In a large graph the eigenvalue after the communities
    stands at the edge of a crowd, where an exact vector takes Lanczos thousands of products: it is
    sought by itself, roughly, and only its value.
    """
    n = adjacency.shape[0]
    if n <= max(200, 2 * k):
        values, vectors = np.linalg.eigh(adjacency.toarray())
        order = _by_size(values)[: k + 1]
        return values[order], _fixed(vectors[:, order[:k]])
    start, other = np.random.default_rng(0).standard_normal((2, n))
    try:
        values, vectors = eigsh(adjacency, k=k, which="LM", v0=start, tol=0)
    except ArpackNoConvergence as stopped:
        # An eigenvalue that is zero up to rounding never reaches a relative accuracy.
        values, vectors = stopped.eigenvalues, stopped.eigenvectors
        if len(values) == 0:
            raise
    order = _by_size(values)
    values, vectors = values[order], _fixed(vectors[:, order])

    def without_found(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(adjacency @ vector - vectors @ (values * (vector @ vectors)))

    rest = LinearOperator((n, n), matvec=without_found, dtype=np.float64)
    try:  # from another start: of an eigenvalue that repeats, each start sees one vector
        following = eigsh(rest, k=1, v0=other, tol=ROUGH, return_eigenvectors=False)
    except ArpackError:  # nothing is left
        following = np.zeros(1)
    return np.append(values, following), vectors


def _by_size(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Sort by absolute value; of λ and −λ, as in bipartite graphs, the positive one first."""
    return np.argsort(-np.abs(values) * (1 + TIE * (values > 0)), kind="stable")


def _fixed(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(with_fixed_signs(vectors.T).T)


def _nodes_with_energy(vectors: NDArray[np.float64], energy: float) -> NDArray[np.intp]:
    """Keep the longest rows until their squares pass the share, and those tied with the last."""
    squared = np.einsum("ij,ij->i", vectors, vectors)
    ordered = np.sort(squared)[::-1]
    needed = int(np.searchsorted(np.cumsum(ordered), energy * ordered.sum())) + 1
    last = ordered[min(needed, len(ordered)) - 1]
    return np.flatnonzero((squared >= last * (1 - TIE)) & (squared > 0))


def node_plane(
    embedding: Embedding, *, scale: bool
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the plane p·v = 1 that divides rows, zero if none does, and the nodes to search."""
    rows = embedding.vectors[embedding.kept]
    if not scale:
        return np.zeros(rows.shape[1]), embedding.kept
    anchors = spa(as_blocks(rows), rows.shape[1]).anchors
    assert anchors is not None  # SPA always chooses rows
    plane = np.linalg.lstsq(rows[anchors], np.ones(len(anchors)), rcond=None)[0]
    certain = embedding.kept[rows @ plane >= LEAST_LOAD]
    return plane.astype(np.float64), certain


def node_points(
    embedding: Embedding, plane: NDArray[np.float64], nodes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the matrix in which pure nodes are sought, a row for each of the nodes."""
    rows = embedding.vectors[nodes]
    return rows / (rows @ plane)[:, None] if plane.any() else rows
