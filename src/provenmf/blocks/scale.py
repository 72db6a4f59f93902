"""The scale of the data: products of entries must stay inside the range of the numbers.

Methods and certificates form squares and fourth powers of entries. In single precision those leave
the range from 1e10 on, so such data are computed in double precision. In double precision nothing
is lost up to 1e60; beyond that a matrix is refused, with the factor that makes it usable, since
parameters in the units of the data (a start, a noise level) must be scaled along with it.
"""

from __future__ import annotations

import math

import numpy as np

from provenmf.blocks.base import Block, Blocks
from provenmf.errors import InvalidInput
from provenmf.storage import stored_values

LARGEST_IN_SINGLE = 1e9
LARGEST_IN_DOUBLE = 1e60


def at_safe_scale(blocks: Blocks, largest: float | None = None) -> Blocks:
    """The same data, in double precision where single does not reach, or a refusal.

    `largest` is the largest absolute value, where a pass has found it already.
    """
    if largest is None:
        largest = largest_entry(blocks)
    if largest == 0 or not math.isfinite(largest):
        return blocks
    if blocks.dtype == np.float32 and not _within(largest, LARGEST_IN_SINGLE):
        blocks = blocks.in_double_precision()
    if not _within(largest, LARGEST_IN_DOUBLE):
        exponent = -math.floor(math.log10(largest))
        raise InvalidInput(
            f"X has entries of the size {largest:.1e}, outside 1e-60 to 1e60: "
            f"multiply it by 1e{exponent}, and divide the components by it afterwards"
        )
    return blocks


def largest_entry(blocks: Blocks) -> float:
    """The largest absolute value."""
    return max((largest for _, _, largest in blocks.each(largest_in)), default=0.0)


def largest_in(block: Block) -> float:
    """The largest absolute value of a block."""
    values = stored_values(block)
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def _within(size: float, largest: float) -> bool:
    return 1.0 / largest <= size <= largest
