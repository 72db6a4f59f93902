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

One pass per anchor, or a few for all of them where passes take long (`farthest.py`). With `refine`
each anchor is then replaced by the row farthest from the affine span of all the others: one pass,
and one more for each anchor that changes. Sparse data stay sparse.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks, as_blocks
from provenmf.linalg.orthogonal import ROUNDING, orthogonal_part, orthonormal_rows
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable.anchors import (
    anchor_solution,
    number_to_try,
    row_scales,
    settle_number,
)
from provenmf.methods.separable.farthest import FarthestRows
from provenmf.methods.separable.lookahead import Factors
from provenmf.results import Solution, StopReason

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
    points, factors, given = _points(blocks, scale_rows, n_projections, rng)
    number = number_to_try(blocks, n_components, points.n_columns + 1)
    run = Run(number, callback=callback, verbose=verbose, name="FastAnchor")
    farthest = FarthestRows(points, number, factors=factors, given=given)
    anchors: list[int] = []
    distances: list[float] = []
    basis, origin = np.empty((0, points.n_columns)), np.zeros(points.n_columns)
    chosen = farthest.after([], basis)
    longest = chosen.squared
    if run.saved is not None:
        basis, origin = run.saved["basis"], run.saved["origin"]
        anchors, distances = run.saved["anchors"], run.saved["distances"]
    if anchors:
        farthest.measure_from(origin, longest)
        chosen = farthest.after(anchors, basis)
    run.keeps(
        lambda: {"basis": basis, "origin": origin, "anchors": anchors, "distances": distances}
    )
    for iteration in run:
        if chosen.squared == 0:
            run.stop(StopReason.NOTHING_TO_SPAN)
            continue
        away = orthogonal_part(chosen.point - origin, basis)
        distances.append(float(np.linalg.norm(away)))
        run.record(distance=distances[-1])
        anchors.append(chosen.row)
        if iteration == 0:
            origin = chosen.point
            farthest.measure_from(origin, longest)
        else:
            basis = np.vstack([basis, away / distances[-1]])
        chosen = farthest.after(anchors, basis)

    if len(distances) > 1:
        distances[0] = distances[1]
    left = 0.0
    if chosen.squared > 0:
        left = float(np.linalg.norm(orthogonal_part(chosen.point - origin, basis)))
    anchors, drop = settle_number(anchors, [*distances, left], n_components, run)
    if refine and len(anchors) > 1:
        anchors = _refined(farthest, longest, anchors)
    return anchor_solution(blocks, anchors, drop, run)


def _refined(farthest: FarthestRows, longest: float, anchors: list[int]) -> list[int]:
    """Arora13, Algorithm 4, second loop: each anchor again, given all the others.

    The anchor itself stays unless another row is farther by more than rounding. One pass judges all
    anchors as if none changed. If one does, the next pass judges those behind it.
    """
    anchors, judged = list(anchors), 0
    while judged < len(anchors):
        corners = farthest.points(anchors)
        faces = [_face(corners, left_out) for left_out in range(len(anchors))]
        normals, feet, own = (np.array(each) for each in zip(*faces))
        farthest.measure_from(corners[0], longest)
        basis = orthonormal_rows(corners[1:] - corners[0])
        found = farthest.without_each(anchors, basis, normals, feet)
        farther = [
            place
            for place in range(judged, len(anchors))
            if found[place].squared > own[place] + 10 * ROUNDING * longest
        ]
        if not farther:
            break
        anchors[farther[0]] = found[farther[0]].row
        judged = farther[0] + 1
    return anchors


def _face(corners: Floats, left_out: int) -> tuple[Floats, Floats, float]:
    """The affine span of the other corners: normal to the one left out, a point, its height."""
    others = np.delete(corners, left_out, axis=0)
    edges = orthonormal_rows(others[1:] - others[0])
    away = orthogonal_part(corners[left_out] - others[0], edges)
    height = float(away @ away)
    normal = away / math.sqrt(height) if height > 0 else away
    return normal, others[0], height


def _points(
    blocks: Blocks,
    scale_rows: bool,
    n_projections: int | None,
    rng: np.random.Generator | None,
) -> tuple[Blocks, Factors | None, tuple[Floats, ...]]:
    """Rows among which anchors are looked for, their factors, and what these are taken from."""
    if n_projections is None:
        return blocks, row_scales if scale_rows else None, ()
    rng = np.random.default_rng(rng)
    directions = rng.standard_normal((blocks.n_columns, n_projections)) / math.sqrt(n_projections)
    points = as_blocks(blocks.map_rows(lambda block: np.asarray(block @ directions)))
    if not scale_rows:
        return points, None, ()
    return points, lambda _, scales: scales, (blocks.map_rows(row_scales),)
