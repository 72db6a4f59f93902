"""A matrix times a power of two, in double precision: the same digits in a safer range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks.base import Block, Blocks, RowArray


class ScaledBlocks(Blocks):
    """Rows of other blocks divided by `unit`, a power of two, so that squares stay in range."""

    def __init__(self, blocks: Blocks, unit: float) -> None:
        super().__init__(blocks.shape, np.dtype(np.float64), blocks.block_rows, blocks.progress)
        self._blocks, self._unit = blocks, unit
        self.is_sparse, self.in_memory = blocks.is_sparse, blocks.in_memory

    @property
    def stored_entries(self) -> int:
        """As many as the other blocks have."""
        return self._blocks.stored_entries

    def in_double_precision(self) -> ScaledBlocks:
        """These blocks are."""
        return self

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Those of the other blocks."""
        return self._blocks.ranges()

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1, divided."""
        return divided(self._blocks.read(start, stop), self._unit)

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows, divided."""
        return divided(self._blocks.take(rows), self._unit)

    def each(
        self, function: Callable[..., Any], *row_arrays: RowArray
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply `function` to every block, divided where it lives."""
        return self._blocks.each(partial(_on_divided, function, self._unit), *row_arrays)


def divided(block: Block, unit: float) -> Block:
    """A block in double precision, divided by a power of two that has an inverse."""
    return block.astype(np.float64) * (1.0 / unit)


def _on_divided(function: Callable[..., Any], unit: float, block: Block, *slices: Any) -> Any:
    return function(divided(block, unit), *slices)
