"""XRAY: extreme rays of the cone of the data, one at a time, each followed by a projection.

Kumar, Sindhwani & Kambadur, "Fast conical hull algorithms for near-separable non-negative matrix
factorization", 2013 (Kumar13), Algorithm 1.

    Kumar13                            here
    X, points in columns               data rows x_j
    A, anchor indices                  anchors
    H, from nonnegative least squares  weights of the anchors chosen so far
    R = X − X_A H                      residual rows r_i = x_i − w_i · components; never stored
    p, a positive vector               all ones: p·x_j is the sum of row j

Detection: with an exterior row i (r_i ≠ 0) the next anchor is arg max_j r_i·x_j / p·x_j, a face
of the cone of the data. The exterior row is the one with the largest residual ‖r_i‖ (variant "max";
"dist" and "greedy" compare all pairs of rows and are left out).

Projection: exact nonnegative least squares of every row on the anchors.

Two passes per anchor; the n × k weights are kept beside the rows; sparse data stay sparse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks, Part, Rows
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.norms import (
    ROUNDING,
    first_largest,
    row_sums,
    squared_residual_rows,
    squared_row_norms,
    without_rounding,
)
from provenmf.methods.run import Callback, Run
from provenmf.methods.separable import guarantee
from provenmf.methods.separable.anchors import (
    AnchorFactorizer,
    anchor_solution,
    dense_row,
    dense_rows,
    number_to_try,
)
from provenmf.methods.traits import Traits
from provenmf.results import Certificate, Solution, StopReason

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False, kw_only=True)
class XRAY(AnchorFactorizer):
    """Extreme rays of the cone of the data (Kumar, Sindhwani & Kambadur 2013).

    Model: every row is a nonnegative combination, of any size, of a few rows of the data.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual.
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
    SPA : faster, for weights that sum to at most one.

    References
    ----------
    Kumar, A., Sindhwani, V. and Kambadur, P., "Fast conical hull algorithms for near-separable
    non-negative matrix factorization", ICML 2013.

    Examples
    --------
    Rows of any length that combine the first two.

    >>> import numpy as np
    >>> from provenmf import XRAY
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [20.0, 15.0], [0.2, 0.1]])
    >>> sorted(XRAY(n_components=2).fit(X).anchors_.tolist())
    [0, 1]
    """

    _method = "xray"
    traits = Traits(finds_number=True, anchors=True, random="never")

    @property
    def _looks_at_scaled_rows(self) -> bool:
        return True

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return self._call(xray, blocks, self._number_wanted(blocks.n_rows))

    def _final_weights(self, blocks: Blocks, solution: Solution) -> Rows:
        known: Rows | None = solution.weights
        if known is None:
            return super()._final_weights(blocks, solution)
        # The last projection solved the same problem.
        dtype = blocks.dtype
        return known.map(lambda weights: weights.astype(dtype, copy=False))

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify_cone(fit)


class SignedXRAY(XRAY):
    """XRAY for rows that may have negative entries; their sums must not be negative.

    Words after a projection and a turn of the axes are like that (`applications.topics`).
    """

    traits = replace(XRAY.traits, negative_data=True)


def xray(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find anchors as extreme rays of the cone of nonnegative data; see `XRAY`.

    The solution has the weights of the anchors if all those found are kept, and the trace the
    largest `residual` before each anchor.
    """
    number = number_to_try(blocks, n_components)
    run = Run(number, callback=callback, verbose=verbose, name="XRAY")
    anchors: list[int] = []
    lengths: list[float] = []
    components = np.empty((0, blocks.n_columns))
    known: list[Floats] = []
    if run.saved is not None:
        known = [run.saved["weights"], run.saved["residual"]]
        anchors, lengths = run.saved["anchors"], run.saved["lengths"]
        components = dense_rows(blocks, anchors).astype(np.float64)
    state = blocks.keep(_begin, *known)
    run.keeps(
        lambda: {
            "weights": state.array(lambda part: part[2]),
            "residual": state.array(lambda part: part[3]),
            "anchors": anchors,
            "lengths": lengths,
        }
    )
    rounding = 10 * ROUNDING * state.array(lambda part: part[0])
    for _ in run:
        exterior, squared = _exterior_row(state, rounding, anchors)
        if squared == 0:
            run.stop(StopReason.ALL_EXPLAINED)
            continue
        lengths.append(math.sqrt(squared))
        run.record(residual=lengths[-1])
        ray = dense_row(blocks, exterior)
        if anchors:
            gram, cross = components @ components.T, components @ ray
            ray = ray - nonnegative_least_squares(gram, cross[None])[0] @ components
        anchors.append(_extreme_row(blocks, ray, state, anchors))
        components = np.vstack([components, dense_row(blocks, anchors[-1])])
        state = blocks.keep(_projecting(components), state)

    left = math.sqrt(_exterior_row(state, rounding, anchors)[1])
    solution = anchor_solution(blocks, anchors, [*lengths, left], n_components, run)
    if len(solution.components) != len(anchors):
        return solution
    return replace(solution, weights=state.map(lambda part: np.ascontiguousarray(part[2])))


def _begin(block: Block, *known: Floats) -> Part:
    """Return squared length, sum, weights and squared residual of each row of a block.

    Weights and residuals are those of a checkpoint, if there is one.
    """
    lengths = squared_row_norms(block)
    return lengths, row_sums(block), *(known or (np.empty((len(lengths), 0)), lengths))


def _projecting(components: Floats) -> Callable[[Block, Part], Part]:
    """Return the pass that solves nonnegative least squares on the anchors.

    The weights before the last anchor was added guide.
    """
    gram = components @ components.T

    def project(block: Block, part: Part) -> Part:
        lengths, sums, known = part[:3]
        guess = np.column_stack([known, np.ones(len(known))])
        cross = np.asarray(block @ components.T, dtype=np.float64)
        weights = nonnegative_least_squares(gram, cross, start=guess)
        left = squared_residual_rows(block, weights, components)
        return lengths, sums, weights, without_rounding(left, 10 * lengths)

    return project


def _exterior_row(state: Rows, rounding: Floats, anchors: list[int]) -> tuple[int, float]:
    """Return the row with the largest squared residual that is not an anchor, and the residual."""
    residual = state.array(lambda part: part[3]).copy()
    residual[anchors] = 0.0
    row = first_largest(residual, rounding)
    return row, float(residual[row])


def _extreme_row(blocks: Blocks, ray: Floats, state: Rows, anchors: list[int]) -> int:
    """Find the row j, not an anchor and of positive sum, with the largest r·x_j / p·x_j."""

    def scores_of(block: Block, part: Part) -> Floats:
        products, sums = np.asarray(block @ ray), part[1]
        return np.asarray(
            np.divide(products, sums, out=np.full(len(sums), -np.inf), where=sums > 0)
        )

    scores = blocks.map_rows(scores_of, state)
    scores[anchors] = -np.inf
    return first_largest(scores, 1e-10 * abs(float(scores.max())))
