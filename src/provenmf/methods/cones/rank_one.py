"""Leading right singular vector of each cluster of rows, all clusters at once.

For cluster k with rows X_k the unit vector v that maximises ‖X_k v‖, by Lanczos iteration on
X_kᵀX_k. One step of all clusters is one pass over the data and needs only the rows as they are:
no cluster is copied together, no singular value decomposition is made, blocks may be sparse or
on disk.

Lanczos starts from the sum of the cluster's rows. Rows are nonnegative, so the leading vector
may be taken nonnegative (Perron and Frobenius) and the sum is never orthogonal to it. After
`BASIS` steps it starts again from the best vector so far, which bounds the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, RowArray
from provenmf.linalg.scaling import unit_rows
from provenmf.methods.cones.clusters import combine_rows, gram_products

BASIS = 8
EXHAUSTED = 1e-12


def leading_directions(
    blocks: Blocks, labels: RowArray, n_clusters: int, *, tol: float, max_passes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit vectors (n_clusters, d), nonnegative, and relative residuals ‖Av − θv‖/θ, A = X_kᵀX_k.

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
    labels: RowArray,
    position: NDArray[np.intp],
    start: NDArray[np.float64],
    *,
    steps: int,
    tol: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """At most `steps` Lanczos steps for some clusters together: Ritz vectors, residuals, steps.

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
        alive = beta > EXHAUSTED * values[:, -1]
        vector = np.where(alive[:, None], remainder / np.where(alive, beta, 1.0)[:, None], 0.0)
    return unit_rows(np.einsum("kq,kqd->kd", best, known)), residuals, step + 1


def cluster_images(
    blocks: Blocks,
    labels: RowArray,
    position: NDArray[np.intp],
    vectors: NDArray[np.float64],
) -> NDArray[np.float64]:
    """One pass: X_kᵀ X_k v_k for every cluster k that has a position."""

    def images(block: Block, label: NDArray[np.intp]) -> NDArray[np.float64]:
        return gram_products(block, position[label], vectors)

    return np.asarray(blocks.map_reduce(images, labels))


def cluster_sums(
    blocks: Blocks, labels: RowArray, n_clusters: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """One pass: the sum of the rows of each cluster, and how many there are."""

    def sums(block: Block, label: NDArray[np.intp]) -> tuple[NDArray[np.float64], Any]:
        summed = combine_rows(block, label, np.ones(block.shape[0]), n_clusters)
        return summed, np.bincount(label[label >= 0], minlength=n_clusters)

    found, sizes = blocks.map_reduce(sums, labels)
    return np.asarray(found), sizes
