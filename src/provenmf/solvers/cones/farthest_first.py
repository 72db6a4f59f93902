"""Farthest-first choice of centroids among the directions of the rows.

Liu and Tan (2017), Algorithm 1, steps 1 to 3: the next centroid is the row whose largest inner
product with the centroids chosen so far, all at unit length, is smallest (their Eq. (2)).

Differs: the paper reads all rows once for every centroid. The largest inner product of a row
can only grow, so its value from an earlier pass is a lower bound. A pass therefore collects a
*pool* of the farthest rows, and as long as the farthest row of the pool comes before every row
outside it, that row is the farthest of all and needs no further pass. The centroids are the
paper's; the passes are few, and each is one matrix product with all new centroids.

Inner products are compared after rounding to `decimals`, and equal ones go to the lowest row:
the last bits depend on how the rows are cut into blocks and shall decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.storage import as_dense

# Enough rows to choose dozens of centroids between two passes, few enough to stay in cache.
POOL_ROWS = 256


@dataclass
class Pool:
    """The farthest rows in ascending order, and the first row outside that could precede them."""

    rows: NDArray[np.intp]
    block: Block
    lengths: NDArray[np.float64]
    similarity: NDArray[np.float64]
    outside: tuple[float, int]

    def farthest(self, decimals: int) -> tuple[int, float] | None:
        """The farthest row of all and its similarity; None if a row outside may be farther."""
        rounded = np.round(self.similarity, decimals)
        position = int(np.argmin(rounded))
        row = int(self.rows[position])
        if (float(rounded[position]), row) < self.outside:
            return row, float(self.similarity[position])
        return None

    def meet(self, centroid: NDArray[np.floating]) -> None:
        """Let the rows of the pool know a new centroid."""
        self.similarity = np.maximum(self.similarity, self.block @ centroid / self.lengths)


def farthest_first(
    blocks: Blocks,
    lengths: NDArray[np.float64],
    first: int,
    decimals: int,
    steps: Iterable[int],
    *,
    pool_rows: int = POOL_ROWS,
) -> Iterable[tuple[int, NDArray[np.floating], float]]:
    """Yield (row, unit vector, similarity to the centroids before it), farthest row first.

    `lengths` are those of the rows; rows of length zero have no direction and are never chosen.
    The first centroid is given and has similarity −1. Ends with `steps`, or when every row has
    the direction of a centroid, to `decimals`. The result does not depend on `pool_rows`.
    """
    directed = lengths > 0
    safe_lengths = np.where(directed, lengths, 1.0)
    similarity = np.where(directed, -1.0, np.inf)
    unseen = [unit_row(blocks, first, lengths[first])]
    pool: Pool | None = None
    for step in steps:
        if step == 0:
            yield first, unseen[0], -1.0
            continue
        found = pool.farthest(decimals) if pool else None
        if found is None:
            similarity = raised_similarity(blocks, safe_lengths, similarity, np.array(unseen))
            pool = farthest_pool(blocks, lengths, similarity, decimals, pool_rows)
            unseen = []
            found = pool.farthest(decimals)
        assert pool is not None and found is not None  # a fresh pool always decides
        row, nearest = found
        if round(nearest, decimals) >= 1.0:
            return
        unseen.append(unit_row(blocks, row, lengths[row]))
        pool.meet(unseen[-1])
        yield row, unseen[-1], nearest


def raised_similarity(
    blocks: Blocks,
    lengths: NDArray[np.float64],
    similarity: NDArray[np.float64],
    centroids: NDArray[np.floating],
) -> NDArray[np.float64]:
    """One pass: each row's largest inner product with the old and the new centroids."""

    def raised(
        block: Block, length: NDArray[np.floating], old: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        return np.asarray(np.maximum(old, (block @ centroids.T).max(axis=1) / length))

    return blocks.map_rows(raised, lengths, similarity)


def farthest_pool(
    blocks: Blocks,
    lengths: NDArray[np.float64],
    similarity: NDArray[np.float64],
    decimals: int,
    size: int,
) -> Pool:
    """The `size` rows of least similarity, of equal ones the lowest."""
    rounded = np.round(similarity, decimals)
    candidates = np.flatnonzero(np.isfinite(rounded))
    if candidates.size > size:
        last = np.partition(rounded[candidates], size)[size]
        candidates = candidates[rounded[candidates] <= last]
    ordered = candidates[np.argsort(rounded[candidates], kind="stable")]
    rows, rest = np.sort(ordered[:size]), ordered[size:]
    outside = (float(rounded[rest[0]]), int(rest[0])) if rest.size else (np.inf, blocks.n_rows)
    return Pool(rows, blocks.take(rows), lengths[rows], similarity[rows], outside)


def nearest_centroid(
    blocks: Blocks, lengths: NDArray[np.float64], centroids: NDArray[np.floating], decimals: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Label of the nearest centroid and the inner product with it (Algorithm 1, step 4).

    Equally near centroids: the one chosen first. Rows of length zero: label −1, product 0.
    """

    def nearest(block: Block, length: NDArray[np.floating]) -> NDArray[np.float64]:
        products = block @ centroids.T
        largest = products.max(axis=1)
        close = products >= (largest - length * 10.0**-decimals)[:, None]
        return np.column_stack([close.argmax(axis=1), largest])

    found = blocks.map_rows(nearest, lengths)
    directed = lengths > 0
    labels = np.where(directed, found[:, 0], -1).astype(np.intp)
    return labels, found[:, 1] / np.where(directed, lengths, 1.0)


def unit_row(blocks: Blocks, row: int, length: float) -> NDArray[np.floating]:
    """One row as a dense vector of unit length."""
    dense = as_dense(blocks.take(np.array([row])))[0]
    return np.asarray(dense / dense.dtype.type(length))
