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

One pass per anchor, or a few for all of them where passes take long (`farthest.py`). Besides the
data the memory is O(n + k d), and sparse data stay sparse. What is known of the rows stays where
they are.
"""

from __future__ import annotations

import numpy as np

from provenmf.data import Blocks
from provenmf.linalg.orthogonal import orthogonal_part
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable.anchors import (
    anchor_solution,
    number_to_try,
    row_scales,
    settle_number,
)
from provenmf.methods.separable.farthest import FarthestRows
from provenmf.results import Solution, StopReason


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

    number = number_to_try(blocks, n_components, blocks.n_columns)
    run = Run(number, callback=callback, verbose=verbose, name="SPA")
    farthest = FarthestRows(blocks, number, factors=row_scales if scale_rows else None)
    basis = np.empty((0, blocks.n_columns))
    anchors: list[int] = []
    chosen_with: list[float] = []
    if run.saved is not None:
        basis = run.saved["basis"]
        anchors, chosen_with = run.saved["anchors"], run.saved["chosen_with"]
    run.keeps(lambda: {"basis": basis, "anchors": anchors, "chosen_with": chosen_with})
    chosen = farthest.after(anchors, basis)
    for _ in run:
        if chosen.squared == 0:
            run.stop(StopReason.NOTHING_TO_PROJECT)
            continue
        direction = orthogonal_part(chosen.point, basis)
        chosen_with.append(float(np.linalg.norm(direction)))
        run.record(residual=chosen_with[-1])
        basis = np.vstack([basis, direction / chosen_with[-1]])
        anchors.append(chosen.row)
        chosen = farthest.after(anchors, basis)

    left = 0.0
    if chosen.squared > 0:
        left = float(np.linalg.norm(orthogonal_part(chosen.point, basis)))
    if len(anchors) == min(blocks.shape):
        # The anchors span the whole space, so that nothing is left for any data: that is no drop.
        # A tenth of the last value stands in, and only a larger drop before it decides.
        left = chosen_with[-1] / 10
    anchors, drop = settle_number(anchors, [*chosen_with, left], n_components, run)
    return anchor_solution(blocks, anchors, drop, run)
