"""A matrix on disk, read block by block.

Dense rows come from `.npy` files, memory maps, HDF5 and zarr arrays, sparse rows from `.npz` files
(see `provenmf.io.rows`). The next block is read while one is worked on.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import InBackground, block_bytes, room_for_parts
from provenmf.data.base import Block, Blocks, Progress
from provenmf.errors import InvalidInput, ProvenmfError, UnreadableFile
from provenmf.io.arrays import ArrayFile, FileState, npy_header
from provenmf.io.files import existing, parsing
from provenmf.io.matrices import Table
from provenmf.io.rows import SparseRows, open_sparse_rows
from provenmf.linalg.storage import float_type

BLOCK_BYTES = 64 * 2**20
PART_BYTES = 512 * 2**20  # what passes keep of rows on disk stays in memory up to this


class FileBlocks(Blocks):
    """Rows that are read when they are needed; the next block is read while one is processed."""

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        block_rows: int,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(shape, dtype, block_rows, progress)
        self.room_for_parts = room_for_parts(PART_BYTES)

    def in_order(self) -> Iterator[tuple[int, int, Block]]:
        """Yield all blocks in order; a thread reads one block ahead."""
        ranges = list(self.ranges())
        if len(ranges) == 1:
            yield *ranges[0], self.read(*ranges[0])
            return
        coming = InBackground(self.read, *ranges[0])
        try:
            for place, following in zip(ranges, [*ranges[1:], None]):
                block = coming.result()
                if following is not None:
                    coming = InBackground(self.read, *following)
                yield *place, block
        finally:
            coming.wait()  # whoever stops early may close the file

    def in_double_precision(self) -> Self:
        """Return the same source, converted as it is read."""
        wider = copy.copy(self)
        wider.dtype = np.dtype(np.float64)
        return wider


class ArrayBlocks(FileBlocks):
    """Rows of anything with a shape, a dtype and slicing by rows, such as an HDF5 data set."""

    def __init__(
        self, source: Any, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        if getattr(source, "shape", None) is None or not hasattr(source, "dtype"):
            raise InvalidInput(f"X is {source!r:.100}: give an array that is in it, such as X['a']")
        dtype = np.dtype(source.dtype)
        if len(source.shape) != 2:
            raise InvalidInput(f"X has shape {tuple(source.shape)}: store it as a matrix")
        n_rows, n_columns = (int(length) for length in source.shape)
        if block_rows is None:
            block_rows = max(1, block_bytes(BLOCK_BYTES) // max(1, n_columns * dtype.itemsize))
        self._source = source
        super().__init__((n_rows, n_columns), float_type(dtype), block_rows, progress)

    def read(self, start: int, stop: int) -> Block:
        """Return rows start … stop−1, read into memory."""
        try:
            rows = self._source[start:stop]
        except (ProvenmfError, MemoryError):
            raise
        except Exception as error:  # of h5py or zarr, about bytes that they cannot unpack
            words = " ".join(f"{type(error).__name__}: {error}".split())
            raise UnreadableFile(
                f"rows {start} to {stop - 1} of X cannot be read ({words:.200}): the file may be "
                "damaged, write it again"
            ) from error
        return np.ascontiguousarray(rows, dtype=self.dtype)

    def take(self, rows: NDArray[np.intp]) -> Block:
        """Return the given rows; those within a block are read together."""
        rows = np.asarray(rows)
        out = np.empty((len(rows), self.n_columns), dtype=self.dtype)
        for number in np.unique(rows // self.block_rows).tolist():
            here = np.flatnonzero(rows // self.block_rows == number)
            first, last = int(rows[here].min()), int(rows[here].max())
            out[here] = self.read(first, last + 1)[rows[here] - first]
        return out


class _Guarded:
    """Rows of an array in a file, which is checked for changes unless `path` is None."""

    def __init__(self, array: Any, path: Path | None) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self._state = None if path is None else FileState(path)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        if self._state is not None:
            self._state.check()
        return np.asarray(self._array[rows])


def from_hdf5(dataset: Any, **options: Any) -> ArrayBlocks:
    """Return the blocks of an h5py data set."""
    if not dataset or not hasattr(dataset, "shape"):  # one whose file is closed is False
        raise InvalidInput(f"X is {dataset!r:.100}: give a data set of an open file: file['X']")
    if dataset.shape is None:
        return ArrayBlocks(dataset, **options)
    # Whoever opened the file for writing has buffered changes.
    path = Path(dataset.file.filename) if dataset.file.mode == "r" else None
    return ArrayBlocks(_Guarded(dataset, path), **options)


def open_npy(path: str | Path, **options: Any) -> ArrayBlocks:
    """Return the blocks of a two-dimensional `.npy` file."""
    path = existing(path)
    if not path.is_file():
        raise UnreadableFile(f"{path} is a folder: give an .npy file")
    remedy = "save it again, or read other formats with provenmf.io.read_matrix"
    with parsing(path, ".npy file", remedy), open(path, "rb") as file:
        shape, dtype, by_column = npy_header(path, file, path.stat().st_size)
        return ArrayBlocks(
            ArrayFile(path, dtype, shape, file.tell(), by_row=not by_column), **options
        )


def from_memmap(mapped: np.memmap[Any, Any], **options: Any) -> ArrayBlocks:
    """Return the blocks of a memory map; one of a whole file is read without mapping it."""
    if not mapped.filename:  # computed from a map, and in memory
        return ArrayBlocks(mapped, **options)
    whole = not isinstance(mapped.base, np.memmap) and mapped.flags.forc
    shared = mapped.mode != "c"  # changes of a private map are in this process only
    path = Path(str(mapped.filename))
    if mapped.ndim != 2 or not (whole and shared):
        return ArrayBlocks(_Guarded(mapped, path), **options)  # it may have changes of its own
    by_row = mapped.flags.c_contiguous
    file = ArrayFile(path, mapped.dtype, mapped.shape, mapped.offset, by_row=by_row)
    return ArrayBlocks(file, **options)


class SparseFileBlocks(FileBlocks):
    """Rows of a file of sparse rows, in blocks of about equally many entries."""

    is_sparse = True

    def __init__(
        self, rows: SparseRows, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        self._rows = rows
        dtype = float_type(rows.data.dtype, str(rows.path))
        entries = block_bytes(BLOCK_BYTES) // (dtype.itemsize + 4)
        self._bounds = _equal_entries(rows, entries)
        if block_rows:
            self._bounds = [*range(0, rows.shape[0], block_rows), rows.shape[0]]
        longest = max((b - a for a, b in pairwise(self._bounds)), default=1)
        super().__init__(rows.shape, dtype, longest, progress)

    @property
    def stored_entries(self) -> int:
        """Return the number of entries in the file."""
        return self._rows.data.shape[0]

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last-plus-one row of each block."""
        return pairwise(self._bounds)

    def read(self, start: int, stop: int) -> Block:
        """Return rows start … stop−1."""
        return self._rows.read(start, stop).astype(self.dtype, copy=False)

    def take(self, rows: NDArray[np.intp]) -> Block:
        """Return the given rows; each is read separately."""
        found = [self.read(row, row + 1) for row in np.asarray(rows).tolist()]
        empty = sp.csr_array((0, self.n_columns), dtype=self.dtype)
        return sp.csr_array(sp.vstack(found, format="csr")) if found else empty


def table_on_disk(path: Path) -> Table | None:
    """Return blocks of a matrix that can be read block by block, with its names; or None."""
    ending = path.suffix.lower()
    if ending == ".npy":
        return Table(open_npy(path))
    rows = open_sparse_rows(existing(path)) if ending == ".npz" else None
    return None if rows is None else Table(SparseFileBlocks(rows), *rows.names())


def open_npz(path: str | Path, **options: Any) -> SparseFileBlocks:
    """Return the blocks of an `.npz` file of sparse rows that is not compressed."""
    rows = open_sparse_rows(existing(path))
    if rows is None:
        raise UnreadableFile(
            f"{path} cannot be read block by block: it is compressed, or holds no sparse rows; "
            "write it anew with `provenmf convert`, or load it and give the matrix"
        )
    return SparseFileBlocks(rows, **options)


def _equal_entries(rows: SparseRows, entries: int) -> list[int]:
    """Return bounds of blocks with at most this many entries, or of one row.

    A row takes room, too, so it counts as one entry more.
    """
    ends = rows.pointers + np.arange(len(rows.pointers))
    bounds = [0]
    while bounds[-1] < rows.shape[0]:
        stop = int(np.searchsorted(ends, ends[bounds[-1]] + entries, "right")) - 1
        bounds.append(max(stop, bounds[-1] + 1))
    return bounds
