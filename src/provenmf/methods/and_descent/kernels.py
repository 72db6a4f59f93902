"""Passes of AND over the rows, and its gradient steps in closed form.

For fixed weights Z and data Y the loss ½‖Y − ZC‖²_F has the gradient G C − B with G = ZᵀZ (k, k)
and B = ZᵀY (k, d), which one pass sums up. A step C ← C + η (B − G C) only needs these two, and in
the eigenvectors of G every coordinate moves separately, so that T steps have a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.linalg.norms import (
    absolute_row_sums,
    inverse_where_positive,
    row_lengths,
    squared_residual_rows,
)
from provenmf.linalg.spectral import block_krylov

Array = NDArray[np.float64]

ROUNDING = 1e3  # units of the data's precision below which a raw weight counts as zero
DEPENDENT = 1e-8  # components of unit length with a smaller singular value are dependent


@dataclass(frozen=True, eq=False)
class StageState:
    """State between two stages; the last four fields are the adaptive schedule's.

    independence : see `decoder_of`. thresholds : α of each component.
    watched : components to refit. movement : of the decoded weights of each component.
    size_when_watched : size of the negative weights when a component was last watched.
    """

    components: Array
    decoder: Array
    independence: float
    thresholds: Array
    watched: NDArray[np.intp]
    movement: Array
    size_when_watched: Array
    stage: int = 0

    def with_components(self, components: Array, **changes: Any) -> StageState:
        """Return the state with other components and their decoder."""
        decoder, independence = decoder_of(components)
        return replace(
            self, components=components, decoder=decoder, independence=independence, **changes
        )


@dataclass(frozen=True, eq=False)
class StageSums:
    """Sums over the rows of y (data), r (raw decoded weights) and z (thresholded weights).

    cross : zᵀy (k, d).  gram : zᵀz (k, k).  raw_gram : rᵀr (k, k).
    below : (k, k), column i is the sum of r_i r over the rows with r_i < α_i.
    facet_grams : (w, k, k), sum of rᵀr over the same rows, for the watched components only.
    support : (k,) number of rows with r_i ≥ α_i.
    negative : (3, k) number, sum and sum of squares of negative r_i.
    negative_gram : (k, k) sum of the products of the negative parts of r.
    absolute : (k,) sum of |r_i|.  data : (2,) sums of |y| and of y².
    rows : number of rows.
    """

    cross: Array
    gram: Array
    raw_gram: Array
    below: Array
    facet_grams: Array
    support: Array
    negative: Array
    negative_gram: Array
    absolute: Array
    data: Array
    rows: Array

    @property
    def negative_size(self) -> Array:
        """Root mean square of the negative decoded weights of each component."""
        count, _, squares = self.negative
        return np.asarray(np.sqrt(squares / np.maximum(count, 1.0)))


def stage_sums(
    blocks: Blocks,
    decoder: Array,
    thresholds: Array,
    row_scales: Array,
    *,
    watched: NDArray[np.intp],
    for_update_only: bool = False,
) -> StageSums:
    """Compute all sums of a stage in one pass. Rows are multiplied by `row_scales` first.

    for_update_only : leave zeros where only the adaptive schedule would look.
    """
    narrow = decoder.astype(blocks.dtype, copy=False)
    rounding = ROUNDING * float(np.finfo(blocks.dtype).eps)

    def sums_of(block: Block, scales: Array) -> tuple[Array, ...]:
        raw = np.asarray(block @ narrow, dtype=np.float64) * scales[:, None]
        decoded = np.where(raw >= thresholds, raw, 0.0)
        update = weighted_rows(block, decoded * scales[:, None]), decoded.T @ decoded
        support = np.count_nonzero(decoded, axis=0).astype(np.float64)
        rows = np.array(float(len(raw)))
        if for_update_only:
            k = len(support)
            nothing = np.zeros((k, k))
            unused = np.zeros((3, k)), nothing, np.zeros(k), np.zeros(2)
            return *update, nothing, nothing, np.zeros((0, k, k)), support, *unused, rows
        small = np.where(raw < thresholds, raw, 0.0)
        below_zero, raw_gram = np.minimum(raw, 0.0), raw.T @ raw
        return (
            *update,
            raw_gram,
            raw.T @ small,
            facet_grams(raw, decoded, raw_gram, watched),
            support,
            negative_moments(raw, rounding),
            below_zero.T @ below_zero,
            np.abs(raw).sum(axis=0),
            np.array(
                [absolute_row_sums(block) @ scales, np.square(row_lengths(block) * scales).sum()]
            ),
            rows,
        )

    return StageSums(*blocks.map_reduce(sums_of, row_scales))


def weighted_rows(block: Block, weights: Array) -> Array:
    """Return weightsᵀ @ block for a dense or sparse block, in double precision."""
    narrow = weights.astype(block.dtype, copy=False)
    product = narrow.T @ block if isinstance(block, np.ndarray) else (block.T @ narrow).T
    return np.ascontiguousarray(product, dtype=np.float64)


def facet_grams(raw: Array, decoded: Array, raw_gram: Array, watched: NDArray[np.intp]) -> Array:
    """Return Σ rᵀr over the rows in which component i is below its threshold, for watched i.

    Summed directly or as the whole minus the rest, whichever has fewer rows.
    """
    grams = np.empty((len(watched), raw.shape[1], raw.shape[1]))
    for position, component in enumerate(watched):
        above = decoded[:, component] > 0
        many_below = 2 * np.count_nonzero(above) < len(raw)
        part = raw[above] if many_below else raw[~above]
        grams[position] = raw_gram - part.T @ part if many_below else part.T @ part
    return grams


def negative_moments(raw: Array, rounding: float) -> Array:
    """Return number, sum of sizes and sum of squares of the negative entries of each column.

    Entries below `rounding` times the largest of their row do not count: which of them are
    negative depends on the order of sums, and so on the storage of the data.
    """
    smallest = rounding * np.abs(raw).max(axis=1, keepdims=True)
    negative = np.where(raw < -smallest, raw, 0.0)
    return np.stack(
        [np.count_nonzero(negative, axis=0), -negative.sum(axis=0), (negative**2).sum(axis=0)]
    )


def decoded_level(blocks: Blocks, decoder: Array, row_scales: Array) -> float:
    """Return the size of a large weight: the 90 % quantile of the rows' largest raw weights."""
    narrow = decoder.astype(blocks.dtype, copy=False)

    def largest(block: Block, scales: Array) -> Array:
        return np.asarray((block @ narrow).max(axis=1) * scales, dtype=np.float64)

    return float(np.quantile(blocks.map_rows(largest, row_scales), 0.9))


def squared_residuals(blocks: Blocks, components: Array, row_scales: Array) -> Array:
    """Return ‖y − max(y A†, 0) A‖² of each scaled row y."""
    decoder = np.linalg.pinv(components).astype(blocks.dtype, copy=False)

    def residuals(block: Block, scales: Array) -> Array:
        weights = np.maximum(np.asarray(block @ decoder, dtype=np.float64), 0.0)
        return np.square(np.sqrt(squared_residual_rows(block, weights, components)) * scales)

    return blocks.map_rows(residuals, row_scales)


def leading_span(blocks: Blocks, k: int, row_scales: Array) -> Array:
    """Return orthonormal rows near the k leading right singular vectors of the scaled rows.

    One Krylov space, six passes over the data; fewer rows where the rank is lower.
    """

    def image(vectors: Array) -> Array:
        def of_block(block: Block, scales: Array) -> Array:
            return np.asarray(block.T @ (scales[:, None] ** 2 * np.asarray(block @ vectors)))

        return np.asarray(blocks.map_reduce(of_block, row_scales))

    values, vectors, _ = block_krylov(image, blocks.n_columns, k, tol=0.0, max_restarts=1)
    present = values > 1e-13 * values[0]  # squared singular values: smaller ones are rounding
    return np.ascontiguousarray(vectors[:, present].T)


def decoder_of(components: NDArray[np.floating]) -> tuple[Array, float]:
    """Return the Moore-Penrose inverse (d, k) of components (k, d) and their independence.

    data @ decoder are the least-squares weights. The second value is the smallest singular value
    of the components divided by the largest one; near zero, some are dependent, and the decoder
    ignores directions whose singular value is below 1e-12 of the largest.
    """
    wide = np.asarray(components, dtype=np.float64)
    left, singular, right = np.linalg.svd(wide, full_matrices=False)
    keep = singular > 1e-12 * singular[0]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=keep)
    known = wide.shape[0] <= wide.shape[1] and singular[0] > 0
    independence = float(singular[-1] / singular[0]) if known else 0.0
    return right.T @ (inverse[:, None] * left.T), independence


def after_gradient_steps(
    start: Array, cross: Array, gram: Array, *, step_size: float, steps: int
) -> Array:
    """Take exactly `steps` steps C ← C + η (B − G C) from `start` in closed form.

    With G = V diag(w) Vᵀ, a coordinate c of VᵀC ends at (1 − ηw)^T c + (1 − (1 − ηw)^T)/w b.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = (1.0 - step_size * values) ** steps
    taken = _geometric_sum(step_size * values, steps) * step_size
    moved = kept[:, None] * (vectors.T @ start) + taken[:, None] * (vectors.T @ cross)
    return vectors @ moved


def after_all_gradient_steps(start: Array, cross: Array, gram: Array) -> Array:
    """Return the limit of the steps: the least-squares solution nearest to `start`.

    Components without any weight keep their value; so do directions in which G, scaled to unit
    diagonal, is smaller than 1e-13 of its norm: they carry no information.
    """
    inverse = inverse_where_positive(np.sqrt(np.diag(gram)))
    values, vectors = np.linalg.eigh(gram * np.multiply.outer(inverse, inverse))
    known = values > 1e-13 * values[-1] if values[-1] > 0 else values > 0
    basis = vectors[:, known]
    residual = inverse[:, None] * (cross - gram @ start)
    return np.asarray(
        start + inverse[:, None] * (basis @ ((basis.T @ residual) / values[known, None]))
    )


def _geometric_sum(x: Array, terms: int) -> Array:
    """Return Σ_{t<T} (1 − x)^t = (1 − (1 − x)^T)/x, accurately for tiny x too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        small = -np.expm1(terms * np.log1p(-x)) / x
        large = (1.0 - (1.0 - x) ** terms) / x
    total = np.where(x < 0.5, small, large)
    return np.where(np.abs(x) < 1e-300, float(terms), total)
