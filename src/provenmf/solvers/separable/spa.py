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

One pass per anchor; besides the data the memory is O(n + k d), and sparse data stay sparse.
"""

from __future__ import annotations

import math

import numpy as np

from provenmf.blocks import Blocks
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.orthogonal import (
    ROUNDING,
    first_largest,
    orthogonal_part,
    without_rounding,
)
from provenmf.records import Solution, StopReason
from provenmf.solvers.run import Callback, Run
from provenmf.solvers.separable.anchors import (
    anchor_solution,
    dense_row,
    number_to_try,
    row_scales,
    settle_number,
)


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
    scales = row_scales(blocks) if scale_rows else np.ones(blocks.n_rows)
    lengths = blocks.map_rows(squared_row_norms) * scales**2
    residual = lengths.copy()
    basis = np.empty((0, blocks.n_columns))
    anchors: list[int] = []
    chosen_with: list[float] = []

    number = number_to_try(blocks, n_components, blocks.n_columns)
    run = Run(number, callback=callback, verbose=verbose, name="SPA")
    if run.saved is not None:
        residual, basis = run.saved["residual"], run.saved["basis"]
        anchors, chosen_with = run.saved["anchors"], run.saved["chosen_with"]
    run.keeps(
        lambda: {
            "residual": residual,
            "basis": basis,
            "anchors": anchors,
            "chosen_with": chosen_with,
        }
    )
    for _ in run:
        anchor = first_largest(residual, 10 * ROUNDING * lengths)
        if residual[anchor] == 0:
            run.stop(StopReason.NOTHING_TO_PROJECT)
            continue
        chosen_with.append(math.sqrt(residual[anchor]))
        run.record(residual=chosen_with[-1])
        direction = orthogonal_part(dense_row(blocks, anchor) * scales[anchor], basis)
        direction /= np.linalg.norm(direction)
        basis = np.vstack([basis, direction])
        anchors.append(anchor)
        along = blocks.map_rows(lambda block, u=direction: block @ u) * scales
        residual = without_rounding(residual - along**2, lengths)
        residual[anchor] = 0.0

    left = math.sqrt(residual.max())
    if len(anchors) == min(blocks.shape):
        # The whole space is spanned, so nothing is left whatever the data: no evidence. Then only
        # a tenfold drop further up says that the anchors behind it are noise.
        left = chosen_with[-1] / 10
    anchors, drop = settle_number(anchors, [*chosen_with, left], n_components, run)
    return anchor_solution(blocks, anchors, drop, run)
