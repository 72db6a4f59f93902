"""Rows of other blocks after a function was applied to them, wherever they live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data.base import Block, Blocks, ByRow, RowArray
from provenmf.data.parts import Parts


class MappedBlocks(Blocks):
    """A matrix whose blocks are ``function(block)`` of other blocks, computed when they are read.

    Parameters
    ----------
    blocks : Blocks
        Whose blocks they are, and who makes the passes: on disk, in memory or on a cluster.
    function : callable
        Changes no rows but their entries and columns. Goes to the workers of a cluster.
    rows : array of shape (n_rows, …), optional
        The function is given the part that belongs to the block as its second argument.
    dtype : dtype, default that of the blocks
    n_columns : int, default that of the blocks
    is_sparse : bool, default that of the blocks
    """

    def __init__(
        self,
        blocks: Blocks,
        function: Callable[..., Block],
        *,
        rows: NDArray[Any] | None = None,
        dtype: np.dtype[Any] | None = None,
        n_columns: int | None = None,
        is_sparse: bool | None = None,
    ) -> None:
        columns = blocks.n_columns if n_columns is None else n_columns
        dtype = blocks.dtype if dtype is None else dtype
        super().__init__((blocks.n_rows, columns), dtype, blocks.block_rows, blocks.progress)
        self._blocks, self._function = blocks, function
        self._own = () if rows is None else (rows,)
        self.is_sparse = blocks.is_sparse if is_sparse is None else is_sparse
        self.in_memory, self.elsewhere = blocks.in_memory, blocks.elsewhere
        self.room_for_parts = blocks.room_for_parts

    @property
    def stored_entries(self) -> int:
        """As many as the other blocks have, if they have more."""
        return self._blocks.stored_entries

    def in_double_precision(self) -> Blocks:
        """The same function, then conversion."""
        if self.dtype == np.float64:
            return self
        return MappedBlocks(self, _in_double, dtype=np.dtype(np.float64))

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Those of the other blocks."""
        return self._blocks.ranges()

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1."""
        return self._function(
            self._blocks.read(start, stop), *(own[start:stop] for own in self._own)
        )

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows."""
        own = (every[rows] for every in self._own)
        return self._function(self._blocks.take(rows), *own)

    def _on_mapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return partial(_applied, function, self._function, len(self._own))

    def each(
        self, function: Callable[..., Any], *row_arrays: ByRow
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply `function` to every block where it lives."""
        return self._blocks.each(self._on_mapped(function), *self._own, *row_arrays)

    def keep(self, function: Callable[..., Any], *row_arrays: ByRow) -> Parts:
        """What `function` returns for each block, kept where the block is."""
        return self._blocks.keep(self._on_mapped(function), *self._own, *row_arrays)

    def map_rows(self, function: Callable[..., Any], *row_arrays: ByRow) -> NDArray[Any]:
        """One result per row."""
        return self._blocks.map_rows(self._on_mapped(function), *self._own, *row_arrays)

    def rows_in_place(self, function: Callable[..., Any], *row_arrays: ByRow) -> RowArray:
        """One result per row, left where the rows are."""
        return self._blocks.rows_in_place(self._on_mapped(function), *self._own, *row_arrays)

    def in_place(self, rows: RowArray) -> RowArray:
        """An array where the rows are."""
        return self._blocks.in_place(rows)

    def map_reduce(self, function: Callable[..., Any], *row_arrays: ByRow) -> Any:
        """Sum over the blocks."""
        return self._blocks.map_reduce(self._on_mapped(function), *self._own, *row_arrays)

    def gather_and_add(
        self,
        function: Callable[..., Any],
        receive: Callable[[int, int, Any], object],
        *row_arrays: ByRow,
    ) -> Any:
        """Something for each row, and a sum."""
        mapped = self._on_mapped(function)
        return self._blocks.gather_and_add(mapped, receive, *self._own, *row_arrays)

    def gather_add_and_keep(
        self,
        function: Callable[..., Any],
        receive: Callable[[int, int, Any], object],
        *row_arrays: ByRow,
    ) -> tuple[Any, RowArray]:
        """Something for each row, a sum, and rows left where they are."""
        mapped = self._on_mapped(function)
        return self._blocks.gather_add_and_keep(mapped, receive, *self._own, *row_arrays)


def _applied(
    function: Callable[..., Any],
    before: Callable[..., Block],
    n_own: int,
    block: Block,
    *slices: Any,
) -> Any:
    return function(before(block, *slices[:n_own]), *slices[n_own:])


def _in_double(block: Block) -> Block:
    return block.astype(np.float64)
