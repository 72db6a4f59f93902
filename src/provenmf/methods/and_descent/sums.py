"""The one pass of an AND stage: decode every row, threshold, and sum what the stage needs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks

Array = NDArray[np.float64]

# Raw weights count as zero below this many units of the data's precision times the largest weight
# of their row.
ROUNDING = 1e3


@dataclass(frozen=True, eq=False)
class StageSums:
    """Sums over the rows of y (data), r (raw decoded weights) and z (thresholded weights).

    cross : zᵀy (k, d).  gram : zᵀz (k, k).  raw_gram : rᵀr (k, k).
    below : (k, k), column i is the sum of r_i r over the rows with r_i < α_i.
    facet_grams : (w, k, k), sum of rᵀr over the same rows, for the watched components only.
    support : (k,) rows with r_i ≥ α_i.
    negative : (3, k) number, sum and sum of squares of negative r_i.
    rows : how many rows there were.
    """

    cross: Array
    gram: Array
    raw_gram: Array
    below: Array
    facet_grams: Array
    support: Array
    negative: Array
    rows: Array

    def faded_into(self, new: StageSums, keep: float) -> StageSums:
        """Sums of a stream: `keep` times the old ones plus the new ones.

        Facet sums are not kept: which components are watched changes from batch to batch.
        """
        return StageSums(
            *(
                getattr(new, f.name)
                if f.name == "facet_grams"
                else keep * getattr(self, f.name) + getattr(new, f.name)
                for f in fields(self)
            )
        )


def stage_sums(
    blocks: Blocks,
    decoder: Array,
    thresholds: Array,
    row_scales: Array,
    *,
    watched: NDArray[np.intp],
    for_update_only: bool = False,
) -> StageSums:
    """All sums of a stage in one pass. Rows are multiplied by `row_scales` first.

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
            return *update, nothing, nothing, np.zeros((0, k, k)), support, np.zeros((3, k)), rows
        small = np.where(raw < thresholds, raw, 0.0)
        raw_gram = raw.T @ raw
        return (
            *update,
            raw_gram,
            raw.T @ small,
            facet_grams(raw, decoded, raw_gram, watched),
            support,
            negative_moments(raw, rounding),
            rows,
        )

    return StageSums(*blocks.map_reduce(sums_of, row_scales))


def weighted_rows(block: Block, weights: Array) -> Array:
    """weightsᵀ @ block for a dense or sparse block, in double precision."""
    narrow = weights.astype(block.dtype, copy=False)
    product = narrow.T @ block if isinstance(block, np.ndarray) else (block.T @ narrow).T
    return np.ascontiguousarray(product, dtype=np.float64)


def facet_grams(raw: Array, decoded: Array, raw_gram: Array, watched: NDArray[np.intp]) -> Array:
    """Σ rᵀr over the rows in which component i is below its threshold, for each watched i.

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
    """Number, sum of sizes and sum of squares of the negative entries of each column.

    Entries that are zero but for rounding do not count: which of them are negative depends on the
    order of sums, and so on the storage of the data.
    """
    smallest = rounding * np.abs(raw).max(axis=1, keepdims=True)
    negative = np.where(raw < -smallest, raw, 0.0)
    return np.stack(
        [np.count_nonzero(negative, axis=0), -negative.sum(axis=0), (negative**2).sum(axis=0)]
    )


def decoded_level(blocks: Blocks, decoder: Array, row_scales: Array) -> float:
    """Size of a large weight: the 90 % quantile over rows of the largest raw weight of a row."""
    narrow = decoder.astype(blocks.dtype, copy=False)

    def largest(block: Block, scales: Array) -> Any:
        return np.asarray(block @ narrow, dtype=np.float64).max(axis=1) * scales

    return float(np.quantile(blocks.map_rows(largest, row_scales), 0.9))
