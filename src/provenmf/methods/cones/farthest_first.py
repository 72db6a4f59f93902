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
from functools import partial

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.data.parts import Part, Parts
from provenmf.linalg.storage import as_dense

# Enough rows to choose dozens of centroids between two passes, few enough to stay in cache.
POOL_ROWS = 256
# Comes after every row.
NOBODY = (np.inf, 0)


@dataclass
class Pool:
    """The farthest rows in ascending order, and the first row outside that could precede them."""

    rows: NDArray[np.intp]
    block: Block
    lengths: NDArray[np.float64]
    similarity: NDArray[np.float64]
    outside: tuple[float, int]

    def farthest(self, decimals: int) -> int | None:
        """Place of the farthest row of all; None if a row outside may be farther."""
        rounded = np.round(self.similarity, decimals)
        place = int(np.argmin(rounded))
        if (float(rounded[place]), int(self.rows[place])) < self.outside:
            return place
        return None

    def unit_row(self, place: int) -> NDArray[np.floating]:
        """The row at the given place as a dense vector of unit length."""
        return unit_row(self.block[[place]], self.lengths[place])

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
    unseen = [unit_row(blocks.take(np.array([first])), lengths[first])]
    similarity: Parts | None = None
    pool: Pool | None = None
    for step in steps:
        if step == 0:
            yield first, unseen[0], -1.0
            continue
        place = pool.farthest(decimals) if pool else None
        if place is None:
            similarity = raised_similarity(blocks, lengths, similarity, np.array(unseen))
            pool = farthest_pool(blocks, lengths, similarity, decimals, pool_rows)
            unseen = []
            place = pool.farthest(decimals)
        assert pool is not None and place is not None  # a fresh pool always decides
        nearest = float(pool.similarity[place])
        if round(nearest, decimals) >= 1.0:
            return
        unseen.append(pool.unit_row(place))
        pool.meet(unseen[-1])
        yield int(pool.rows[place]), unseen[-1], nearest


def raised_similarity(
    blocks: Blocks,
    lengths: NDArray[np.float64],
    similarity: Parts | None,
    centroids: NDArray[np.floating],
) -> Parts:
    """One pass: each row's largest inner product with the old and the new centroids.

    It stays where the rows are. Rows of length zero have an infinite one.
    """

    def raised(block: Block, length: NDArray[np.floating], *old: Part) -> NDArray[np.float64]:
        directed = length > 0
        largest = (block @ centroids.T).max(axis=1) / np.where(directed, length, 1.0)
        return np.maximum(np.where(directed, largest, np.inf), *old or (-1.0,))

    return blocks.keep(raised, lengths, *(() if similarity is None else (similarity,)))


def farthest_pool(
    blocks: Blocks,
    lengths: NDArray[np.float64],
    similarity: Parts,
    decimals: int,
    size: int,
) -> Pool:
    """The `size` rows of least similarity, of equal ones the lowest."""
    found = zip(blocks.ranges(), similarity.each(partial(farthest_of, decimals, size + 1)))
    numbers, values = map(np.concatenate, zip(*((start + n, v) for (start, _), (n, v) in found)))
    rounded = np.round(values, decimals)
    ordered = np.lexsort((numbers, rounded))
    chosen, rest = ordered[:size], ordered[size:]
    outside = (float(rounded[rest[0]]), int(numbers[rest[0]])) if rest.size else NOBODY
    chosen = chosen[np.argsort(numbers[chosen])]
    rows = numbers[chosen]
    return Pool(rows, blocks.take(rows), lengths[rows], values[chosen], outside)


def farthest_of(
    decimals: int, size: int, similarity: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Numbers and similarities of the `size` rows of least similarity, of equal ones the lowest."""
    rounded = np.round(similarity, decimals)
    numbers = np.flatnonzero(np.isfinite(rounded))
    if numbers.size > size:
        last = np.partition(rounded[numbers], size - 1)[size - 1]
        numbers = numbers[rounded[numbers] <= last]
        numbers = numbers[np.argsort(rounded[numbers], kind="stable")[:size]]
    return numbers, similarity[numbers]


def nearest_centroid(
    blocks: Blocks, lengths: NDArray[np.float64], centroids: NDArray[np.floating], decimals: int
) -> tuple[Parts, float]:
    """Label of each row's nearest centroid (Algorithm 1, step 4), and the least inner product.

    Equally near centroids: the one chosen first. Rows of length zero: label −1. The labels stay
    where the rows are.
    """

    def nearest(block: Block, length: NDArray[np.floating]) -> Part:
        products = block @ centroids.T
        largest = products.max(axis=1)
        close = products >= (largest - length * 10.0**-decimals)[:, None]
        directed = length > 0
        labels = np.where(directed, close.argmax(axis=1), -1)
        return labels, np.where(directed, largest, np.inf) / np.where(directed, length, 1.0)

    found = blocks.keep(nearest, lengths)
    least = min(found.each(lambda part: part[1].min(initial=np.inf)))
    return found.mapped(lambda part: part[0]), float(least)


def unit_row(block: Block, length: float) -> NDArray[np.floating]:
    """The only row of a block, of the given length, as a dense vector of unit length."""
    dense = as_dense(block)[0]
    return np.asarray(dense / dense.dtype.type(length))
