"""Anchors one at a time: the row farthest from the span of those already chosen, again and again.

SPA, successive projection, takes the linear span: take the longest row, project it out of all rows,
repeat. Araujo et al. 2001; analysed by Gillis & Vavasis, "Fast and robust recursive algorithms for
separable nonnegative matrix factorization", 2014 (GV14), whose Algorithm 1 with f = squared
Euclidean length this is.

    GV14                            here
    M = WH + N, points in columns   data ≈ weights @ components, points in rows
    r                               n_components
    J                               anchors
    W = M(:, J)                     components = data[anchors]
    R, the projected matrix         never formed: only the squared length of each of its rows

FastAnchorWords takes the affine span. Arora, Ge, Halpern, Mimno, Moitra, Sontag, Wu & Zhu, "A
practical algorithm for topic modeling with provable guarantees", 2013 (Arora13), Algorithm 4.

    Arora13                       here
    d_1 … d_V, word vectors       rows of the data (scaled to sum one with scale_rows)
    K                             n_components
    S = {v_1 … v_K}               anchors
    4 log V / ε², random space    none: project the rows before, if they have many columns

The first anchor is the row farthest from the origin; it then becomes the origin, so that the
spans are affine: a point of the simplex is judged by its distance to the face spanned so far.
Differs: Arora13 writes span(S); the affine span is what its own program uses, and is the one
that does not depend on where the origin lies.

One pass per anchor, or a few for all of them where passes take long (`FarthestRows`). Besides the
data the memory is O(n + k d), and sparse data stay sparse. With `refine` each anchor of FastAnchor
is then replaced by the row farthest from the affine span of all the others: one pass, and one more
for each anchor that changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks
from provenmf.linalg.nnls import Constraint
from provenmf.linalg.norms import ROUNDING, orthogonal_part, orthonormal_rows
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable import guarantee
from provenmf.methods.separable.anchors import (
    AnchorFactorizer,
    FarthestRows,
    anchor_solution,
    dense_rows,
    number_to_try,
    row_scales,
)
from provenmf.methods.traits import CONSTRAINT, Traits
from provenmf.results import Certificate, Solution, StopReason

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class SPA(AnchorFactorizer):
    """Successive projection (Gillis & Vavasis 2014): take the longest row, project it out, repeat.

    Model: a few rows of the data are anchors, and every row is a mixture of them, with nonnegative
    weights that sum to at most one. Data may be negative; the anchors are then still found, and the
    factors are those of a simplex-structured factorization rather than of NMF.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual (see the state's `drop`).
    scale_rows : bool, default=False
        Look for anchors among the rows scaled to a sum of one. For nonnegative data whose weights
        can be of any size, such as counts.
    constraint : {"nonnegative", "simplex"}, default="nonnegative"
        Constraint on the weights.
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
    XRAY : for weights of any size.
    FastAnchor : farthest from the affine span instead of the linear one.
    MERIT : all anchors at once, more robust against noise.

    References
    ----------
    Gillis, N. and Vavasis, S. A., "Fast and robust recursive algorithms for separable nonnegative
    matrix factorization", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2014.

    Examples
    --------
    The last two rows mix the first two.

    >>> import numpy as np
    >>> from provenmf import SPA
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> SPA(n_components=2).fit(X).anchors_.tolist()
    [0, 1]
    """

    _method = "spa"
    traits = Traits(negative_data=True, finds_number=True, anchors=True, random="never", advised=1)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "scale_rows": ["boolean"],
        "constraint": [CONSTRAINT],
    }

    scale_rows: bool = False
    constraint: Constraint = "nonnegative"

    @property
    def _sums_below_one(self) -> bool:
        return self.constraint == "nonnegative" and not self.scale_rows

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return spa(
            blocks,
            self._number_wanted(blocks.n_rows),
            scale_rows=self.scale_rows,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify_spa(fit, scale_rows=self.scale_rows)


@dataclass(eq=False, repr=False)
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
    constraint : {"simplex", "nonnegative"}, default="simplex"
        Constraint on the weights.
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
    traits = Traits(negative_data=True, finds_number=True, anchors=True, random="never")
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "refine": ["boolean"],
        "scale_rows": ["boolean"],
        "constraint": [CONSTRAINT],
    }

    refine: bool = True
    scale_rows: bool = False
    constraint: Constraint = "simplex"

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return fast_anchor(
            blocks,
            self._number_wanted(blocks.n_rows),
            refine=self.refine,
            scale_rows=self.scale_rows,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify_fast_anchor(fit, scale_rows=self.scale_rows)


def spa(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    scale_rows: bool = False,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find anchors by successive projection; see `SPA` for the parameters.

    The trace has, for each anchor tried, the `residual` length with which it was chosen.
    """
    number = number_to_try(blocks, n_components, blocks.n_columns)
    run = Run(number, callback=callback, verbose=verbose, name="SPA")
    farthest = FarthestRows(blocks, number, factors=row_scales if scale_rows else None)
    return one_at_a_time(farthest, n_components, run)[0]


def fast_anchor(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    refine: bool = True,
    scale_rows: bool = False,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find the rows farthest from the affine span of those before; see `FastAnchor`.

    The trace has the `distance` of each anchor tried. The first anchor has no span to be far from:
    it is judged by its distance from the second.
    """
    number = number_to_try(blocks, n_components, blocks.n_columns + 1)
    run = Run(number, callback=callback, verbose=verbose, name="FastAnchor")
    farthest = FarthestRows(blocks, number, factors=row_scales if scale_rows else None)
    found, longest = one_at_a_time(farthest, n_components, run, affine=True)
    if not refine or len(found.components) == 1:
        return found
    assert found.anchors is not None  # rows are chosen
    anchors = _refined(farthest, longest, found.anchors.tolist())
    return replace(found, components=dense_rows(blocks, anchors), anchors=np.array(anchors))


def one_at_a_time(
    farthest: FarthestRows, n_components: int | None, run: Run, *, affine: bool = False
) -> tuple[Solution, float]:
    """Choose rows, each the farthest from the span of those before, while the run goes on.

    Returns the solution and the squared length of the longest row.
    """
    blocks, word = farthest.blocks, "distance" if affine else "residual"
    basis, origin = np.empty((0, blocks.n_columns)), np.zeros(blocks.n_columns)
    longest = 0.0
    anchors: list[int] = []
    chosen_with: list[float] = []
    if run.saved is not None:
        basis, origin, longest = (run.saved[key] for key in ("basis", "origin", "longest"))
        anchors, chosen_with = run.saved["anchors"], run.saved["chosen_with"]
        if affine and anchors:
            farthest.measure_from(origin, longest)
    run.keeps(
        lambda: {
            "basis": basis,
            "origin": origin,
            "longest": longest,
            "anchors": anchors,
            "chosen_with": chosen_with,
        }
    )
    chosen = farthest.after(anchors, basis)
    for iteration in run:
        if chosen.squared == 0:
            run.stop(StopReason.ALL_EXPLAINED)
            continue
        away = orthogonal_part(chosen.point - origin, basis)
        chosen_with.append(float(np.linalg.norm(away)))
        run.record(**{word: chosen_with[-1]})
        anchors.append(chosen.row)
        if iteration == 0:
            longest = chosen.squared
        if affine and iteration == 0:
            origin = chosen.point
            farthest.measure_from(origin, longest)
        else:
            basis = np.vstack([basis, away / chosen_with[-1]])
        chosen = farthest.after(anchors, basis)

    residuals = list(chosen_with)
    if affine and len(anchors) > 1:
        residuals[0] = residuals[1]
    left = 0.0
    if chosen.squared > 0:
        left = float(np.linalg.norm(orthogonal_part(chosen.point - origin, basis)))
    if len(anchors) == min(blocks.n_rows, blocks.n_columns + affine):
        # The anchors span the whole space, so that nothing is left for any data: that is no drop.
        # A tenth of the last value stands in, and only a larger drop before it decides.
        left = residuals[-1] / 10
    return anchor_solution(blocks, anchors, [*residuals, left], n_components, run), longest


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
