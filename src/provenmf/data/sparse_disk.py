"""A sparse matrix on disk, read block by block; see `provenmf.io.sparse_rows` for the file."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import block_bytes, room_for_parts
from provenmf.data.base import Block, Blocks, Progress
from provenmf.data.disk import BLOCK_BYTES, PART_BYTES, read_ahead
from provenmf.errors import UnreadableFile
from provenmf.io.files import existing
from provenmf.io.sparse_rows import SparseRows, open_sparse_rows
from provenmf.linalg.storage import float_type, own_rows

INDEX_BYTES = 4


class SparseFileBlocks(Blocks):
    """Rows of a file of sparse rows, in blocks of about equally many entries."""

    is_sparse = True

    def __init__(
        self, rows: SparseRows, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        self._rows = rows
        dtype = float_type(rows.dtype, str(rows.path))
        entries = block_bytes(BLOCK_BYTES) // (dtype.itemsize + INDEX_BYTES)
        self._bounds = (
            _equal_rows(rows.shape[0], block_rows) if block_rows else _equal_entries(rows, entries)
        )
        longest = max((b - a for a, b in pairwise(self._bounds)), default=1)
        super().__init__(rows.shape, dtype, longest, progress)
        self.room_for_parts = room_for_parts(PART_BYTES)

    @property
    def stored_entries(self) -> int:
        """Entries that are stored in the file."""
        return self._rows.stored

    def ranges(self) -> Iterator[tuple[int, int]]:
        """First and last-plus-one row of each block."""
        return pairwise(self._bounds)

    def in_order(self) -> Iterator[tuple[int, int, Block]]:
        """All blocks; the next one is read while one is worked on."""
        return read_ahead(self)

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1, read into memory and checked."""
        return self._checked(self._rows.read(start, stop))

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows; each is read on its own."""
        return self._checked(self._rows.take(np.asarray(rows)))

    def in_double_precision(self) -> SparseFileBlocks:
        """The same file, converted as it is read."""
        wider = copy.copy(self)
        wider.dtype = np.dtype(np.float64)
        return wider

    def _checked(self, block: Any) -> Block:
        return own_rows(block, str(self._rows.path)).astype(self.dtype, copy=False)


def open_npz(path: str | Path, **options: Any) -> SparseFileBlocks:
    """Blocks of an `.npz` file of sparse rows that is not compressed."""
    rows = open_sparse_rows(existing(path))
    if rows is None:
        raise UnreadableFile(
            f"{path} cannot be read block by block: it is compressed, or holds no sparse rows; "
            "write it anew with `provenmf convert`, or load it and give the matrix"
        )
    return SparseFileBlocks(rows, **options)


def _equal_rows(n_rows: int, block_rows: int) -> list[int]:
    return [*range(0, n_rows, block_rows), n_rows]


def _equal_entries(rows: SparseRows, entries: int) -> list[int]:
    """Bounds of blocks of as many rows as have so many entries, of one row at least.

    A row takes room of its own too, so it counts as one entry more.
    """
    bounds, room, start = [0], 0, 0
    for pointers in rows.pointers():
        ends = pointers[1:] + np.arange(start + 1, start + len(pointers))
        while len(ends) and ends[-1] > room + entries:
            stop = max(start + int(np.searchsorted(ends, room + entries, "right")), bounds[-1] + 1)
            bounds.append(stop)
            room = int(ends[stop - start - 1])
        start += len(ends)
    return [*bounds, rows.shape[0]] if bounds[-1] < rows.shape[0] else bounds
