"""Where MERIT starts: greedy anchors and what they explain, and the rows that may be vertices.

The full problem lets every row use every row: n^2 inner products a step. A row that can become an
anchor is extreme, though, so beyond a few hundred rows the dictionary has those that are often
extreme in random directions, those that the greedy start found, and those that it explains worst.
`gap.py` says what leaving out the others can cost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Block, Blocks, Rows, as_blocks
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.linalg.hull import nearest_points
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.storage import as_dense
from provenmf.methods.merit import settings
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.separable.anchors import dense_rows, number_to_try
from provenmf.methods.separable.fast_anchor import fast_anchor
from provenmf.methods.separable.hull import grow_hull, squared_distances
from provenmf.methods.separable.spa import spa
from provenmf.results import Solution

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]

# Numbers of anchors tried for a plausible start.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
SLICE_Rows = 2048  # compared with all directions in one call of a thread
CACHED_Rows = 128  # whose products with the directions fit into a second-level cache


@dataclass(frozen=True, eq=False)
class Start:
    """An explanation of the data by anchors.

    mixtures : of each block the weights of its rows, their squared distances, and the number of its
        first row.
    squared_residuals : squared distances of all rows. squared_scale : that of the longest row to 0.
    """

    blocks: Blocks
    anchors: Indices
    mixtures: Rows
    squared_residuals: Floats
    squared_scale: float

    @property
    def mean_squared_residual(self) -> float:
        """Squared noise of a typical row; zero if only rounding is left."""
        mean = float(self.squared_residuals.mean())
        return mean if mean > settings.SETTINGS.exact * self.squared_scale else 0.0

    @property
    def duplicate_radius(self) -> float:
        """Distance within which rows count as one."""
        noise = settings.SETTINGS.duplicate_share * np.sqrt(self.mean_squared_residual)
        return float(max(noise, 1e-7 * np.sqrt(self.squared_scale)))

    def by(self, anchors: Indices) -> Start:
        """Explain the rows by other anchors: simplex-constrained least squares, in one pass."""
        return explained(self.blocks, anchors, self.squared_scale)


def start_from_anchors(blocks: Blocks, n_components: int | None, *, plain: bool = False) -> Start:
    """Explain the rows by greedy anchors, for the number asked for or a plausible one.

    Of SPA's anchors and the corners of a growing hull those are kept that explain the rows better;
    `plain` takes SPA's.
    """
    if n_components is not None:
        number_to_try(blocks, n_components)  # refuses more than there are rows
    most = min(n_components or 96, blocks.n_rows, blocks.n_columns + 1)
    candidates = [quietly(spa, blocks, min(most, *blocks.shape))]
    if not plain:
        candidates.append(grow_hull(blocks, most))
    _, squared_scale = blocks.arg_reduce(squared_row_norms)
    found = best_explanation(blocks, candidates, squared_scale)
    return found if n_components is not None else plausible_start(found)


def best_explanation(blocks: Blocks, candidates: list[Indices], squared_scale: float) -> Start:
    """Explain the rows by the candidates that do it better; of many rows a sample decides."""
    most = settings.SETTINGS.start_rows
    if blocks.n_rows <= most or len(candidates) == 1:
        tried = [explained(blocks, anchors, squared_scale) for anchors in candidates]
        return min(tried, key=lambda found: float(found.squared_residuals.mean()))
    sample = np.linspace(0, blocks.n_rows - 1, most).astype(np.intp)
    some = as_blocks(blocks.take(sample))
    best = min(
        candidates, key=lambda rows: squared_distances(some, dense_rows(blocks, rows)).mean()
    )
    return explained(blocks, best, squared_scale)


def explained(blocks: Blocks, anchors: Indices, squared_scale: float) -> Start:
    """Find the nearest point of the anchors' hull to every row, in one pass."""
    corners = dense_rows(blocks, anchors)

    def measure(block: Block, rows: range) -> tuple[Floats, Floats, NDArray[np.int64]]:
        squared, weights = nearest_points(block, corners)
        return weights, squared, np.array([rows.start])

    mixtures = blocks.keep(measure, range(blocks.n_rows))
    return Start(blocks, anchors, mixtures, mixtures.array(lambda part: part[1]), squared_scale)


def greedy_anchors(blocks: Blocks, number: int, *, refine: bool = True) -> dict[str, Indices]:
    """Return anchors of SPA and FastAnchor, in order of choice; fewer where there are fewer."""
    return {
        "SPA": quietly(spa, blocks, min(number, *blocks.shape)),
        "FastAnchor": quietly(fast_anchor, blocks, number, refine=refine),
    }


def quietly(method: Callable[..., Solution], *arguments: object, **options: object) -> Indices:
    """Return the anchors of a method, without a warning where there are fewer than asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateData)
        anchors = method(*arguments, **options).anchors
    assert anchors is not None  # greedy methods choose rows
    return anchors


def plausible_start(found: Start) -> Start:
    """Return the fewest anchors whose residual is explained by the noise that all of them leave.

    k anchors absorb about k/2 of the d directions of white noise, so with noise s^2 per direction
    the mean squared residual is near s^2 (d - k/2) once k is large enough.
    """
    most = len(found.anchors)
    d = max(found.blocks.n_columns, most)
    noise = found.squared_residuals.mean() / (d - most / 2)
    for k in (size for size in SIZES if size < most):
        fewer = found.by(found.anchors[:k])
        if fewer.squared_residuals.mean() <= 1.3 * noise * (d - k / 2):
            return fewer
    return found


def penalty_weight(lam: float | str, start: Start) -> float:
    """Return lam by rule: "auto"; "paper", ||X - C0 X||_F / K; "authors", half of that.

    The authors' program has no 1/2 before the fit, so that its lam acts like half of ours.
    """
    if lam == "auto":
        return settings.SETTINGS.noise_multiple * start.mean_squared_residual
    if lam in ("paper", "authors"):
        rule = float(np.sqrt(start.squared_residuals.sum())) / len(start.anchors)
        return rule if lam == "paper" else rule / 2
    if float(lam) < 0:
        raise InvalidInput(
            "is negative", argument="lam", value=lam, remedy="give {argument} >= 0 (0 for MERIT(0))"
        )
    return float(lam)


def candidate_rows(start: Start, size: int, rng: np.random.Generator) -> Indices:
    """Return about `size` rows that may be anchors, ascending; all rows if there are no more."""
    n = start.blocks.n_rows
    if n <= size:
        return np.arange(n)
    hits = extreme_counts(start.blocks, rng)
    extreme = np.argsort(-hits, kind="stable")[: np.count_nonzero(hits)]
    unexplained = np.argsort(-start.squared_residuals, kind="stable")
    share = max(len(start.anchors), size // 4)
    chosen = np.concatenate([start.anchors, unexplained[:share], extreme])
    _, order = np.unique(chosen, return_index=True)
    return np.sort(chosen[np.sort(order)][:size])


def extreme_counts(blocks: Blocks, rng: np.random.Generator) -> NDArray[np.int64]:
    """Count for each row the random directions, both ways, in which it is the extreme one."""
    number = settings.SETTINGS.directions
    directions = rng.standard_normal((blocks.n_columns, number)).astype(np.float32)
    centre = blocks.map_reduce(column_sums) / blocks.n_rows

    def search(block: Block) -> tuple[Indices, NDArray[np.float32]]:
        return extreme_of_block(block, centre, directions)

    winners = np.zeros(2 * number, dtype=np.intp)
    best = np.full(2 * number, -np.inf)
    for start, _, (place, along) in blocks.each(search):
        farther = along > best
        winners[farther], best[farther] = start + place[farther], along[farther]
    return np.bincount(winners, minlength=blocks.n_rows)


def column_sums(block: Block) -> Floats:
    """Return the sums of the columns in double precision."""
    return np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()


def extreme_of_block(
    block: Block, centre: Floats, directions: NDArray[np.float32]
) -> tuple[Indices, NDArray[np.float32]]:
    """Return the first extreme row of a block in every direction and its opposite, and how far."""
    from provenmf.methods.merit.kernels import note_extremes_in_place

    starts, number = range(0, block.shape[0], SLICE_Rows), directions.shape[1]
    best = np.full((len(starts), 2, number), -np.inf, dtype=np.float32)
    where = np.zeros((len(starts), 2, number), dtype=np.int32)

    def search(rows: slice) -> None:
        piece = rows.start // SLICE_Rows
        centred = (as_dense(block[rows]) - centre).astype(np.float32)
        for start in range(0, len(centred), CACHED_Rows):
            along = centred[start : start + CACHED_Rows] @ directions
            note_extremes_in_place(along, rows.start + start, best[piece], where[piece])

    for_row_slices(search, block.shape[0], slice_rows=SLICE_Rows)
    first, columns = best.reshape(len(starts), -1).argmax(axis=0), np.arange(2 * number)
    place = where.reshape(len(starts), -1)[first, columns].astype(np.intp)
    return place, best.reshape(len(starts), -1)[first, columns]


def representatives(points: NDArray[np.floating], rows: Indices, radius: float) -> Indices:
    """Return the numbers of the given points without those within `radius` of one that is kept.

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


def overlooked_rows(mixture: Mixture, lam: float, radius: float) -> Indices:
    """Return rows outside the dictionary that would keep at least half of themselves.

    Alone in its own column, a row whose mixture leaves r takes weight 1 - lam / ||r||^2 on itself:
    the minimiser over s of 1/2 (1 - s)^2 ||r||^2 + lam s. The worst rows come first.
    """
    squared = mixture.squared_residuals()
    squared[mixture.dictionary] = 0.0
    rows = np.flatnonzero(squared > 2 * lam)
    rows = rows[np.argsort(-squared[rows], kind="stable")][: len(mixture.dictionary)]
    both = np.concatenate([mixture.dictionary, rows])
    return np.setdiff1d(representatives(mixture.rows(both), both, radius), mixture.dictionary)
