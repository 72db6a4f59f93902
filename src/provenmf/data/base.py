"""The narrow interface between data and solvers: a matrix as blocks of rows, and values by row.

A solver makes a few passes over the blocks and keeps a small state. Sums are added up in a fixed
binary tree over the blocks, and ties in `arg_reduce` go to the lowest row, so that an answer does
not depend on where the data are stored or on who adds up which block.
"""

from __future__ import annotations

import copy
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.linalg.storage import Matrix

# One block: a numpy array or a scipy sparse CSR array; `block @ matrix` works for both.
Block: TypeAlias = Matrix
Progress: TypeAlias = Callable[[int, int], None]
# The arrays that belong to one block: a single array, or a tuple of arrays.
Part: TypeAlias = NDArray[Any] | tuple[NDArray[Any], ...]
# What a pass returns: an iterator over results, their sum, `Rows`, or a sum and `Rows`.
Result: TypeAlias = Literal["each", "sum", "rows", "both"]


class Rows(ABC):
    """Values for every row of a matrix, in one part for each of its blocks.

    A part is an array with one entry for each row of the block, or a tuple of arrays with whatever
    a pass wants to remember of the block. Parts are stored beside the blocks: in memory, in
    temporary files, or on the workers of a cluster. Functions run where the parts are.
    """

    n_rows: int

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of parts."""

    @abstractmethod
    def __getitem__(self, number: int) -> Part:
        """Return the part of one block, transferred to this process."""

    @abstractmethod
    def run(self, result: Result, function: Callable[..., Any], *others: Rows) -> Any:
        """Call `function(part, *parts of others)` for each block where the parts are stored.

        Returns an iterator over the results ("each"), their sum ("sum"), or `Rows` ("rows").
        """

    def each(self, function: Callable[..., Any], *others: Rows) -> Iterator[Any]:
        """Return an iterator over `function(part, *parts of others)`, in block order."""
        found: Iterator[Any] = self.run("each", function, *others)
        return found

    def sum(self, function: Callable[..., Any], *others: Rows) -> Any:
        """Add up `function(part, *parts of others)` over the blocks."""
        return self.run("sum", function, *others)

    def map(self, function: Callable[..., Any], *others: Rows) -> Rows:
        """Return new parts `function(part, *parts of others)`, stored where these are."""
        found: Rows = self.run("rows", function, *others)
        return found

    @abstractmethod
    def array(self, function: Callable[[Any], NDArray[Any]] | None = None) -> NDArray[Any]:
        """Return the parts, or `function(part)` of each, as one array in this process."""


# What a pass takes for its rows: parts, an array with an entry for each row, or the row numbers.
ByRow: TypeAlias = Rows | NDArray[Any] | range


class LocalRows(Rows):
    """Parts of this process: in memory up to `room` bytes, the others in a temporary file.

    The file has no name: nothing of it stays however the process ends.
    """

    def __init__(self, n_rows: int, parts: Iterable[Part] = (), room: float = inf) -> None:
        self.n_rows = n_rows
        self._parts: list[Part | int] = []  # a number is a place in the file
        self._room = self._left = room
        self._file: IO[bytes] | None = None
        self._whole: NDArray[Any] | None = None
        for part in parts:
            self.append(part)

    @classmethod
    def of(cls, values: NDArray[Any], ranges: Iterable[tuple[int, int]] | None = None) -> LocalRows:
        """Return views of an array as parts, a single one without ranges of rows."""
        found = cls(len(values))
        found._parts = [values[start:stop] for start, stop in ranges or [(0, len(values))]]
        found._whole = values
        return found

    def __len__(self) -> int:
        return len(self._parts)

    def append(self, part: Part) -> None:
        """Store the part of the next block."""
        size = sum(array.nbytes for array in _arrays(part))
        if size <= self._left:
            self._left -= size
            self._parts.append(part)
        else:
            self._parts.append(self._written(part))

    def _store_second(self, pairs: Iterable[tuple[Any, Part]]) -> Iterator[Any]:
        """Store the second of each pair as a part, and yield the first."""
        for first, part in pairs:
            self.append(part)
            yield first

    def __getitem__(self, number: int) -> Part:
        part = self._parts[number]
        return self._read(part) if isinstance(part, int) else part

    def run(self, result: Result, function: Callable[..., Any], *others: Rows) -> Any:
        """Call the function for one part after the other."""
        found = (
            function(self[number], *(other[number] for other in others))
            for number in range(len(self))
        )
        if result == "sum":
            return tree_sum(found)
        return found if result == "each" else LocalRows(self.n_rows, found, self._room)

    def array(self, function: Callable[[Any], NDArray[Any]] | None = None) -> NDArray[Any]:
        """Join the parts; afterwards they are views of the joined array."""
        if function is not None:
            return joined(self.n_rows, self.each(function))
        if self._whole is None:
            self._whole = joined(self.n_rows, self._given_up())
            self._parts = list(np.split(self._whole, np.cumsum(self._lengths)[:-1]))
        return self._whole

    def _given_up(self) -> Iterator[Part]:
        """Yield the parts and forget each of them, so that no two copies are held."""
        self._lengths = []
        for number in range(len(self)):
            part, self._parts[number] = self[number], np.empty(0)
            self._lengths.append(len(part))
            yield part

    def _written(self, part: Part) -> int:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="provenmf-", buffering=0)
            place = self._file.seek(0, os.SEEK_END)
            np.save(self._file, np.array(len(part) if isinstance(part, tuple) else 0))
            for array in _arrays(part):
                np.save(self._file, array)
        except OSError as error:
            raise InvalidInput(
                f"the state of the rows cannot be written to {tempfile.gettempdir()} ({error}): "
                "make room there, or name another folder in the environment variable TMPDIR"
            ) from error
        return place

    def _read(self, place: int) -> Part:
        assert self._file is not None  # it holds this part
        self._file.seek(place)
        number = int(np.load(self._file))
        if number == 0:
            return np.asarray(np.load(self._file))
        return tuple(np.load(self._file) for _ in range(number))


def _arrays(part: Part) -> tuple[NDArray[Any], ...]:
    return part if isinstance(part, tuple) else (part,)


class Blocks(ABC):
    """A matrix of shape (n_rows, n_columns) as consecutive blocks of rows.

    Parameters
    ----------
    shape, dtype : of the whole matrix.
    block_rows : rows in one block; the last block may be shorter.
    progress : called as progress(rows done, all rows) after each block of every pass.

    Attributes
    ----------
    is_sparse : whether blocks are sparse.
    in_memory : whether the whole matrix is in memory, so that `everything` copies nothing.
    on_workers : whether rows are on the workers of a cluster, so that they take time to transfer.
    may_differ : whether a pass may read other numbers than the last one without an error.
    first_seen : fingerprint of the matrix when it was validated, if it may differ later.
    """

    is_sparse: bool = False
    in_memory: bool = False
    on_workers: bool = False
    may_differ: bool = False
    first_seen: str | None = None
    # Bytes of stored parts that stay in memory; the others go to temporary files.
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
        """Return the number of data points."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Return the number of features."""
        return self.shape[1]

    @property
    def stored_entries(self) -> int:
        """Return the number of entries that a pass reads; sparse rows store fewer."""
        return self.n_rows * self.n_columns

    @abstractmethod
    def read(self, start: int, stop: int) -> Block:
        """Return rows start … stop−1 as one block."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Block:
        """Return the given rows in the given order."""

    @abstractmethod
    def in_double_precision(self) -> Blocks:
        """Return the same matrix in double precision."""

    def everything(self) -> Block:
        """Return the whole matrix, for methods that must hold it."""
        return self.read(0, self.n_rows)

    def in_blocks_of(self, rows: int) -> Blocks:
        """Return the same matrix in blocks of at most `rows` rows, if their size can be chosen."""
        smaller = copy.copy(self)
        smaller.block_rows = max(1, min(rows, self.block_rows))
        return smaller

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last-plus-one row of each block, in order."""
        for start in range(0, self.n_rows, self.block_rows):
            yield start, min(start + self.block_rows, self.n_rows)

    def in_order(self) -> Iterator[tuple[int, int, Block]]:
        """Yield all blocks with their first and last-plus-one row."""
        for start, stop in self.ranges():
            yield start, stop, self.read(start, stop)

    def run(self, result: Result, function: Callable[..., Any], *by_row: ByRow) -> Any:
        """Make one pass: call `function(block, *parts)` for each block.

        Returns an iterator over the results ("each"), their sum ("sum"), `Rows` ("rows"), or, of a
        function that returns pairs, the sum of the first and `Rows` of the second ("both").
        """
        return self._collected(result, self._results(function, by_row))

    def _collected(self, result: Result, found: Iterator[Any]) -> Any:
        """Return what a pass is to return from its results, in block order."""
        if result == "each":
            return found
        if result == "sum":
            return tree_sum(found)
        if result == "rows":
            return LocalRows(self.n_rows, found, self.room_for_parts)
        kept = LocalRows(self.n_rows, room=self.room_for_parts)
        return tree_sum(kept._store_second(found)), kept

    def _results(self, function: Callable[..., Any], by_row: tuple[ByRow, ...]) -> Iterator[Any]:
        for number, (start, stop, block) in enumerate(self.in_order()):
            result = function(block, *(part_of(a, number, start, stop) for a in by_row))
            if self.progress is not None:
                self.progress(stop, self.n_rows)
            yield result

    def each(self, function: Callable[..., Any], *by_row: ByRow) -> Iterator[tuple[int, int, Any]]:
        """Yield (start, stop, `function(block, *parts)`) for each block, in order."""
        results = self.run("each", function, *by_row)
        for (start, stop), result in zip(self.ranges(), results, strict=True):
            yield start, stop, result

    def keep(self, function: Callable[..., Any], *by_row: ByRow) -> Rows:
        """Store `function(block, *parts)` of each block beside the block."""
        kept: Rows = self.run("rows", function, *by_row)
        return kept

    def map_reduce(self, function: Callable[..., Any], *by_row: ByRow) -> Any:
        """Add up `function(block, *parts)` over the blocks: a number, an array, or a tuple."""
        return self.run("sum", function, *by_row)

    def sum_and_keep(self, function: Callable[..., Any], *by_row: ByRow) -> tuple[Any, Rows]:
        """Make both in one pass: `function` returns (what to add up, what to store)."""
        found: tuple[Any, Rows] = self.run("both", function, *by_row)
        return found

    def map_rows(self, function: Callable[..., Any], *by_row: ByRow) -> NDArray[Any]:
        """Return one result for each row as an array in this process.

        `function` returns an array with an entry for each row of its block.
        """
        return joined(self.n_rows, self.run("each", function, *by_row))

    def place(self, values: NDArray[Any]) -> Rows:
        """Store an array with one entry for each row beside the blocks."""
        return LocalRows.of(values, self.ranges())

    def arg_reduce(
        self, function: Callable[..., Any], *by_row: ByRow, largest: bool = True
    ) -> tuple[int, float]:
        """Return the row with the largest (or smallest) score, and that score.

        Ties go to the lowest row.
        """
        best_row, best = -1, -inf
        for start, _, (row, score) in self.each(partial(_best, function, largest), *by_row):
            if best_row < 0 or score > best:
                best_row, best = start + row, score
        return best_row, best if largest else -best


class MappedBlocks(Blocks):
    """A matrix whose blocks are ``function(block)`` of other blocks, computed when they are read.

    The function changes entries and columns of rows, but not their number; it is sent to the
    workers of a cluster. Its second argument is the part of the array `rows` for the block, if
    there is one. `dtype`, `n_columns` and `is_sparse` are those of the result.
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
        self.in_memory, self.on_workers = blocks.in_memory, blocks.on_workers

    @property
    def stored_entries(self) -> int:
        """Return the number of entries of the underlying blocks."""
        return self._blocks.stored_entries

    def in_double_precision(self) -> Blocks:
        """Return the same matrix, converted after the function."""
        if self.dtype == np.float64:
            return self
        return MappedBlocks(self, _in_double, dtype=np.dtype(np.float64))

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the underlying blocks."""
        return self._blocks.ranges()

    def read(self, start: int, stop: int) -> Block:
        """Return rows start … stop−1."""
        block = self._blocks.read(start, stop)
        return self._function(block, *(own[start:stop] for own in self._own))

    def take(self, rows: NDArray[np.intp]) -> Block:
        """Return the given rows."""
        return self._function(self._blocks.take(rows), *(own[rows] for own in self._own))

    def run(self, result: Result, function: Callable[..., Any], *by_row: ByRow) -> Any:
        """Make a pass over the underlying blocks."""
        after = partial(_applied, function, self._function, len(self._own))
        return self._blocks.run(result, after, *self._own, *by_row)

    def place(self, values: NDArray[Any]) -> Rows:
        """Store an array beside the underlying blocks."""
        return self._blocks.place(values)


def part_of(values: ByRow, number: int, start: int, stop: int) -> Any:
    """Return what belongs to one block."""
    return values[number] if isinstance(values, Rows) else values[start:stop]


def tree_sum(values: Iterable[Any]) -> Any:
    """Add up numbers, arrays or tuples of them in a binary tree that depends on their number alone.

    Neighbors are added up, then neighboring sums, and so on. Aligned runs of 2^j values may be
    added up elsewhere first: the sum of such sums is the same to the last bit. At most one partial
    sum for each level of the tree is held.
    """
    pending: list[tuple[int, Any]] = []  # (level, sum), levels falling
    for value in values:
        level = 0
        while pending and pending[-1][0] == level:
            value, level = _plus(pending.pop()[1], value), level + 1
        pending.append((level, value))
    total: Any = None
    for _, value in reversed(pending):
        total = value if total is None else _plus(value, total)
    return total


def _plus(a: Any, b: Any) -> Any:
    return tuple(map(_plus, a, b)) if isinstance(a, tuple) else a + b


def joined(n_rows: int, parts: Iterable[Any]) -> NDArray[Any]:
    """Join parts with an entry for each row into one array, in the order of arrival."""
    out: NDArray[Any] | None = None
    start = 0
    for part in parts:
        part = np.asarray(part)
        if len(part) == n_rows:
            return part
        if out is None:
            out = np.empty((n_rows, *part.shape[1:]), dtype=part.dtype)
        out[start : start + len(part)] = part
        start += len(part)
    assert out is not None  # there is always a block: empty data are refused on entry
    return out


def _applied(
    function: Callable[..., Any],
    before: Callable[..., Block],
    n_own: int,
    block: Block,
    *parts: Any,
) -> Any:
    return function(before(block, *parts[:n_own]), *parts[n_own:])


def _in_double(block: Block) -> Block:
    return block.astype(np.float64)


def _best(
    function: Callable[..., Any], largest: bool, block: Block, *parts: Any
) -> tuple[int, float]:
    """Return the first of the best rows of one block and its score."""
    scores = np.asarray(function(block, *parts))
    signed = scores if largest else -scores
    row = int(np.argmax(signed))
    return row, float(signed[row])
