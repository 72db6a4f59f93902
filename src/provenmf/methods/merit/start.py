"""Where MERIT starts: what anchors chosen greedily explain, and the penalty that follows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, Rows, as_blocks
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.linalg.hull import nearest_points
from provenmf.linalg.norms import squared_row_norms
from provenmf.methods.separable.anchors import dense_rows, number_to_try
from provenmf.methods.separable.hull import grow_hull, squared_distances
from provenmf.methods.separable.spa import spa

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]

# lam = NOISE_MULTIPLE * mean squared distance of a row to the hull of the start. A row's gain
# from representing itself is its squared noise; lam must be a little above that, whatever n.
NOISE_MULTIPLE = 1.35
# Rows closer than this fraction of the typical residual cannot be told apart.
DUPLICATE_FRACTION = 0.1
EXACT = 1e-14  # squared residuals below this fraction of the largest squared row are rounding
SAMPLE_ROWS = 10_000  # enough to compare two explanations
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)


@dataclass(frozen=True, eq=False)
class Start:
    """An explanation of the data: anchors, each row's mixture of them, what that leaves of it."""

    blocks: Blocks
    anchors: Indices
    mixtures: Rows
    squared_residuals: Floats
    squared_scale: float

    @property
    def mean_squared_residual(self) -> float:
        """Squared noise of a typical row; zero if only rounding is left."""
        mean = float(self.squared_residuals.mean())
        return mean if mean > EXACT * self.squared_scale else 0.0

    @property
    def duplicate_radius(self) -> float:
        """Rows within this distance count as one."""
        noise = DUPLICATE_FRACTION * np.sqrt(self.mean_squared_residual)
        return float(max(noise, 1e-7 * np.sqrt(self.squared_scale)))

    def mixtures_of(self, kept: Indices) -> Rows:
        """Every row's mixture of the kept anchors: simplex-constrained least squares."""
        if len(kept) == len(self.anchors):
            return self.mixtures
        return explained(self.blocks, self.anchors[kept]).mixtures


class Explanation(NamedTuple):
    """What the hull of some anchors explains.

    Of each block the weights of its rows, their squared distances and the number of the first one
    are kept where it is.
    """

    anchors: Indices
    mixtures: Rows
    squared_residuals: Floats


def start_from_anchors(blocks: Blocks, n_components: int | None, *, plain: bool = False) -> Start:
    """What a greedy choice of anchors explains, for the number asked for or a plausible one.

    Of SPA's anchors and the corners of a growing hull those are kept that explain the rows better;
    `plain` takes SPA's.
    """
    if n_components is not None:
        number_to_try(blocks, n_components)  # refuses more than there are rows
    most = min(n_components or 96, blocks.n_rows, blocks.n_columns + 1)
    candidates = [spa_anchors(blocks, most)]
    if not plain:
        candidates.append(grow_hull(blocks, most))
    found = best_explanation(blocks, candidates)
    if n_components is None:
        found = plausible_start(blocks, found)
    _, squared_scale = blocks.arg_reduce(squared_row_norms)
    return Start(blocks, *found, squared_scale)


def best_explanation(blocks: Blocks, candidates: list[Indices]) -> Explanation:
    """The candidates that explain the rows better; beyond SAMPLE_ROWS a sample of them decides."""
    if blocks.n_rows <= SAMPLE_ROWS or len(candidates) == 1:
        tried = [explained(blocks, anchors) for anchors in candidates]
        return min(tried, key=lambda found: float(found.squared_residuals.mean()))
    sample = np.linspace(0, blocks.n_rows - 1, SAMPLE_ROWS).astype(np.intp)
    some = as_blocks(blocks.take(sample))
    best = min(
        candidates, key=lambda rows: squared_distances(some, dense_rows(blocks, rows)).mean()
    )
    return explained(blocks, best)


def explained(blocks: Blocks, anchors: Indices) -> Explanation:
    """The nearest point of the anchors' hull to every row, in one pass."""
    corners = dense_rows(blocks, anchors)

    def measure(block: Block, rows: range) -> tuple[Floats, Floats, NDArray[np.int64]]:
        squared, weights = nearest_points(block, corners)
        return weights, squared, np.array([rows.start])

    mixtures = blocks.keep(measure, range(blocks.n_rows))
    return Explanation(anchors, mixtures, mixtures.array(lambda part: part[1]))


def spa_anchors(blocks: Blocks, most: int) -> NDArray[np.intp]:
    """SPA's anchors, without complaint where there are fewer than asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateData)
        anchors = spa(blocks, min(most, *blocks.shape)).anchors
    assert anchors is not None
    return anchors


def plausible_start(blocks: Blocks, found: Explanation) -> Explanation:
    """The fewest anchors whose residual is explained by noise that all of them leave.

    k anchors absorb about k/2 of the d directions of white noise, so with noise s^2 per direction
    the mean squared residual is near s^2 (d - k/2) once k is large enough.
    """
    most = len(found.anchors)
    d = max(blocks.n_columns, most)
    noise = found.squared_residuals.mean() / (d - most / 2)
    for k in (size for size in SIZES if size < most):
        fewer = explained(blocks, found.anchors[:k])
        if fewer.squared_residuals.mean() <= 1.3 * noise * (d - k / 2):
            return fewer
    return found


def penalty_weight(lam: float | str, start: Start) -> float:
    """lam by rule: "auto"; "paper", ||X - C0 X||_F / K; "authors", half of that.

    The authors' program has no 1/2 before the fit, so that its lam acts like half of ours.
    """
    if lam == "auto":
        return NOISE_MULTIPLE * start.mean_squared_residual
    if lam in ("paper", "authors"):
        rule = float(np.sqrt(start.squared_residuals.sum())) / len(start.anchors)
        return rule if lam == "paper" else rule / 2
    if float(lam) < 0:
        raise InvalidInput(
            "is negative", argument="lam", value=lam, remedy="give {argument} >= 0 (0 for MERIT(0))"
        )
    return float(lam)
