"""Products with the rows of each cluster, and the leading right singular vector of each cluster.

`labels` gives the cluster of each row; −1 belongs to none. `vectors` has one row per cluster.

For cluster k with rows X_k the leading vector is the unit vector v that maximizes ‖X_k v‖, found by
Lanczos iteration on X_kᵀX_k. One step of all clusters is one pass over the data: no cluster is
copied together, and blocks may be sparse or on disk. Lanczos starts from the sum of the cluster's
rows. Rows are nonnegative, so the leading vector may be taken nonnegative (Perron and Frobenius)
and the sum is never orthogonal to it. After `BASIS` steps it starts again from the best vector so
far, which bounds the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, Rows
from provenmf.linalg.norms import rows_of_a_slice, unit_rows
from provenmf.linalg.storage import Matrix, is_sparse

BASIS = 8  # Lanczos vectors of a cluster


def rows_of_clusters(
    labels: NDArray[np.intp], n_clusters: int
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield each cluster that has rows with their numbers."""
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    for cluster, (first, last) in enumerate(pairwise(ends)):
        if first < last:
            yield cluster, order[first:last]


def products_with_own_vector(
    block: Matrix, labels: NDArray[np.intp], vectors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ⟨x, v⟩ of each row x with the vector v of its cluster; 0 for a row of none."""
    products = np.zeros(block.shape[0])
    for cluster, rows in rows_of_clusters(labels, len(vectors)):
        products[rows] = block[rows] @ vectors[cluster]
    return products


def combine_rows(
    block: Matrix, labels: NDArray[np.intp], factors: NDArray[np.float64], n_clusters: int
) -> NDArray[np.float64]:
    """Return Σ factors[i] x_i over the rows i of each cluster, one row per cluster."""
    combined = np.zeros((n_clusters, block.shape[1]))
    for cluster, rows in rows_of_clusters(labels, n_clusters):
        combined[cluster] = factors[rows] @ block[rows]
    return combined


def leading_directions(
    blocks: Blocks, labels: Rows, n_clusters: int, *, tol: float, max_passes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nonnegative unit vectors and relative residuals ‖Av − θv‖/θ, A = X_kᵀX_k.

    The residual of a vector is at most `tol` unless `max_passes` were made before. The energy
    ‖X_k v‖² falls short of its maximum by a relative error of about the residual's square.
    """
    sums, sizes = cluster_sums(blocks, labels, n_clusters)
    vectors = unit_rows(sums)
    residuals = np.full(n_clusters, np.inf)
    active = np.flatnonzero(sizes > 1)
    residuals[np.setdiff1d(np.arange(n_clusters), active)] = 0.0  # one row: it is its own vector
    passes = 0
    while active.size and passes < max_passes:
        position = np.full(n_clusters + 1, -1)  # the last entry serves label −1
        position[active] = np.arange(active.size)
        steps = min(BASIS, max_passes - passes)
        vectors[active], residuals[active], used = lanczos(
            blocks, labels, position, vectors[active], steps=steps, tol=tol
        )
        passes += used
        active = active[residuals[active] > tol]
    return np.abs(vectors), residuals


def lanczos(
    blocks: Blocks,
    labels: Rows,
    position: NDArray[np.intp],
    start: NDArray[np.float64],
    *,
    steps: int,
    tol: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Make at most `steps` Lanczos steps: return Ritz vectors, residuals and steps made.

    `position` has the place of each cluster in `start`, −1 for those that are left out.
    """
    n_clusters = start.shape[0]
    basis = np.zeros((n_clusters, steps, start.shape[1]))
    projected = np.zeros((n_clusters, steps, steps))
    vector = start
    for step in range(steps):
        basis[:, step] = vector
        known = basis[:, : step + 1]
        image = cluster_images(blocks, labels, position, vector)
        overlap = np.einsum("kqd,kd->kq", known, image)
        projected[:, : step + 1, step] = projected[:, step, : step + 1] = overlap
        remainder = image - np.einsum("kq,kqd->kd", overlap, known)
        remainder -= np.einsum("kq,kqd->kd", np.einsum("kqd,kd->kq", known, remainder), known)
        beta = np.linalg.norm(remainder, axis=1)
        values, ritz = np.linalg.eigh(projected[:, : step + 1, : step + 1])
        best = ritz[:, :, -1]
        residuals = beta * np.abs(best[:, -1]) / np.maximum(values[:, -1], np.finfo(float).tiny)
        if residuals.max() <= tol:
            break
        # An exhausted cluster waits for the others: its remainder is rounding, not a direction.
        alive = beta > 1e-12 * values[:, -1]
        vector = np.where(alive[:, None], remainder / np.where(alive, beta, 1.0)[:, None], 0.0)
    return unit_rows(np.einsum("kq,kqd->kd", best, known)), residuals, step + 1


def cluster_images(
    blocks: Blocks,
    labels: Rows,
    position: NDArray[np.intp],
    vectors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return X_kᵀ X_k v_k in one pass for the rows X_k of every cluster k that has a position.

    Both products of a slice of dense rows are taken while it is in the cache.
    """

    def of_block(block: Block, label: NDArray[np.intp]) -> NDArray[np.float64]:
        images = np.zeros(vectors.shape)
        step = max(1, block.shape[0]) if is_sparse(block) else rows_of_a_slice(block.shape[1])
        for start in range(0, block.shape[0], step):
            some, clusters = block[start : start + step], position[label[start : start + step]]
            for cluster, rows in rows_of_clusters(clusters, len(vectors)):
                own = some[rows]
                images[cluster] += (own @ vectors[cluster]) @ own
        return images

    return np.asarray(blocks.map_reduce(of_block, labels))


def cluster_sums(
    blocks: Blocks, labels: Rows, n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the sum of the rows of each cluster and their number, in one pass."""

    def sums(block: Block, label: NDArray[np.intp]) -> tuple[NDArray[np.float64], Any]:
        summed = combine_rows(block, label, np.ones(block.shape[0]), n_clusters)
        return summed, np.bincount(label[label >= 0], minlength=n_clusters)

    found, sizes = blocks.map_reduce(sums, labels)
    return np.asarray(found), sizes


def similarity_decimals(dtype: np.dtype[Any]) -> int:
    """Return the decimals to which inner products of unit vectors are trusted."""
    return 12 if dtype == np.float64 else 5
