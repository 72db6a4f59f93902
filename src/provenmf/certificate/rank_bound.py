"""No product of rank k comes closer to the data than this (Eckart & Young 1936), proved.

The least squared error is ‖X‖² − Σ_{i≤k} σ_i², and the sum is bounded from above with a proof
(linalg/leading_sum.py) on the smaller of XᵀX and XXᵀ.

Where neither is small enough, rows are shared out among parts X_1, X_2, …: a product of rank k has
rank k at most on the rows of each part, so that the least squared errors of the parts add up to a
lower bound. It is less than the best one, because each part may choose its own k directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.linalg.leading_sum import EPS, tail_at_least
from provenmf.linalg.spectral import GRAM_COLUMNS, gram_of_columns

PART_ROWS = 1000  # a proof for so many takes a tenth of a second


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
    if gram is not None:
        tail = tail_at_least(squared_norm, gram, k, n)
    elif blocks.in_memory and n <= GRAM_COLUMNS:
        tail = tail_at_least(squared_norm, gram_of_columns(blocks.everything().T), k, d)
    elif blocks.in_memory:
        tail = tails_of_parts(blocks.everything(), k)
    else:
        tail = float(blocks.map_reduce(partial(tails_of_parts, k=k)))
    if tail is None:
        return RankBound(None, "the leading singular values could not be told from the others")
    # the sums over rows, here and in the norm, have n terms at most
    return RankBound(math.sqrt(tail / squared_norm) * (1 - (n + d + 8) * EPS))


def tails_of_parts(block: Block, k: int) -> float:
    """Sum of the least squared errors of parts of a block; a part without a proof counts as zero.

    Every part takes rows from all over the block: rows that follow each other are often alike, and
    k directions of their own would explain them too well.
    """
    n, d = block.shape
    count = -(-n // PART_ROWS)
    total = 0.0
    for first in range(count):
        gram = gram_of_columns(block[first::count].T)
        total += tail_at_least(float(np.trace(gram)), gram, k, d) or 0.0
    return total
