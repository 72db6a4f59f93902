"""FastAnchorWords: the point farthest from the affine span of those already chosen.

Arora, Ge, Halpern, Mimno, Moitra, Sontag, Wu & Zhu, "A practical algorithm for topic modeling
with provable guarantees", 2013 (Arora13), Algorithm 4.

    Arora13                       here
    d_1 … d_V, word vectors       rows of the data (scaled to sum one with scale_rows)
    K                             n_components
    S = {v_1 … v_K}               anchors
    4 log V / ε², random space    n_projections, Gaussian directions (None: no projection)

The first anchor is the row farthest from the origin; it then becomes the origin, so that the
spans are affine: a point of the simplex is judged by its distance to the face spanned so far.
Differs: Arora13 writes span(S); the affine span is what its own program uses, and is the one
that does not depend on where the origin lies.

One pass per anchor and, with `refine`, one more per anchor in which each anchor is replaced by
the row farthest from the affine span of all the others. Sparse data stay sparse.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Blocks, as_blocks
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.orthogonal import (
    ROUNDING,
    first_largest,
    orthogonal_part,
    orthonormal_rows,
    without_rounding,
)
from provenmf.records import Solution, StopReason
from provenmf.solvers.run import Callback, Run
from provenmf.solvers.separable.anchors import (
    anchor_solution,
    dense_row,
    dense_rows,
    number_to_try,
    row_scales,
    settle_number,
)


def fast_anchor(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    refine: bool = True,
    scale_rows: bool = False,
    n_projections: int | None = None,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Anchors as the rows farthest from the affine span of those before.

    Parameters
    ----------
    n_components : how many anchors; None looks for the largest drop of the distance from one
        anchor to the next (the first is judged by its distance from the second).
    refine : the paper's second round; each anchor is looked for again, the others given.
    scale_rows : look for anchors among the rows divided by their sums.
    n_projections : look for anchors after projection on that many random directions.

    Returns
    -------
    Solution with the `distance` of each anchor tried in the trace and `drop` in its AnchorState.
    """
    points, scales = _points(blocks, scale_rows, n_projections, rng)
    lengths = points.map_rows(squared_row_norms) * scales**2
    slack = 10 * ROUNDING * np.maximum(lengths, lengths.max())

    number = number_to_try(blocks, n_components, points.n_columns + 1)
    run = Run(number, callback=callback, verbose=verbose, name="FastAnchor")
    anchors: list[int] = []
    distances: list[float] = []
    squared, basis = lengths, np.empty((0, points.n_columns))
    origin = np.zeros(points.n_columns)
    if run.saved is not None:
        squared, basis, origin = run.saved["squared"], run.saved["basis"], run.saved["origin"]
        anchors, distances = run.saved["anchors"], run.saved["distances"]
    run.keeps(
        lambda: {
            "squared": squared,
            "basis": basis,
            "origin": origin,
            "anchors": anchors,
            "distances": distances,
        }
    )
    for iteration in run:
        anchor = first_largest(squared, slack)
        if squared[anchor] == 0:
            run.stop(StopReason.NOTHING_TO_SPAN)
            continue
        distances.append(math.sqrt(squared[anchor]))
        run.record(distance=distances[-1])
        anchors.append(anchor)
        row = dense_row(points, anchor) * scales[anchor]
        if iteration == 0:
            origin = row
            squared = _squared_distances(points, scales, lengths, origin)
        else:
            direction = orthogonal_part(row - origin, basis)
            direction /= np.linalg.norm(direction)
            basis = np.vstack([basis, direction])
            squared = squared - _along(points, scales, direction, origin) ** 2
        squared = without_rounding(squared, lengths.max())
        squared[anchors] = 0.0
        squared[scales == 0] = 0.0  # a row without mass has no place on the simplex

    if len(distances) > 1:
        distances[0] = distances[1]
    left = math.sqrt(squared.max())
    anchors, drop = settle_number(anchors, [*distances, left], n_components, run)
    if refine and len(anchors) > 1:
        anchors = _refined(points, scales, lengths, slack, anchors)
    return anchor_solution(blocks, anchors, drop, run)


def _refined(
    points: Blocks,
    scales: NDArray[np.float64],
    lengths: NDArray[np.float64],
    slack: NDArray[np.float64],
    anchors: list[int],
) -> list[int]:
    """Arora13, Algorithm 4, second loop: each anchor again, given all the others."""
    anchors = list(anchors)
    for position in range(len(anchors)):
        others = anchors[:position] + anchors[position + 1 :]
        rows = dense_rows(points, others).astype(np.float64) * scales[others, None]
        origin, basis = rows[0], orthonormal_rows(rows[1:] - rows[0])
        squared = _squared_distances(points, scales, lengths, origin)
        along = _along(points, scales, basis.T, origin)
        squared = squared - np.einsum("ij,ij->i", along, along)
        squared = without_rounding(squared, lengths.max())
        squared[others] = -1.0
        squared[scales == 0] = -1.0
        best = first_largest(squared, slack)
        # The anchor itself stays unless another row is farther by more than rounding.
        if squared[best] > squared[anchors[position]] + slack[best]:
            anchors[position] = best
    return anchors


def _points(
    blocks: Blocks,
    scale_rows: bool,
    n_projections: int | None,
    rng: np.random.Generator | None,
) -> tuple[Blocks, NDArray[np.float64]]:
    """Rows among which anchors are looked for, and the factor of each."""
    scales = blocks.map_rows(row_scales) if scale_rows else np.ones(blocks.n_rows)
    if n_projections is None:
        return blocks, scales
    rng = np.random.default_rng(rng)
    directions = rng.standard_normal((blocks.n_columns, n_projections)) / math.sqrt(n_projections)
    return as_blocks(blocks.map_rows(lambda block: np.asarray(block @ directions))), scales


def _squared_distances(
    points: Blocks,
    scales: NDArray[np.float64],
    lengths: NDArray[np.float64],
    origin: NDArray[np.float64],
) -> NDArray[np.float64]:
    """‖x − origin‖² of each scaled row, expanded so that sparse rows stay sparse."""
    cross = points.map_rows(lambda block: block @ origin) * scales
    return lengths - 2 * cross + origin @ origin


def _along(
    points: Blocks,
    scales: NDArray[np.float64],
    directions: NDArray[np.float64],
    origin: NDArray[np.float64],
) -> NDArray[np.floating]:
    """(x − origin) times one direction or a matrix of directions, for each scaled row."""
    products = points.map_rows(lambda block: np.asarray(block @ directions))
    factors = scales if directions.ndim == 1 else scales[:, None]
    return products * factors - origin @ directions
