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
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks, as_blocks
from provenmf.linalg.nnls import Constraint
from provenmf.linalg.norms import ROUNDING, orthogonal_part, orthonormal_rows
from provenmf.methods.run import Callback, OnInterrupt, Run
from provenmf.methods.separable import guarantee
from provenmf.methods.separable.anchors import (
    AnchorFactorizer,
    anchor_solution,
    dense_rows,
    number_to_try,
    row_scales,
)
from provenmf.methods.separable.farthest import Factors, FarthestRows
from provenmf.methods.traits import (
    AT_LEAST_ONE,
    CONSTRAINT,
    Traits,
)
from provenmf.results import Certificate, Solution, StopReason

Floats = NDArray[np.float64]


class FastAnchor(AnchorFactorizer):
    """FastAnchor (Arora et al. 2013): take the row farthest from the affine span of those chosen.

    Model: every row is a convex combination of a few rows of the data. Apart from the choice of
    the first anchor, the result does not change when all rows are shifted by the same vector. Data
    may be negative.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the distance.
    refine : bool, default=True
        Do a second round that searches for each anchor again, given the others.
    scale_rows : bool, default=False
        Look for anchors among the rows scaled to a sum of one (for counts, such as co-occurrences).
    n_projections : int or None, default=None
        Look for anchors after projection onto this many random directions.
    constraint : {"simplex", "nonnegative"}, default="simplex"
        Constraint on the weights.
    random_state : int, RandomState instance or None, default=None
        For the random directions.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components or lie at them, in order of choice.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    SPA : the same with the linear span.
    MERIT : all anchors at once.

    References
    ----------
    Arora, S. et al., "A practical algorithm for topic modeling with provable guarantees", ICML
    2013.

    Examples
    --------
    Corners of a triangle and its middle; where the origin lies does not matter.

    >>> import numpy as np
    >>> from provenmf import FastAnchor
    >>> X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4 / 3, 1.0]])
    >>> sorted(FastAnchor(n_components=3).fit(X - 1.0).anchors_.tolist())
    [0, 1, 2]
    """

    _method = "fast_anchor"
    traits = Traits(negative_data=True, finds_number=True, anchors=True)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "refine": ["boolean"],
        "scale_rows": ["boolean"],
        "n_projections": [AT_LEAST_ONE, None],
        "constraint": [CONSTRAINT],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        refine: bool = True,
        scale_rows: bool = False,
        n_projections: int | None = None,
        constraint: Constraint = "simplex",
        random_state: int | np.random.RandomState | None = None,
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool | str = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.refine = refine
        self.scale_rows = scale_rows
        self.n_projections = n_projections
        self.constraint = constraint
        self.random_state = random_state
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return fast_anchor(
            blocks,
            self._number_wanted(blocks.n_rows),
            refine=self.refine,
            scale_rows=self.scale_rows,
            n_projections=self.n_projections,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify_fast_anchor(fit, scale_rows=self.scale_rows)


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
    """Find the rows farthest from the affine span of those before; see `FastAnchor`.

    The trace has the `distance` of each anchor tried. The first anchor has no span to be far from:
    it is judged by its distance from the second.
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
    found = anchor_solution(blocks, anchors, [*distances, left], n_components, run)
    if not refine or len(found.components) == 1:
        return found
    anchors = _refined(farthest, longest, anchors[: len(found.components)])
    return replace(found, components=dense_rows(blocks, anchors), anchors=np.array(anchors))


def _refined(farthest: FarthestRows, longest: float, anchors: list[int]) -> list[int]:
    """Choose each anchor again, given all the others: Arora13, Algorithm 4, second loop.

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
    """Return the normal of the others' affine span, a point of it, and the squared height."""
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
    """Return the rows among which anchors are sought, their factors, and arrays for these."""
    if n_projections is None:
        return blocks, row_scales if scale_rows else None, ()
    rng = np.random.default_rng(rng)
    directions = rng.standard_normal((blocks.n_columns, n_projections)) / math.sqrt(n_projections)
    points = as_blocks(blocks.map_rows(lambda block: np.asarray(block @ directions)))
    if not scale_rows:
        return points, None, ()
    return points, lambda _, scales: scales, (blocks.map_rows(row_scales),)
