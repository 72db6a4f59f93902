"""The start of MERIT: greedy anchors, and the rows that may be vertices.

The full problem lets every row use every row: n^2 inner products a step. A row that can become an
anchor is extreme, though, so beyond a few hundred rows the dictionary has those that are often
extreme in random directions, those that the greedy start found, and those that it explains worst.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, Rows
from provenmf.errors import DegenerateData
from provenmf.linalg.hull import nearest_points
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.storage import as_dense, is_sparse
from provenmf.methods.merit import settings
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.separable.anchors import dense_rows, number_to_try
from provenmf.methods.separable.spa import fast_anchor, spa
from provenmf.results import Solution

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]

# Numbers of anchors tried for a plausible start.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
SLICE_ROWS = 2048  # compared with all directions at a time


@dataclass(frozen=True, eq=False)
class Start:
    """An explanation of the data by anchors.

    mixtures : of each block the weights of its rows, their squared distances, and the number of its
        first row.
    squared_residuals : squared distances of all rows. squared_scale : that of the longest row to 0.
    greedy : anchors of the greedy methods that were tried.
    """

    blocks: Blocks
    anchors: Indices
    mixtures: Rows
    squared_residuals: Floats
    squared_scale: float
    greedy: Mapping[str, Indices] = field(default_factory=dict)

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
        return explained(self.blocks, anchors, self.squared_scale, self.greedy)


def start_from_anchors(blocks: Blocks, n_components: int | None, *, plain: bool = False) -> Start:
    """Explain the rows by greedy anchors, for the number asked for or a plausible one.

    Of the anchors of SPA and FastAnchor and the corners of a growing hull those are kept that
    explain the rows best; `plain` takes SPA's.
    """
    if n_components is not None:
        number_to_try(blocks, n_components)  # refuses more than there are rows
    most = min(n_components or 96, blocks.n_rows, blocks.n_columns + 1)
    greedy = greedy_anchors(blocks, most)
    best = greedy["SPA"]
    if not plain:
        greedy["the growing hull"] = grow_hull(blocks, most)
        sample = sample_of(blocks)
        best = min(greedy.values(), key=lambda rows: missed(sample, blocks, rows))
    _, squared_scale = blocks.arg_reduce(squared_row_norms)
    found = explained(blocks, best, squared_scale, greedy)
    return found if n_components is not None else plausible_start(found)


def explained(
    blocks: Blocks, anchors: Indices, squared_scale: float, greedy: Mapping[str, Indices]
) -> Start:
    """Find the nearest point of the anchors' hull to every row, in one pass."""
    corners = dense_rows(blocks, anchors)

    def measure(block: Block, rows: range) -> tuple[Floats, Floats, NDArray[np.int64]]:
        squared, weights = nearest_points(block, corners)
        return weights, squared, np.array([rows.start])

    mixtures = blocks.keep(measure, range(blocks.n_rows))
    squared = mixtures.array(lambda part: part[1])
    return Start(blocks, anchors, mixtures, squared, squared_scale, greedy)


def sample_of(blocks: Blocks) -> Block:
    """Return all rows, or evenly spaced ones of many."""
    most = settings.SETTINGS.compared_rows
    return blocks.take(np.unique(np.linspace(0, blocks.n_rows - 1, most).astype(np.intp)))


def missed(rows: Block, blocks: Blocks, anchors: Indices) -> float:
    """Return the total squared distance of the rows to the hull of the anchors."""
    return float(nearest_points(rows, dense_rows(blocks, anchors))[0].sum())


def greedy_anchors(blocks: Blocks, number: int, *, refine: bool = True) -> dict[str, Indices]:
    """Return anchors of SPA and FastAnchor, in order of choice; fewer where there are fewer."""
    return {
        "SPA": quietly(spa, blocks, min(number, *blocks.shape)),
        "FastAnchor": quietly(fast_anchor, blocks, number, refine=refine),
    }


def grow_hull(blocks: Blocks, number: int) -> Indices:
    """Return rows, each the farthest from the hull of those before; fewer if that holds all rows.

    SPA does this with the linear span: noise that pushes a mixture out of the span pushes an anchor
    out of the hull much farther. A hull that grows comes closer to every row, so that old distances
    are upper bounds: rows are measured in decreasing order of them, until none can be farther.
    """
    first, longest = blocks.arg_reduce(squared_row_norms)
    corners, point = [first], dense_rows(blocks, [first])
    bounds = blocks.map_rows(lambda block: nearest_points(block, point)[0])
    while len(corners) < number:
        hull = dense_rows(blocks, corners)
        order = np.argsort(-bounds, kind="stable")
        farthest, distance, begin, size = first, 0.0, 0, 512
        while begin < len(order) and bounds[order[begin]] > distance:
            some = np.sort(order[begin : begin + size])
            bounds[some] = nearest_points(blocks.take(some), hull)[0]
            best = int(some[np.argmax(bounds[some])])
            if bounds[best] > distance:
                farthest, distance = best, float(bounds[best])
            begin, size = begin + size, 2 * size
        if distance <= settings.SETTINGS.exact * longest:
            break
        corners.append(farthest)
    return np.array(corners, dtype=np.intp)


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
        if fewer.squared_residuals.mean() <= settings.SETTINGS.plausible * noise * (d - k / 2):
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
    """Count the random directions, and their opposites, in which each row is extreme."""
    number = settings.SETTINGS.directions
    directions = rng.standard_normal((blocks.n_columns, number)).astype(np.float32)
    origin = blocks.take(np.zeros(1, dtype=np.intp))  # else a common offset would cost digits

    def search(block: Block) -> tuple[Indices, Floats]:
        """Return the first extreme row in every direction and its opposite, and how far it is."""
        rows, reach = np.zeros((2, number), dtype=np.intp), np.full((2, number), -np.inf)
        for start in range(0, block.shape[0], SLICE_ROWS):
            rows_here = block[start : start + SLICE_ROWS]
            moved = rows_here if is_sparse(rows_here) else rows_here - origin
            along = moved.astype(np.float32) @ directions
            for side, farthest in enumerate((along.argmax(axis=0), along.argmin(axis=0))):
                here = (1 - 2 * side) * along[farthest, np.arange(number)]
                farther = here > reach[side]
                rows[side][farther] = start + farthest[farther]
                reach[side][farther] = here[farther]
        return rows, reach

    winners = np.zeros((2, number), dtype=np.intp)
    best = np.full((2, number), -np.inf)
    for start, _, (place, along) in blocks.each(search):
        farther = along > best
        winners[farther], best[farther] = start + place[farther], along[farther]
    return np.bincount(winners.ravel(), minlength=blocks.n_rows)


def representatives(points: Block, rows: Indices, radius: float) -> Indices:
    """Return the numbers of the given points without those within `radius` of one that is kept.

    Points far from the mean are kept first, so that the answer does not depend on the order.
    Nguyen22, Theorem 1, excludes repeated anchors: they share the weight that one would get.
    """
    if radius == 0.0 and not is_sparse(points):
        return np.asarray(rows[np.sort(np.unique(points, axis=0, return_index=True)[1])])
    points = points.astype(np.float64)
    squared = squared_row_norms(points)
    mean = np.asarray(points.mean(axis=0)).ravel()
    order = np.argsort(2 * np.asarray(points @ mean) - squared, kind="stable")
    undecided, kept = np.ones(len(squared), dtype=bool), []
    for first in order:
        if not undecided[first]:
            continue
        undecided[first] = False
        kept.append(first)
        point = as_dense(points[[first]])[0]
        distance = squared + squared[first] - 2 * np.asarray(points @ point)
        slack = 1e-12 * (squared + squared[first])
        near = np.flatnonzero(undecided & (distance <= radius**2 + slack))
        if len(near):  # the expanded square is inexact where it matters: measure again
            away = np.linalg.norm(as_dense(points[near]) - point, axis=1)
            undecided[near[away <= radius]] = False
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
    kept = representatives(mixture.blocks.take(both), both, radius)
    return np.setdiff1d(kept, mixture.dictionary)
