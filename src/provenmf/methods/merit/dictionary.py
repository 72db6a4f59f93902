"""Which rows MERIT may use as vertices, and which of them are the same row twice.

The full problem lets every row use every row: n^2 inner products a step. A row that can become an
anchor is extreme, though, so beyond a few hundred rows we keep those that are often extreme in
random directions, those that successive projection found, and those that it explains worst. The
rest is not forgotten: see `gap.py` for what leaving it out can cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Block, Blocks
from provenmf.linalg.storage import as_dense
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.merit.spread import SpreadMixture

Rows = NDArray[np.intp]

DIRECTIONS = 1000
SLICE_ROWS = 2048
CACHED_ROWS = 128  # of which all products with the directions fit into a second-level cache


def candidate_rows(
    blocks: Blocks,
    anchors: Rows,
    squared_residuals: NDArray[np.float64],
    size: int,
    rng: np.random.Generator,
) -> Rows:
    """About `size` rows that may be anchors, ascending; all rows if there are no more."""
    n = blocks.n_rows
    if n <= size:
        return np.arange(n)
    hits = extreme_counts(blocks, rng)
    extreme = np.argsort(-hits, kind="stable")[: np.count_nonzero(hits)]
    unexplained = np.argsort(-squared_residuals, kind="stable")
    share = max(len(anchors), size // 4)
    chosen = np.concatenate([anchors, unexplained[:share], extreme])
    _, order = np.unique(chosen, return_index=True)
    return np.sort(chosen[np.sort(order)][:size])


def extreme_counts(blocks: Blocks, rng: np.random.Generator) -> NDArray[np.int64]:
    """In how many of the random directions, both ways, each row is the extreme one."""
    directions = rng.standard_normal((blocks.n_columns, DIRECTIONS)).astype(np.float32)
    centre = blocks.map_reduce(column_sums) / blocks.n_rows

    def search(block: Block) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        return extreme_of_block(block, centre, directions)

    winners = np.zeros(2 * DIRECTIONS, dtype=np.intp)
    best = np.full(2 * DIRECTIONS, -np.inf)
    for start, _, (place, along) in blocks.each(search):
        farther = along > best
        winners[farther], best[farther] = start + place[farther], along[farther]
    return np.bincount(winners, minlength=blocks.n_rows)


def column_sums(block: Block) -> NDArray[np.float64]:
    """Sums of the columns in double precision."""
    return np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()


def extreme_of_block(
    block: Block, centre: NDArray[np.float64], directions: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The first of the extreme rows of a block in every direction and its opposite, and how far."""
    from provenmf.methods.merit.kernels import note_extremes_in_place

    starts = range(0, block.shape[0], SLICE_ROWS)
    best = np.full((len(starts), 2, DIRECTIONS), -np.inf, dtype=np.float32)
    where = np.zeros((len(starts), 2, DIRECTIONS), dtype=np.int32)

    def search(rows: slice) -> None:
        number = rows.start // SLICE_ROWS
        centred = (as_dense(block[rows]) - centre).astype(np.float32)
        for start in range(0, len(centred), CACHED_ROWS):
            along = centred[start : start + CACHED_ROWS] @ directions
            note_extremes_in_place(along, rows.start + start, best[number], where[number])

    for_row_slices(search, block.shape[0], slice_rows=SLICE_ROWS)
    first, columns = best.reshape(len(starts), -1).argmax(axis=0), np.arange(2 * DIRECTIONS)
    place = where.reshape(len(starts), -1)[first, columns].astype(np.intp)
    return place, best.reshape(len(starts), -1)[first, columns]


def representatives(points: NDArray[np.floating], rows: Rows, radius: float) -> Rows:
    """The numbers of the given points without those within `radius` of one that is kept.

    Points far from the mean are kept first, so that the answer does not depend on the order.
    Nguyen22, Theorem 1, excludes repeated anchors: they share the weight that one would get.
    """
    points = points.astype(np.float64)
    if radius == 0.0:
        _, first = np.unique(points, axis=0, return_index=True)
        return np.asarray(rows[np.sort(first)])
    points = points - points.mean(axis=0)
    squared = np.einsum("ij,ij->i", points, points)
    undecided = np.argsort(-squared, kind="stable")
    kept = []
    while len(undecided):
        first, undecided = undecided[0], undecided[1:]
        kept.append(first)
        distance = squared[undecided] + squared[first] - 2 * points[undecided] @ points[first]
        near = distance <= radius**2 + 1e-12 * (squared[undecided] + squared[first])
        if near.any():  # the expanded square is inexact where it matters: measure again
            away = np.linalg.norm(points[undecided] - points[first], axis=1)
            undecided = undecided[~near | (away > radius)]
    return np.asarray(rows[np.sort(kept)])


def overlooked_rows(
    mixture: Mixture | SpreadMixture, lam: float, radius: float
) -> NDArray[np.intp]:
    """Rows outside the dictionary that would keep at least half of themselves.

    Alone in its own column, a row whose mixture leaves r takes weight 1 - lam / ||r||^2 on itself:
    the minimiser over s of 1/2 (1 - s)^2 ||r||^2 + lam s. The worst rows come first.
    """
    squared = mixture.squared_residuals()
    squared[mixture.dictionary] = 0.0
    rows = np.flatnonzero(squared > 2 * lam)
    rows = rows[np.argsort(-squared[rows], kind="stable")][: len(mixture.dictionary)]
    both = np.concatenate([mixture.dictionary, rows])
    return np.setdiff1d(representatives(mixture.rows(both), both, radius), mixture.dictionary)
