"""The scale of the data: products of entries must stay inside the range of the numbers.

Methods and certificates form squares and fourth powers of entries. In single precision those leave
the range from 1e10 on, so such data are computed in double precision. In double precision nothing
is lost up to 1e60; beyond that a matrix is refused, with the factor that makes it usable, since
parameters in the units of the data (a start, a noise level) must be scaled along with it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from provenmf.data.base import Block, Blocks, MappedBlocks
from provenmf.linalg.storage import check_scale, largest_of

LARGEST_IN_SINGLE = 1e9


def at_safe_scale(blocks: Blocks, largest: float | None = None) -> Blocks:
    """The same data, in double precision where single does not reach, or a refusal.

    `largest` is the largest absolute value, where a pass has found it already.
    """
    if largest is None:
        largest = max((size for _, _, size in blocks.each(largest_of)), default=0.0)
    check_scale(largest)
    in_reach = largest == 0 or 1 / LARGEST_IN_SINGLE <= largest <= LARGEST_IN_SINGLE
    return blocks if in_reach or blocks.dtype != np.float32 else blocks.in_double_precision()


def divided(blocks: Blocks, unit: float) -> Blocks:
    """The same digits in a safer range: divided by a power of two, in double precision."""
    return MappedBlocks(blocks, partial(_divided, unit), dtype=np.dtype(np.float64))


def _divided(unit: float, block: Block) -> Block:
    return block.astype(np.float64) * (1.0 / unit)
