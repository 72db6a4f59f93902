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
O(n² d) operations per anchor. All keep the n × k weights besides the data; sparse data stay sparse.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.norms import row_sums, squared_residual_rows, squared_row_norms
from provenmf.linalg.orthogonal import ROUNDING, first_largest, without_rounding
from provenmf.records import Solution, StopReason
from provenmf.solvers.run import Callback, Run
from provenmf.solvers.separable.anchors import (
    anchor_solution,
    dense_row,
    dense_rows,
    number_to_try,
    settle_number,
)
from provenmf.storage import as_dense

Variant = Literal["rand", "max", "dist", "greedy"]

# Rows compared with all others at a time by "dist" and "greedy".
PAIR_ROWS = 1024


def xray(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    variant: Variant = "max",
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Anchors as extreme rays of the cone of nonnegative data.

    Parameters
    ----------
    n_components : how many anchors; None looks for the largest drop of the largest residual.
    variant : how the exterior row is chosen, see above.
    rng : for "rand".

    Returns
    -------
    Solution with the weights of the anchors if all those found are kept, the largest `residual`
    before each anchor in the trace, and `drop` in its state.
    """
    lengths = blocks.map_rows(squared_row_norms)
    sums = blocks.map_rows(row_sums)
    rng = np.random.default_rng(rng)
    anchors: list[int] = []
    components = np.empty((0, blocks.n_columns))
    weights = np.empty((blocks.n_rows, 0))
    residual = lengths
    chosen_with: list[float] = []

    number = number_to_try(blocks, n_components)
    run = Run(number, callback=callback, verbose=verbose, name="XRAY")
    if run.saved is not None:
        weights, residual = run.saved["weights"], run.saved["residual"]
        anchors, chosen_with = run.saved["anchors"], run.saved["chosen_with"]
        components = dense_rows(blocks, anchors).astype(np.float64)
        rng.bit_generator.state = run.saved["random"]
    run.keeps(
        lambda: {
            "weights": weights,
            "residual": residual,
            "anchors": anchors,
            "chosen_with": chosen_with,
            "random": rng.bit_generator.state,
        }
    )
    for _ in run:
        if residual.max() == 0:
            run.stop(StopReason.NOTHING_OUTSIDE)
            continue
        chosen_with.append(math.sqrt(residual.max()))
        run.record(residual=chosen_with[-1])
        if variant == "greedy":
            energy = _positive_energy(blocks, weights, _products(blocks, components))
            scores = energy / np.where(lengths > 0, lengths, np.inf)
        else:
            exterior = _exterior_row(blocks, weights, components, residual, lengths, variant, rng)
            ray = dense_row(blocks, exterior) - weights[exterior] @ components
            scores = _per_sum(blocks.map_rows(lambda block, r=ray: block @ r), sums)
        scores[anchors] = -np.inf
        anchors.append(first_largest(scores, 1e-10 * abs(scores.max())))
        components = dense_rows(blocks, anchors).astype(np.float64)
        weights, residual = _projected(blocks, components, weights)
        residual = without_rounding(residual, 10 * lengths)
        residual[anchors] = 0.0

    left = math.sqrt(residual.max())
    kept, drop = settle_number(anchors, [*chosen_with, left], n_components, run)
    solution = anchor_solution(blocks, kept, drop, run)
    if kept != anchors:
        return solution
    return replace(solution, weights=np.ascontiguousarray(weights))


def _exterior_row(
    blocks: Blocks,
    weights: NDArray[np.float64],
    components: NDArray[np.float64],
    residual: NDArray[np.float64],
    lengths: NDArray[np.float64],
    variant: Variant,
    rng: np.random.Generator,
) -> int:
    """A row outside the cone of the anchors, chosen by the variant's rule."""
    if variant == "rand":
        return int(rng.choice(np.flatnonzero(residual > 0)))
    if variant == "max":
        return first_largest(residual, 10 * ROUNDING * lengths)
    energy = _positive_energy(blocks, _products(blocks, components), weights)
    energy[residual == 0] = 0.0
    return first_largest(energy, 1e-10 * energy.max())


def _per_sum(products: NDArray[np.float64], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """r·x_j / p·x_j; a row without mass is no ray and never wins."""
    return np.asarray(np.divide(products, sums, out=np.full(len(sums), -np.inf), where=sums > 0))


def _projected(
    blocks: Blocks, components: NDArray[np.float64], before: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nonnegative least squares on the anchors, and the squared length of what they leave.

    One pass; the weights before the last anchor was added guide.
    """
    gram = components @ components.T

    def project(block: Block, known: NDArray[np.float64]) -> NDArray[np.float64]:
        guess = np.column_stack([known, np.ones(len(known))])
        cross = np.asarray(block @ components.T, dtype=np.float64)
        weights = nonnegative_least_squares(gram, cross, start=guess)
        return np.column_stack([weights, squared_residual_rows(block, weights, components)])

    both = blocks.map_rows(project, before)
    return both[:, :-1], both[:, -1].copy()


def _products(blocks: Blocks, components: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inner products of every row with every component."""
    return blocks.map_rows(lambda block: np.asarray(block @ components.T, dtype=np.float64))


def _positive_energy(
    blocks: Blocks, left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ_i max(x_i·x_j − left_i·right_j, 0)² for each row j; no n × n matrix is kept."""
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
