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
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks, as_blocks
from provenmf.blocks.parts import Part, Parts
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.orthogonal import (
    ROUNDING,
    orthogonal_part,
    orthonormal_rows,
    without_rounding,
)
from provenmf.records import Solution, StopReason
from provenmf.solvers.run import Callback, Run
from provenmf.solvers.separable.anchors import (
    anchor_solution,
    dense_rows,
    number_to_try,
    row_scales,
    settle_number,
)
from provenmf.solvers.separable.leaders import first_chosen, leaders, leaders_in, places_in

Floats = NDArray[np.float64]


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
    numbers = range(points.n_rows)

    def begin(block: Block, factors: Floats, rows: range) -> Part:
        lengths = squared_row_norms(block) * factors**2
        found = leaders(block, rows, lengths, 10 * ROUNDING * lengths.max(), factors)
        return factors, lengths, lengths, *found

    number = number_to_try(blocks, n_components, points.n_columns + 1)
    run = Run(number, callback=callback, verbose=verbose, name="FastAnchor")
    anchors: list[int] = []
    distances: list[float] = []
    basis, origin = np.empty((0, points.n_columns)), np.zeros(points.n_columns)
    state = points.keep(begin, scales, numbers)
    longest = first_chosen(state.each(leaders_in)).largest
    if run.saved is not None:
        basis, origin = run.saved["basis"], run.saved["origin"]
        anchors, distances = run.saved["anchors"], run.saved["distances"]
        state = points.keep(_restoring(longest), state, numbers, run.saved["squared"])
    run.keeps(
        lambda: {
            "squared": state.rows(lambda part: part[2]),
            "basis": basis,
            "origin": origin,
            "anchors": anchors,
            "distances": distances,
        }
    )
    chosen = first_chosen(state.each(leaders_in))
    for iteration in run:
        if chosen.score == 0:
            run.stop(StopReason.NOTHING_TO_SPAN)
            continue
        distances.append(math.sqrt(chosen.score))
        run.record(distance=distances[-1])
        anchors.append(chosen.row)
        row = chosen.asked[:-1] * chosen.asked[-1]
        if iteration == 0:
            origin, direction = row, None
        else:
            direction = orthogonal_part(row - origin, basis)
            direction /= np.linalg.norm(direction)
            basis = np.vstack([basis, direction])
        state = points.keep(_moving(origin, direction, longest, anchors), state, numbers)
        chosen = first_chosen(state.each(leaders_in))

    if len(distances) > 1:
        distances[0] = distances[1]
    left = math.sqrt(chosen.largest)
    anchors, drop = settle_number(anchors, [*distances, left], n_components, run)
    if refine and len(anchors) > 1:
        anchors = _refined(points, scales, state, longest, anchors)
    return anchor_solution(blocks, anchors, drop, run)


def _moving(
    origin: Floats, direction: Floats | None, longest: float, anchors: list[int]
) -> Callable[[Block, Part, range], Part]:
    """The pass after an anchor: distances from the first one, or less a new direction."""

    def move(block: Block, part: Part, rows: range) -> Part:
        scales, lengths, squared = part[:3]
        if direction is None:
            squared = lengths - 2 * ((block @ origin) * scales) + origin @ origin
        else:
            squared = squared - ((block @ direction) * scales - origin @ direction) ** 2
        squared = without_rounding(squared, longest)
        squared[places_in(rows, anchors)] = 0.0
        squared[scales == 0] = 0.0  # a row without mass has no place on the simplex
        found = leaders(block, rows, squared, 10 * ROUNDING * longest, scales)
        return scales, lengths, squared, *found

    return move


def _restoring(longest: float) -> Callable[[Block, Part, range, Floats], Part]:
    """What is kept of a block, with the squared distances of a checkpoint."""

    def restore(block: Block, part: Part, rows: range, squared: Floats) -> Part:
        found = leaders(block, rows, squared, 10 * ROUNDING * longest, part[0])
        return part[0], part[1], squared, *found

    return restore


def _refined(
    points: Blocks, scales: Floats, state: Parts, longest: float, anchors: list[int]
) -> list[int]:
    """Arora13, Algorithm 4, second loop: each anchor again, given all the others.

    The anchor itself stays unless another row is farther by more than rounding.
    """
    anchors, slack = list(anchors), 10 * ROUNDING * longest
    for position, anchor in enumerate(anchors):
        others = anchors[:position] + anchors[position + 1 :]
        span = _affine_span(points, scales, others)
        search = _searching(*span, longest, slack, others, anchor)
        found = [each for _, _, each in points.each(search, state, range(points.n_rows))]
        best = first_chosen(of_block[:-1] for of_block in found)
        own = next(float(of_block[-1][0]) for of_block in found if len(of_block[-1]))
        if best.score > own + slack:
            anchors[position] = best.row
    return anchors


def _searching(
    origin: Floats,
    basis: Floats,
    longest: float,
    slack: float,
    others: list[int],
    anchor: int,
) -> Callable[[Block, Part, range], tuple[Any, ...]]:
    """Rows that may be farthest from the span of the others; last, how far the anchor is."""

    def search(block: Block, part: Part, rows: range) -> tuple[Any, ...]:
        scales, lengths = part[:2]
        products = np.asarray(block @ np.column_stack([origin, basis.T])) * scales[:, None]
        along = products[:, 1:] - origin @ basis.T
        squared = lengths - 2 * products[:, 0] + origin @ origin
        squared = squared - np.einsum("ij,ij->i", along, along)
        squared = without_rounding(squared, longest)
        squared[places_in(rows, others)] = -1.0
        squared[scales == 0] = -1.0
        return *leaders(block, rows, squared, slack), squared[places_in(rows, [anchor])]

    return search


def _affine_span(points: Blocks, scales: Floats, anchors: list[int]) -> tuple[Floats, Floats]:
    """A point of the affine span of scaled rows, and an orthonormal basis of its directions."""
    rows = dense_rows(points, anchors).astype(np.float64) * scales[anchors, None]
    return rows[0], orthonormal_rows(rows[1:] - rows[0])


def _points(
    blocks: Blocks,
    scale_rows: bool,
    n_projections: int | None,
    rng: np.random.Generator | None,
) -> tuple[Blocks, Floats]:
    """Rows among which anchors are looked for, and the factor of each."""
    scales = blocks.map_rows(row_scales) if scale_rows else np.ones(blocks.n_rows)
    if n_projections is None:
        return blocks, scales
    rng = np.random.default_rng(rng)
    directions = rng.standard_normal((blocks.n_columns, n_projections)) / math.sqrt(n_projections)
    return as_blocks(blocks.map_rows(lambda block: np.asarray(block @ directions))), scales
