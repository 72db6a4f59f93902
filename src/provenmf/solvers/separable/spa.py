"""Successive projection (SPA): take the longest row, project it out of all rows, repeat.

Araujo et al. 2001; analysed by Gillis & Vavasis, "Fast and robust recursive algorithms for
separable nonnegative matrix factorization", 2014 (GV14), whose Algorithm 1 with f = squared
Euclidean length this is.

    GV14                            here
    M = WH + N, points in columns   data ≈ weights @ components, points in rows
    r                               n_components
    J                               anchors
    W = M(:, J)                     components = data[anchors]
    R, the projected matrix         never formed: only the squared length of each of its rows

One pass per anchor; besides the data the memory is O(n + k d), and sparse data stay sparse. What is
known of the rows stays where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.blocks.parts import Part
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.orthogonal import (
    ROUNDING,
    orthogonal_part,
    without_rounding,
)
from provenmf.records import Solution, StopReason
from provenmf.solvers.run import Callback, Run
from provenmf.solvers.separable.anchors import (
    anchor_solution,
    number_to_try,
    row_scales,
    settle_number,
)
from provenmf.solvers.separable.leaders import first_chosen, leaders, leaders_in, places_in

Floats = NDArray[np.float64]


def spa(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    scale_rows: bool = False,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Anchors by successive projection.

    Parameters
    ----------
    n_components : how many anchors; None looks for the largest drop of the residual length
        from one anchor to the next.
    scale_rows : look for anchors among the rows divided by their sums; components stay
        unscaled rows. For nonnegative data whose weights do not sum to at most one.

    Returns
    -------
    Solution whose trace has, per anchor tried, the `residual` length with which it was chosen,
    and whose AnchorState has `drop`: the ratio of the last anchor's residual to the next one.
    """

    def begin(block: Block, rows: range, *known: Floats) -> Part:
        scales = row_scales(block) if scale_rows else np.ones(1)
        lengths = squared_row_norms(block) * scales**2
        return judged(block, rows, scales, lengths, *(known or (lengths,)))

    number = number_to_try(blocks, n_components, blocks.n_columns)
    run = Run(number, callback=callback, verbose=verbose, name="SPA")
    basis, known = np.empty((0, blocks.n_columns)), []
    anchors: list[int] = []
    chosen_with: list[float] = []
    if run.saved is not None:
        basis, known = run.saved["basis"], [run.saved["residual"]]
        anchors, chosen_with = run.saved["anchors"], run.saved["chosen_with"]
    numbers = range(blocks.n_rows)
    state = blocks.keep(begin, numbers, *known)
    run.keeps(
        lambda: {
            "residual": state.rows(lambda part: part[2]),
            "basis": basis,
            "anchors": anchors,
            "chosen_with": chosen_with,
        }
    )
    chosen = first_chosen(state.each(leaders_in))
    for _ in run:
        if chosen.score == 0:
            run.stop(StopReason.NOTHING_TO_PROJECT)
            continue
        chosen_with.append(math.sqrt(chosen.score))
        run.record(residual=chosen_with[-1])
        direction = orthogonal_part(chosen.asked[:-1] * chosen.asked[-1], basis)
        direction /= np.linalg.norm(direction)
        basis = np.vstack([basis, direction])
        anchors.append(chosen.row)
        state = blocks.keep(projecting(direction, chosen.row), state, numbers)
        chosen = first_chosen(state.each(leaders_in))

    left = math.sqrt(chosen.largest)
    if len(anchors) == min(blocks.shape):
        # The anchors span the whole space, so that nothing is left for any data: that is no drop.
        # A tenth of the last value stands in, and only a larger drop before it decides.
        left = chosen_with[-1] / 10
    anchors, drop = settle_number(anchors, [*chosen_with, left], n_components, run)
    return anchor_solution(blocks, anchors, drop, run)


def projecting(direction: Floats, anchor: int) -> Callable[[Block, Part, range], Part]:
    """The pass that projects a direction out of all rows; the anchor keeps nothing."""

    def project(block: Block, part: Part, rows: range) -> Part:
        scales, lengths, residual = part[:3]
        along = (block @ direction) * scales
        residual = without_rounding(residual - along**2, lengths)
        residual[places_in(rows, [anchor])] = 0.0
        return judged(block, rows, scales, lengths, residual)

    return project


def judged(block: Block, rows: range, scales: Floats, lengths: Floats, residual: Floats) -> Part:
    """What is kept of a block: factor, squared length and residual of each row, the leaders."""
    factors = np.broadcast_to(scales, len(rows))
    found = leaders(block, rows, residual, 10 * ROUNDING * lengths, factors)
    return scales, lengths, residual, *found
