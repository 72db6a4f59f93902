"""No product of rank k comes closer to the data than this (Eckart & Young 1936), proved.

The least squared error is ‖X‖² − Σ_{i≤k} σ_i², and the sum is bounded from above with a proof
(linalg/leading_sum.py) on the smaller of XᵀX and XXᵀ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Blocks
from provenmf.linalg.leading_sum import tail_at_least
from provenmf.linalg.spectral import GRAM_COLUMNS, gram_of_columns


@dataclass(frozen=True)
class RankBound:
    """The least relative error of any product of this rank; None with a `reason` if unknown."""

    relative_error: float | None
    reason: str = ""


def gram_is_formed(blocks: Blocks) -> bool:
    """Whether XᵀX is the smaller Gram matrix and small enough to be summed up in a pass."""
    n, d = blocks.shape
    return d <= GRAM_COLUMNS and not (blocks.in_memory and n < d)


def least_relative_error(
    blocks: Blocks, k: int, squared_norm: float, gram: NDArray[np.float64] | None
) -> RankBound:
    """The bound for data of this squared norm; `gram` is XᵀX where a pass has formed it."""
    n, d = blocks.shape
    if squared_norm == 0:
        return RankBound(None, "the data are zero")
    if k >= min(n, d):
        return RankBound(0.0)
    inner = n
    if gram is None:
        if not blocks.in_memory:
            return RankBound(None, f"more than {GRAM_COLUMNS} columns on disk")
        if n > GRAM_COLUMNS:
            return RankBound(None, f"more than {GRAM_COLUMNS} rows and columns")
        gram, inner = gram_of_columns(blocks.everything().T), d
    tail, reason = tail_at_least(squared_norm, gram, k, inner)
    if tail is None:
        return RankBound(None, reason)
    return RankBound(math.sqrt(tail / squared_norm) * (1 - 1e-15))
