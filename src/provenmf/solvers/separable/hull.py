"""Rows that span a hull: each new corner is the row farthest from the hull of those before.

This is what SPA does with the linear span of its anchors in place of their hull, and what XRAY does
with their cone. The hull is the smallest of the three: noise that pushes a mixture out of the span
pushes an anchor out of the hull much farther, so that where there are many rows this finds anchors
that both others miss (docs/decisions.md has figures).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks, as_blocks
from provenmf.linalg import distances
from provenmf.solvers.separable.anchors import dense_rows

Rows = NDArray[np.intp]

FIRST_BATCH, LAST_BATCH = 512, 16_384  # rows fetched at a time
EXACT = 1e-14  # squared distances below this fraction of the first are rounding


def grow_hull(blocks: Blocks, n_corners: int) -> Rows:
    """Numbers of the corners, in the order found; fewer if all rows lie in the hull of those.

    A hull that grows comes closer to every row, so that old distances are upper bounds: a row is
    measured again only if its old distance exceeds the largest one known for the present hull.
    """
    mean = blocks.map_reduce(lambda block: np.asarray(block.sum(axis=0))) / blocks.n_rows
    bounds = squared_distances(blocks, mean.reshape(1, -1))
    corners = [int(np.argmax(bounds))]
    scale = float(bounds[corners[0]])
    bounds = squared_distances(blocks, dense_rows(blocks, corners))
    while len(corners) < min(n_corners, blocks.n_rows):
        farthest, distance = farthest_row_updating(bounds, blocks, dense_rows(blocks, corners))
        if distance <= EXACT * scale:
            break
        corners.append(farthest)
    return np.array(corners, dtype=np.intp)


def farthest_row_updating(
    bounds: NDArray[np.float64], blocks: Blocks, corners: NDArray[np.floating]
) -> tuple[int, float]:
    """The row farthest from the hull of the corners, and its squared distance.

    `bounds` are upper bounds of all squared distances; those of the rows measured are updated. The
    rows with the largest bounds are fetched, a few at a time; if they do not settle it, one pass
    measures all that may still be farther.
    """
    farthest, largest = 0, 0.0
    order = np.argsort(-bounds, kind="stable")
    begin, size = 0, FIRST_BATCH
    while begin < len(order) and bounds[order[begin]] > largest:
        if size > LAST_BATCH:
            bounds[:] = measured_beyond(largest, bounds, blocks, corners)
            best = np.argmax(bounds)
            return int(best), float(bounds[best])
        rows = order[begin : begin + size]
        bounds[rows] = squared_distances(as_blocks(blocks.take(rows)), corners)
        best = rows[np.argmax(bounds[rows])]
        if bounds[best] > largest:
            farthest, largest = int(best), float(bounds[best])
        begin, size = begin + size, 2 * size
    return farthest, largest


def measured_beyond(
    largest: float, bounds: NDArray[np.float64], blocks: Blocks, corners: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The bounds, with squared distances in place of those above `largest`, in one pass."""

    def measure(block: Block, bound: NDArray[np.float64]) -> NDArray[np.float64]:
        found, beyond = bound.copy(), np.flatnonzero(bound > largest)
        if len(beyond):
            found[beyond] = distances.squared_distances(block[beyond], corners)
        return found

    return blocks.map_rows(measure, bounds)


def squared_distances(blocks: Blocks, corners: NDArray[np.floating]) -> NDArray[np.float64]:
    """Squared distance of each row to the hull of the corners, in one pass."""

    def measure(block: Block) -> NDArray[np.float64]:
        return distances.squared_distances(block, corners)

    return blocks.map_rows(measure)
