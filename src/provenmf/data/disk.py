"""Dense rows outside memory, read block by block.

They come from `.npy` files, memory maps, HDF5 and zarr arrays. The next block is read while one is
worked on. Sparse rows that do not fit into memory are a Dask array.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import block_bytes, in_background, room_for_parts
from provenmf.data.base import Block, Blocks, Progress
from provenmf.errors import InvalidInput, ProvenmfError, UnreadableFile
from provenmf.io.files import existing, parsing
from provenmf.linalg.storage import float_type

BLOCK_BYTES = 64 * 2**20
PART_BYTES = 512 * 2**20  # what passes keep of rows on disk stays in memory up to this


class ArrayBlocks(Blocks):
    """Rows of anything with a shape, a dtype and slicing by rows, such as an HDF5 data set.

    The file at `path`, if there is one, must stay as it is.
    """

    def __init__(
        self,
        source: Any,
        path: Path | None = None,
        *,
        block_rows: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if getattr(source, "shape", None) is None or not hasattr(source, "dtype"):
            raise InvalidInput(f"X is {source!r:.100}: give an array that is in it, such as X['a']")
        dtype = np.dtype(source.dtype)
        if len(source.shape) != 2:
            raise InvalidInput(f"X has shape {tuple(source.shape)}: store it as a matrix")
        n_rows, n_columns = (int(length) for length in source.shape)
        if block_rows is None:
            block_rows = max(1, block_bytes(BLOCK_BYTES) // max(1, n_columns * dtype.itemsize))
        super().__init__((n_rows, n_columns), float_type(dtype), block_rows, progress)
        self.room_for_parts = room_for_parts(PART_BYTES)
        self._source, self._path = source, path
        self._state = None if path is None else _state(path)

    def in_order(self) -> Iterator[tuple[int, int, Block]]:
        """Yield all blocks in order; a thread reads one block ahead."""
        ranges = list(self.ranges())
        if len(ranges) == 1:
            yield *ranges[0], self.read(*ranges[0])
            return
        coming = in_background(self.read, *ranges[0])
        try:
            for place, following in zip(ranges, [*ranges[1:], None]):
                block = coming()
                if following is not None:
                    coming = in_background(self.read, *following)
                yield *place, block
        finally:
            with suppress(Exception):  # a caller that stops early may close the file
                coming()

    def in_double_precision(self) -> Self:
        """Return the same source, converted as it is read."""
        wider = copy.copy(self)
        wider.dtype = np.dtype(np.float64)
        return wider

    def read(self, start: int, stop: int) -> Block:
        """Return rows start … stop−1, read into memory."""
        if self._path is not None and _state(self._path) != self._state:
            raise UnreadableFile(
                f"{self._path} changed while it was read: start again while nothing writes to it"
            )
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


def _state(path: Path) -> tuple[int, ...]:
    """Return size, time and identity of a file, to detect changes."""
    try:
        found = path.stat()
    except OSError as error:
        raise UnreadableFile(
            f"{path} can no longer be read ({error.strerror}): put it back and start again"
        ) from error
    # A copy may have the time of the file whose place it takes.
    return found.st_size, found.st_mtime_ns, found.st_dev, found.st_ino


class NpyFile:
    """The array of an `.npy` file, mapped anew for each block and copied.

    Pages of a map that stays count as this process's memory and are given back late.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        mapped = np.load(path, mmap_mode="r")
        self.shape, self.dtype = mapped.shape, mapped.dtype

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return np.array(np.load(self._path, mmap_mode="r")[rows])


def open_npy(path: str | Path, **options: Any) -> ArrayBlocks:
    """Return the blocks of a two-dimensional `.npy` file."""
    path = existing(path)
    if not path.is_file():
        raise UnreadableFile(f"{path} is a folder: give an .npy file")
    remedy = "save it again, or read other formats with provenmf.io.read_matrix"
    with parsing(path, ".npy file", remedy):
        return ArrayBlocks(NpyFile(path), path, **options)


def from_hdf5(dataset: Any, **options: Any) -> ArrayBlocks:
    """Return the blocks of an h5py data set."""
    if not dataset or not hasattr(dataset, "shape"):  # one whose file is closed is False
        raise InvalidInput(f"X is {dataset!r:.100}: give a data set of an open file: file['X']")
    # A file that is open for writing has buffered changes.
    path = Path(dataset.file.filename) if dataset.file.mode == "r" else None
    return ArrayBlocks(dataset, path, **options)


def from_memmap(mapped: np.memmap[Any, Any], **options: Any) -> ArrayBlocks:
    """Return the blocks of a memory map; one that is written to may change its file."""
    path = Path(str(mapped.filename)) if mapped.filename and mapped.mode in ("r", "c") else None
    return ArrayBlocks(mapped, path, **options)
