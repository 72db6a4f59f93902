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
of the cone of the data. The variants differ in the exterior row:

    "rand"    any exterior row, at random
    "max"     the row with the largest residual ‖r_i‖
    "dist"    the row with the largest ‖(r_i Xᵀ)₊‖
    "greedy"  none: the anchor is arg max_j ‖(R x_j)₊‖ / ‖x_j‖ directly

Projection: exact nonnegative least squares of every row on the anchors.

"rand" and "max" make two passes per anchor; "dist" and "greedy" compare all pairs of rows,
O(n² d) operations per anchor. All keep the n × k weights beside the data, for "max" where the rows
are; sparse data stay sparse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks, ByRow, Part, Rows
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.norms import (
    ROUNDING,
    first_largest,
    row_sums,
    squared_residual_rows,
    squared_row_norms,
    without_rounding,
)
from provenmf.linalg.storage import as_dense
from provenmf.methods.run import Callback, OnInterrupt, Run
from provenmf.methods.separable import guarantee
from provenmf.methods.separable.anchors import (
    AnchorFactorizer,
    anchor_solution,
    dense_row,
    dense_rows,
    number_to_try,
)
from provenmf.methods.separable.farthest import (
    Chosen,
    Leaders,
    first_chosen,
    leaders,
    places_in,
)
from provenmf.methods.traits import (
    StrOptions,
    Traits,
)
from provenmf.results import Certificate, Solution, StopReason

Floats = NDArray[np.float64]
Variant = Literal["rand", "max", "dist", "greedy"]

# Rows compared with all others at a time by "dist" and "greedy".
PAIR_ROWS = 1024


class XRAY(AnchorFactorizer):
    """Extreme rays of the cone of the data (Kumar, Sindhwani & Kambadur 2013).

    Model: every row is a nonnegative combination, of any size, of a few rows of the data.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual.
    variant : {"max", "rand", "dist", "greedy"}, default="max"
        How the row that is explained next is chosen. "max" and "rand" are linear in the rows;
        "dist" and "greedy" compare all pairs of rows.
    random_state : int, RandomState instance or None, default=None
        For "rand".
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
    traits = Traits(finds_number=True, anchors=True)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "variant": [StrOptions({"rand", "max", "dist", "greedy"})],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        variant: Variant = "max",
        random_state: int | np.random.RandomState | None = None,
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool | str = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.variant = variant
        self.random_state = random_state
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    @property
    def _looks_at_scaled_rows(self) -> bool:
        return True

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return xray(
            blocks,
            self._number_wanted(blocks.n_rows),
            variant=self.variant,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

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
    """XRAY for rows whose entries may be negative but not their sums, by which it divides.

    Words after a projection and a turn of the axes are like that (`applications.topics`).
    """

    traits = replace(XRAY.traits, negative_data=True)


def xray(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    variant: Variant = "max",
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Find anchors as extreme rays of the cone of nonnegative data; see `XRAY`.

    The solution has the weights of the anchors if all those found are kept, and the trace the
    largest `residual` before each anchor.
    """
    rng = np.random.default_rng(rng)
    number = number_to_try(blocks, n_components)
    run = Run(number, callback=callback, verbose=verbose, name="XRAY")
    anchors: list[int] = []
    components = np.empty((0, blocks.n_columns))
    chosen_with: list[float] = []
    known: list[Floats] = []
    if run.saved is not None:
        known = [run.saved["weights"], run.saved["residual"]]
        anchors, chosen_with = run.saved["anchors"], run.saved["chosen_with"]
        components = dense_rows(blocks, anchors).astype(np.float64)
        rng.bit_generator.state = run.saved["random"]
    numbers = range(blocks.n_rows)
    state = blocks.keep(_begin, numbers, *known)
    run.keeps(
        lambda: {
            "weights": state.array(lambda part: part[2]),
            "residual": state.array(lambda part: part[3]),
            "anchors": anchors,
            "chosen_with": chosen_with,
            "random": rng.bit_generator.state,
        }
    )
    farthest = first_chosen(state.each(lambda part: part[-5:]))
    for _ in run:
        if farthest.largest == 0:
            run.stop(StopReason.NOTHING_OUTSIDE)
            continue
        chosen_with.append(math.sqrt(farthest.largest))
        run.record(residual=chosen_with[-1])
        scores_of: Callable[..., Floats]
        given: ByRow = state
        if variant == "greedy":
            scores_of, given = _greedily(blocks, state, components)
        else:
            row, weights = _exterior_row(blocks, state, components, farthest, variant, rng)
            scores_of = _along(row - weights @ components)
        best = first_chosen(_candidates(blocks, scores_of, given, anchors))
        anchors.append(best.row)
        components = np.vstack([components, best.values])
        state = blocks.keep(_projecting(components, anchors), state, numbers)
        farthest = first_chosen(state.each(lambda part: part[-5:]))

    left = math.sqrt(farthest.largest)
    solution = anchor_solution(blocks, anchors, [*chosen_with, left], n_components, run)
    if len(solution.components) != len(anchors):
        return solution
    return replace(solution, weights=state.map(lambda part: np.ascontiguousarray(part[2])))


def _begin(block: Block, rows: range, *known: Floats) -> Part:
    """Return the state of a block, before the first anchor or from a checkpoint."""
    lengths, sums = squared_row_norms(block), row_sums(block)
    return _judged(block, rows, lengths, sums, *(known or (np.empty((len(rows), 0)), lengths)))


def _judged(
    block: Block,
    rows: range,
    lengths: Floats,
    sums: Floats,
    weights: NDArray[np.floating],
    residual: Floats,
) -> Part:
    """Return squared length, sum, weights and squared residual of each row, and the leaders."""
    found = leaders(block, rows, residual, 10 * ROUNDING * lengths, weights)
    return lengths, sums, weights, residual, *found


def _projecting(components: Floats, anchors: list[int]) -> Callable[[Block, Part, range], Part]:
    """Return the pass that solves nonnegative least squares on the anchors.

    The weights before the last anchor was added guide.
    """
    gram = components @ components.T

    def project(block: Block, part: Part, rows: range) -> Part:
        lengths, sums, known = part[:3]
        guess = np.column_stack([known, np.ones(len(known))])
        cross = np.asarray(block @ components.T, dtype=np.float64)
        weights = nonnegative_least_squares(gram, cross, start=guess)
        left = squared_residual_rows(block, weights, components)
        residual = without_rounding(left, 10 * lengths)
        residual[places_in(rows, anchors)] = 0.0
        return _judged(block, rows, lengths, sums, weights, residual)

    return project


def _candidates(
    blocks: Blocks, scores_of: Callable[..., Floats], given: ByRow, anchors: list[int]
) -> Iterator[Leaders]:
    """Yield rows of every block that may be the next anchor; earlier anchors are excluded."""

    def best_of(block: Block, of_block: Any, rows: range) -> Leaders:
        scores = scores_of(block, of_block)
        scores[places_in(rows, anchors)] = -np.inf
        return leaders(block, rows, scores, 1e-10 * abs(scores.max()))

    return (found for _, _, found in blocks.each(best_of, given, range(blocks.n_rows)))


def _along(ray: Floats) -> Callable[[Block, Part], Floats]:
    """Return scores of rows along the residual of an exterior row."""
    return lambda block, part: _per_sum(block @ ray, part[1])


def _greedily(
    blocks: Blocks, state: Rows, components: Floats
) -> tuple[Callable[[Block, Floats], Floats], Floats]:
    """Return scores of rows by what they explain of all residuals, and how to look them up."""
    lengths, weights = (state.array(itemgetter(place)) for place in (0, 2))
    energy = _positive_energy(blocks, weights, _products(blocks, components))
    return (lambda _, scores: scores.copy()), energy / np.where(lengths > 0, lengths, np.inf)


def _exterior_row(
    blocks: Blocks,
    state: Rows,
    components: Floats,
    farthest: Chosen,
    variant: Variant,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Choose a row outside the cone of the anchors by the variant's rule; and its weights."""
    d = blocks.n_columns
    if variant == "max":
        return farthest.values[:d], farthest.values[d:]
    weights, residual = (state.array(itemgetter(place)) for place in (2, 3))
    if variant == "rand":
        row = int(rng.choice(np.flatnonzero(residual > 0)))
    else:
        energy = _positive_energy(blocks, _products(blocks, components), weights)
        energy[residual == 0] = 0.0
        row = first_largest(energy, 1e-10 * energy.max())
    return dense_row(blocks, row), weights[row]


def _per_sum(products: Floats, sums: Floats) -> Floats:
    """Return r·x_j / p·x_j; a row without mass is no ray and never wins."""
    return np.asarray(np.divide(products, sums, out=np.full(len(sums), -np.inf), where=sums > 0))


def _products(blocks: Blocks, components: Floats) -> Floats:
    """Return inner products of every row with every component."""
    return blocks.map_rows(lambda block: np.asarray(block @ components.T, dtype=np.float64))


def _positive_energy(blocks: Blocks, left: Floats, right: Floats) -> Floats:
    """Return Σ_i max(x_i·x_j − left_i·right_j, 0)² for each row j, without an n × n matrix."""
    out = np.empty(blocks.n_rows)
    for start in range(0, blocks.n_rows, PAIR_ROWS):
        chosen = np.arange(start, min(start + PAIR_ROWS, blocks.n_rows))
        rows = blocks.take(chosen).T

        def energy(block: Block, part: Any, rows: Block = rows, other: Any = right[chosen]) -> Any:
            total = np.zeros(rows.shape[1])
            for first in range(0, block.shape[0], PAIR_ROWS):
                piece = slice(first, first + PAIR_ROWS)
                product = as_dense(block[piece] @ rows)
                positive = np.maximum(product - part[piece] @ other.T, 0.0)
                total += np.einsum("ij,ij->j", positive, positive)
            return total

        out[chosen] = blocks.map_reduce(energy, left)
    return out
