"""Rows that span a hull: each new corner is the row farthest from the hull of those before.

This is what SPA does with the linear span of its anchors in place of their hull, and what XRAY does
with their cone. The hull is the smallest of the three: noise that pushes a mixture out of the span
pushes an anchor out of the hull much farther, so that where there are many rows this finds anchors
that both others miss (docs/decisions.md has figures).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, as_blocks
from provenmf.linalg import hull as distances
from provenmf.linalg.storage import as_dense
from provenmf.methods.separable.anchors import dense_rows

Rows = NDArray[np.intp]

FIRST_BATCH = 512  # rows measured at a time, then twice as many and so on
FETCHED, LAST_BATCH = 4096, 16_384  # rows fetched at first, and at most at a time
EXACT = 1e-14  # squared distances below this fraction of the first are rounding


def grow_hull(blocks: Blocks, n_corners: int) -> Rows:
    """Return the corners in the order found; fewer if all rows lie in the hull of those.

    A hull that grows comes closer to every row, so that old distances are upper bounds: a row is
    measured again only if its old distance exceeds the largest one known for the present hull.
    """
    mean = blocks.map_reduce(lambda block: np.asarray(block.sum(axis=0))) / blocks.n_rows
    bounds = squared_distances(blocks, mean.reshape(1, -1))
    corners = [int(np.argmax(bounds))]
    scale = float(bounds[corners[0]])
    hull = dense_rows(blocks, corners)
    bounds = squared_distances(blocks, hull)
    near = NearRows(blocks, bounds)
    while len(corners) < min(n_corners, blocks.n_rows):
        farthest, distance = near.farthest_from(hull)
        if distance <= EXACT * scale:
            break
        corners.append(farthest)
        hull = np.vstack([hull, near.row(farthest)])
    return np.array(corners, dtype=np.intp)


class NearRows:
    """Rows that were far from an earlier hull, at hand: most of them are far from the next one.

    `bounds` are upper bounds of all squared distances; those of rows that are measured are updated.
    """

    def __init__(self, blocks: Blocks, bounds: NDArray[np.float64]) -> None:
        self._blocks, self._bounds = blocks, bounds
        self._groups: list[tuple[Rows, Block]] = []
        self._fetch(np.argsort(-bounds, kind="stable")[:FETCHED])

    def _fetch(self, rows: Rows) -> None:
        """Fetch more rows; if there would be too many, the earlier ones are dropped."""
        if sum(len(numbers) for numbers, _ in self._groups) + len(rows) > 2 * LAST_BATCH:
            self._groups = []
        rows = np.sort(rows)
        self._groups.append((rows, self._blocks.take(rows)))

    def row(self, number: int) -> NDArray[np.floating]:
        """Return one row, dense."""
        for numbers, rows in self._groups:
            place = int(np.searchsorted(numbers, number))
            if place < len(numbers) and numbers[place] == number:
                return as_dense(rows[place : place + 1])
        return dense_rows(self._blocks, [number])

    def farthest_from(self, corners: NDArray[np.floating]) -> tuple[int, float]:
        """Return the row farthest from the hull of the corners, and its squared distance.

        If rows elsewhere may be farther than those at hand, they are fetched, or, if they are many,
        measured where they are in one pass.
        """
        best = 0, 0.0
        for group in self._groups:
            best = self._farther(best, group, corners)
        beyond = np.flatnonzero(self._bounds > best[1])
        if len(beyond) > LAST_BATCH:
            self._bounds[:] = measured_beyond(best[1], self._bounds, self._blocks, corners)
            row = int(np.argmax(self._bounds))
            return row, float(self._bounds[row])
        if len(beyond):
            self._fetch(beyond)
            best = self._farther(best, self._groups[-1], corners)
        return best

    def _farther(
        self, best: tuple[int, float], group: tuple[Rows, Block], corners: NDArray[np.floating]
    ) -> tuple[int, float]:
        """Return the farthest row so far, rows of the group included, and its squared distance.

        Those with the largest bounds come first, a few at a time, while they may be farther.
        """
        numbers, rows = group
        order = np.argsort(-self._bounds[numbers], kind="stable")
        begin, size = 0, FIRST_BATCH
        while begin < len(order) and self._bounds[numbers[order[begin]]] > best[1]:
            some = order[begin : begin + size]
            found = squared_distances(as_blocks(rows[some]), corners)
            self._bounds[numbers[some]] = found
            first = int(np.argmax(found))
            if found[first] > best[1]:
                best = int(numbers[some[first]]), float(found[first])
            begin, size = begin + size, 2 * size
        return best


def measured_beyond(
    largest: float, bounds: NDArray[np.float64], blocks: Blocks, corners: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Replace bounds above `largest` by squared distances, in one pass."""

    def measure(block: Block, bound: NDArray[np.float64]) -> NDArray[np.float64]:
        found, beyond = bound.copy(), np.flatnonzero(bound > largest)
        if len(beyond):
            found[beyond] = distances.squared_distances(block[beyond], corners)
        return found

    return blocks.map_rows(measure, bounds)


def squared_distances(blocks: Blocks, corners: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the squared distance of each row to the hull of the corners, in one pass."""

    def measure(block: Block) -> NDArray[np.float64]:
        return distances.squared_distances(block, corners)

    return blocks.map_rows(measure)
