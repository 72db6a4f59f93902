"""The narrow interface between data and solvers: a matrix seen as blocks of rows.

A solver makes a few passes over the blocks and keeps a small state. Every pass visits the
blocks in the order of their rows, so sums do not depend on where the data live, and ties in
`arg_reduce` go to the lowest row.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from provenmf.data.parts import LocalParts, Parts, added
from provenmf.linalg.storage import Matrix

# One block: a numpy array or a scipy sparse CSR array; `block @ matrix` works for both.
Block: TypeAlias = Matrix
# One value for each row, or what was kept of each block.
RowArray: TypeAlias = NDArray[Any] | Parts
# What a pass may be given for its rows: their numbers too.
ByRow: TypeAlias = RowArray | range
Progress = Callable[[int, int], None]


class Blocks(ABC):
    """A matrix of shape (n_rows, n_columns) as consecutive blocks of rows.

    Parameters
    ----------
    shape, dtype : of the whole matrix.
    block_rows : rows in one block; the last block may be shorter.
    progress : called as progress(rows done, all rows) after each block of every pass.
    """

    is_sparse: bool = False
    in_memory: bool = False
    # Whether what is kept of rows is elsewhere, so that bringing it here takes time.
    elsewhere: bool = False
    # Whether nothing else would tell that a pass reads other numbers than the last one.
    may_differ: bool = False
    # What the matrix was recognized by when its entries were checked, if it may differ later.
    first_seen: str | None = None
    # Bytes of kept parts that stay in memory; the others go to temporary files.
    room_for_parts: float = inf

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        block_rows: int,
        progress: Progress | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.block_rows = max(1, min(block_rows, shape[0]))
        self.progress = progress

    @property
    def n_rows(self) -> int:
        """Number of data points."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return self.shape[1]

    @property
    def stored_entries(self) -> int:
        """How many entries a pass has to look at; fewer than rows times columns where sparse."""
        return self.n_rows * self.n_columns

    @abstractmethod
    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1 as one block."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows in the given order."""

    @abstractmethod
    def in_double_precision(self) -> Blocks:
        """The same matrix in double precision."""

    def everything(self) -> Block:
        """The whole matrix, for methods that must hold it."""
        return self.read(0, self.n_rows)

    def in_blocks_of(self, rows: int) -> Blocks:
        """The same matrix in blocks of at most so many rows, where their size can be chosen."""
        smaller = copy.copy(self)
        smaller.block_rows = max(1, min(rows, self.block_rows))
        return smaller

    def ranges(self) -> Iterator[tuple[int, int]]:
        """First and last-plus-one row of each block, in order."""
        for start in range(0, self.n_rows, self.block_rows):
            yield start, min(start + self.block_rows, self.n_rows)

    def in_order(self) -> Iterator[tuple[int, int, Block]]:
        """All blocks with their first and last-plus-one row."""
        for start, stop in self.ranges():
            yield start, stop, self.read(start, stop)

    def each(
        self, function: Callable[..., Any], *row_arrays: ByRow
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply `function(block, *slices)` to every block; yields (start, stop, result)."""
        for number, (start, stop, block) in enumerate(self.in_order()):
            slices = (of_block(a, number, start, stop) for a in row_arrays)
            result = function(block, *slices)
            if self.progress is not None:
                self.progress(stop, self.n_rows)
            yield start, stop, result

    def keep(self, function: Callable[..., Any], *row_arrays: ByRow) -> Parts:
        """What `function(block, *slices)` returns for each block, kept where the block is."""
        parts = LocalParts(self.room_for_parts)
        for _, _, part in self.each(function, *row_arrays):
            parts.append(part)
        return parts

    def map_rows(self, function: Callable[..., Any], *row_arrays: ByRow) -> NDArray[Any]:
        """One result per row, in row order: `function` returns an array as long as its block."""
        return joined(self.n_rows, self.each(function, *row_arrays))

    def rows_in_place(self, function: Callable[..., Any], *row_arrays: ByRow) -> RowArray:
        """The same, left where the rows are: parts on the workers of a cluster, else an array."""
        return self.map_rows(function, *row_arrays)

    def in_place(self, rows: RowArray) -> RowArray:
        """An array of this process where the rows are: on a cluster, parts on the workers."""
        return rows

    def map_reduce(self, function: Callable[..., Any], *row_arrays: ByRow) -> Any:
        """Sum over the blocks of what `function` returns: a number, an array, or a tuple."""
        return added(result for _, _, result in self.each(function, *row_arrays))

    def gather_and_add(
        self,
        function: Callable[..., Any],
        receive: Callable[[int, int, Any], object],
        *row_arrays: ByRow,
    ) -> Any:
        """A pass that brings something for each row here and adds up something else.

        `function` returns both for its block, and maybe more; the first goes to
        `receive(start, stop, found)`, and the sum of the second is returned.
        """
        total: Any = None
        for start, stop, (found, summand, *_) in self.each(function, *row_arrays):
            receive(start, stop, found)
            total = summand if total is None else added((total, summand))
        return total

    def gather_add_and_keep(
        self,
        function: Callable[..., Any],
        receive: Callable[[int, int, Any], object],
        *row_arrays: ByRow,
    ) -> tuple[Any, RowArray]:
        """The same, and the third thing that `function` returns, rows, left where the rows are."""
        total: Any = None

        def rows() -> Iterator[tuple[int, int, Any]]:
            nonlocal total
            for start, stop, (found, summand, kept) in self.each(function, *row_arrays):
                receive(start, stop, found)
                total = summand if total is None else added((total, summand))
                yield start, stop, kept

        in_place = joined(self.n_rows, rows())
        return total, in_place

    def arg_reduce(
        self, function: Callable[..., Any], *row_arrays: ByRow, largest: bool = True
    ) -> tuple[int, float]:
        """Row with the largest (or smallest) score and that score; ties go to the lowest row."""
        best_row, best = -1, -np.inf
        for start, _, (row, score) in self.each(partial(_best, function, largest), *row_arrays):
            if best_row < 0 or score > best:
                best_row, best = start + row, score
        return best_row, best if largest else -best


def of_block(rows: ByRow, number: int, start: int, stop: int) -> Any:
    """What belongs to one block: its part, or its rows."""
    return rows[number] if isinstance(rows, Parts) else rows[start:stop]


def joined(n_rows: int, results: Iterable[tuple[int, int, Any]]) -> NDArray[Any]:
    """One array of all rows from (start, stop, rows), each written where it belongs as it comes."""
    out: NDArray[Any] | None = None
    for start, stop, result in results:
        result = np.asarray(result)
        if start == 0 and stop == n_rows:
            return result
        if out is None:
            out = np.empty((n_rows, *result.shape[1:]), dtype=result.dtype)
        out[start:stop] = result
    assert out is not None  # there is always a block: empty data are refused on entry
    return out


def _best(
    function: Callable[..., Any], largest: bool, block: Block, *slices: Any
) -> tuple[int, float]:
    """The first of the best rows of one block and its score, so that scores need not travel."""
    scores = np.asarray(function(block, *slices))
    signed = scores if largest else -scores
    row = int(np.argmax(signed))
    return row, float(signed[row])
