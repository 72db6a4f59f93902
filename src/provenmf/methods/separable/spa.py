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

A few passes find all anchors (`anchors.py`). Besides the data the memory is O(n + k d),
and sparse data stay sparse. With `refine` each anchor of FastAnchor is then replaced by the row
farthest from the affine span of all the others: one pass, and one more for each anchor that
changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks
from provenmf.linalg.nnls import Constraint
from provenmf.linalg.norms import (
    ROUNDING,
    first_largest,
    orthogonal_part,
    orthonormal_rows,
    squared_row_norms,
    without_rounding,
)
from provenmf.linalg.storage import as_dense
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
from provenmf.methods.traits import Traits
from provenmf.results import Certificate, Solution, StopReason

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False, kw_only=True)
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
    scale_rows: bool = False
    constraint: Constraint = "nonnegative"

    @property
    def _sums_below_one(self) -> bool:
        return self.constraint == "nonnegative" and not self.scale_rows

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return self._call(spa, blocks, self._number_wanted(blocks.n_rows))

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify_spa(fit, scale_rows=self.scale_rows)


@dataclass(eq=False, repr=False, kw_only=True)
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
    refine: bool = True
    scale_rows: bool = False
    constraint: Constraint = "simplex"

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return self._call(fast_anchor, blocks, self._number_wanted(blocks.n_rows))

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
    return one_at_a_time(blocks, n_components, run, scale_rows=scale_rows)[0]


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
    found, longest = one_at_a_time(blocks, n_components, run, scale_rows=scale_rows, affine=True)
    if not refine or len(found.components) == 1:
        return found
    assert found.anchors is not None  # rows are chosen
    anchors = _refined(blocks, found.anchors.tolist(), scale_rows, longest)
    return replace(found, components=dense_rows(blocks, anchors), anchors=np.array(anchors))


def one_at_a_time(
    blocks: Blocks,
    n_components: int | None,
    run: Run,
    *,
    scale_rows: bool,
    affine: bool = False,
) -> tuple[Solution, float]:
    """Choose rows, each the farthest from the span of those before, while the run goes on.

    Returns the solution and the squared length of the longest row.
    """
    d = blocks.n_columns
    span = Span(np.empty((0, d)), np.zeros(d)) if run.saved is None else Span(**run.saved)
    run.keeps(lambda: vars(span))

    def point_of(row: int) -> Floats:
        return np.asarray(rows.row(row).astype(np.float64) * rows.known_of(row)[0])

    rows = span.farthest_rows(blocks, scale_rows, affine)
    row, squared = rows.farthest()
    for _ in run:
        if squared == 0:
            run.stop(StopReason.ALL_EXPLAINED)
            continue
        point = point_of(row)
        away = span.part_outside(point)
        span.anchors.append(row)
        span.lengths.append(float(np.linalg.norm(away)))
        run.record(**{"distance" if affine else "residual": span.lengths[-1]})
        if affine and len(span.anchors) == 1:
            span.origin, span.longest = point, squared
            rows = span.farthest_rows(blocks, scale_rows, affine)
        else:
            span.basis = np.vstack([span.basis, away / span.lengths[-1]])
            rows.choose([row], span.basis[-1:])
        row, squared = rows.farthest()

    residuals = list(span.lengths)
    if affine and len(residuals) > 1:
        residuals[0] = residuals[1]
    left = float(np.linalg.norm(span.part_outside(point_of(row)))) if squared > 0 else 0.0
    if len(residuals) == min(blocks.n_rows, d + affine):
        # The anchors span the whole space, so that nothing is left for any data: that is no drop.
        # A tenth of the last value stands in, and only a larger drop before it decides.
        left = residuals[-1] / 10
    found = anchor_solution(blocks, span.anchors, [*residuals, left], n_components, run)
    return found, span.longest


@dataclass(eq=False)
class Span:
    """The span of the rows chosen so far, with how far each was from that of those before.

    basis : orthonormal rows. origin : a point of the span. longest : squared length of the longest
    row, for affine spans.
    """

    basis: Floats
    origin: Floats
    longest: float = 0.0
    anchors: list[int] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)

    def part_outside(self, point: NDArray[np.floating]) -> Floats:
        """Return the part of a point that is orthogonal to the span."""
        return orthogonal_part(point - self.origin, self.basis)

    def farthest_rows(self, blocks: Blocks, scale_rows: bool, affine: bool) -> FarthestRows:
        """Return the rows by their distance from the span."""
        longest = self.longest if affine else 0.0
        rows = FarthestRows(blocks, DistanceFromSpan(scale_rows, self.origin, longest))
        rows.choose(self.anchors, self.basis)
        return rows


@dataclass(frozen=True, eq=False)
class DistanceFromSpan:
    """Squared distances of rows from a span that begins at a point and grows.

    scale_rows : whether rows are divided by their sums. origin : where the span begins.
    longest : squares that rounding of this one explains are zero; 0: rounding of the row's own.
    """

    scale_rows: bool
    origin: Floats
    longest: float = 0.0

    def begin(self, block: Block) -> tuple[Floats, Floats]:
        """Return factor and squared size of each row, and its squared distance from the origin."""
        factors = row_scales(block) if self.scale_rows else np.ones(block.shape[0])
        lengths = squared_row_norms(block) * factors**2
        squared = lengths
        if self.origin.any():
            squared = lengths - 2 * (block @ self.origin) * factors + self.origin @ self.origin
            squared = np.where(factors == 0, 0.0, squared)
        sizes = np.full(len(lengths), self.longest) if self.longest else lengths
        return np.column_stack([factors, sizes]), without_rounding(squared, sizes)

    def after(self, block: Block, known: Floats, scores: Floats, vectors: Floats) -> Floats:
        """Return the distances after the span has grown by orthonormal vectors."""
        along = self.along(block, known, vectors, vectors @ self.origin)
        return without_rounding(scores - np.einsum("ij,ij->i", along, along), known[:, 1])

    def along(self, block: Block, known: Floats, vectors: Floats, offsets: Floats) -> Floats:
        """Return the products of all rows with vectors, less the offset of each vector."""
        products = np.asarray(block @ vectors.T, dtype=np.float64) * known[:, :1]
        return products - np.outer(known[:, 0] != 0, offsets)

    def rounding(self, known: Floats) -> Floats:
        """Return by how much a squared distance may be off."""
        return np.asarray(10 * ROUNDING * known[:, 1])


def _refined(blocks: Blocks, anchors: list[int], scale_rows: bool, longest: float) -> list[int]:
    """Choose each anchor again, given all the others: Arora13, Algorithm 4, second loop.

    The anchor itself stays unless another row is farther by more than rounding. One pass judges all
    anchors as if none changed. If one does, the next pass judges those behind it.
    """
    judged = 0
    while judged < len(anchors):
        rows = blocks.take(np.array(anchors))
        corners = as_dense(rows).astype(np.float64)
        if scale_rows:
            corners *= row_scales(rows)[:, None]
        distance = DistanceFromSpan(scale_rows, corners[0], longest)
        found, squared, own = _farthest_without_each(blocks, distance, corners, anchors)
        farther = np.flatnonzero(squared > own + 10 * ROUNDING * longest)
        farther = farther[farther >= judged]
        if not farther.size:
            break
        anchors[farther[0]] = int(found[farther[0]])
        judged = int(farther[0]) + 1
    return anchors


def _farthest_without_each(
    blocks: Blocks, distance: DistanceFromSpan, corners: Floats, anchors: list[int]
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return for each anchor the row farthest from the span of the others, in one pass.

    The squared distance to the span of the others exceeds that to the span of all corners by the
    square of the height over the face of the others. Returns rows, squares, and those of the
    anchors themselves.
    """
    basis = orthonormal_rows(corners[1:] - corners[0])
    normals, heights = faces(corners)
    offsets = np.einsum("ij,ij->i", normals, corners) - heights
    k = np.arange(len(anchors))

    def of_block(block: Block, rows: range) -> tuple[NDArray[np.intp], Floats]:
        known, squared = distance.begin(block)
        squared = distance.after(block, known, squared, basis)
        above = distance.along(block, known, normals, offsets)
        scores = without_rounding(squared + above.T**2, known[:, 1])
        for place in k:
            if anchors[place] in rows:
                scores[k != place, anchors[place] - rows.start] = 0.0
        best = np.array([first_largest(each, distance.rounding(known)) for each in scores])
        return best + rows.start, scores[k, best]

    _, _, found = zip(*blocks.each(of_block, range(blocks.n_rows)))
    places, scores = (np.array(each) for each in zip(*found))
    slack = 10 * ROUNDING * distance.longest
    block = (scores + slack >= scores.max(axis=0)).argmax(axis=0)
    return places[block, k], scores.max(axis=0), heights**2


def faces(corners: Floats) -> tuple[Floats, Floats]:
    """Return for each corner of a simplex the unit normal of the opposite face, and its height.

    Barycentric coordinates grow along the normals, by one from the face to the corner.
    """
    gradients = np.linalg.pinv(corners - corners.mean(axis=0), rcond=1e-9).T
    lengths = np.linalg.norm(gradients, axis=1)
    return gradients / lengths[:, None], 1.0 / lengths
