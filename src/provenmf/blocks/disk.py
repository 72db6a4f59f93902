"""A dense matrix on disk: `.npy` files, memory maps, HDF5 and zarr arrays, read block by block."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks.base import Block, Blocks, Progress
from provenmf.budget import block_bytes, room_for_parts
from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.storage import float_type

BLOCK_BYTES = 64 * 2**20
NEIGHBOURS = 16  # rows no farther apart are read together
PART_BYTES = 512 * 2**20  # what passes keep of rows on disk stays in memory up to this


class ArrayBlocks(Blocks):
    """Rows of anything with a shape, a dtype and slicing by rows, such as an HDF5 data set."""

    def __init__(
        self, source: Any, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        dtype = np.dtype(source.dtype)
        if len(source.shape) != 2:
            raise InvalidInput(f"X has shape {tuple(source.shape)}: store it as a matrix")
        n_rows, n_columns = (int(length) for length in source.shape)
        if block_rows is None:
            block_rows = max(1, block_bytes(BLOCK_BYTES) // max(1, n_columns * dtype.itemsize))
        self._source = source
        super().__init__((n_rows, n_columns), float_type(dtype), block_rows, progress)
        self.room_for_parts = room_for_parts(PART_BYTES)

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1, read into memory."""
        return np.ascontiguousarray(self._source[start:stop], dtype=self.dtype)

    def in_order(self) -> Iterator[tuple[int, int, Block]]:
        """All blocks; the next one is read while one is worked on."""
        return read_ahead(self)

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows; neighbours are read together, up to a block of them."""
        rows = np.asarray(rows)
        out = np.empty((len(rows), self.n_columns), dtype=self.dtype)
        order = np.argsort(rows, kind="stable")
        for here in np.split(order, group_starts(rows[order], self.block_rows)):
            if len(here):
                first = int(rows[here[0]])
                out[here] = self.read(first, int(rows[here[-1]]) + 1)[rows[here] - first]
        return out

    def in_double_precision(self) -> ArrayBlocks:
        """The same source, converted as it is read."""
        wider = copy.copy(self)
        wider.dtype = np.dtype(np.float64)
        return wider


def group_starts(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Where the second and later groups of ascending rows begin: after a gap, or `most` rows on."""
    gaps = np.flatnonzero(np.diff(rows) > NEIGHBOURS) + 1
    starts: list[int] = []
    for start, stop in zip([0, *gaps.tolist()], [*gaps.tolist(), len(rows)]):
        if start:
            starts.append(start)
        while start < stop and rows[stop - 1] - rows[start] >= most:
            start += int(np.searchsorted(rows[start:stop], rows[start] + most))
            starts.append(start)
    return np.array(starts, dtype=np.intp)


def read_ahead(blocks: Blocks) -> Iterator[tuple[int, int, Block]]:
    """All blocks in order, read by a thread of its own that is one block ahead."""
    ranges = list(blocks.ranges())
    if len(ranges) == 1:
        yield *ranges[0], blocks.read(*ranges[0])
        return
    with ThreadPoolExecutor(1, thread_name_prefix="provenmf-reading") as reader:
        coming = reader.submit(blocks.read, *ranges[0])
        for place, following in zip(ranges, [*ranges[1:], None]):
            block = coming.result()
            if following is not None:
                coming = reader.submit(blocks.read, *following)
            yield *place, block


class _Hdf5Rows:
    """Rows of an HDF5 data set whose file nobody else may change."""

    def __init__(self, dataset: Any) -> None:
        self._dataset, self.shape, self.dtype = dataset, dataset.shape, dataset.dtype
        writing = dataset.file.mode != "r"  # by whoever opened it, whose writes are buffered
        self._state = None if writing else FileState(Path(dataset.file.filename))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        if self._state is not None:
            self._state.check()
        return np.asarray(self._dataset[rows])


def from_hdf5(dataset: Any, **options: Any) -> ArrayBlocks:
    """Blocks of an h5py data set."""
    return ArrayBlocks(_Hdf5Rows(dataset), **options)


class FileState:
    """Size and time of a file when it was opened: what is written to it later is noticed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found = self._now()

    def _now(self) -> tuple[int, int]:
        try:
            found = self.path.stat()
        except OSError as error:
            raise UnreadableFile(f"{self.path} can no longer be read ({error})") from error
        return found.st_size, found.st_mtime_ns

    def check(self) -> None:
        """Refuse to go on with a file that is not the one that was opened."""
        if self._now() != self._found:
            raise UnreadableFile(
                f"{self.path} changed while it was read: fit again while nothing writes to it"
            )


class _RowFile:
    """Rows of a binary file in row order, read without mapping it.

    Pages of a memory map count as this process's memory and are given back late; plain reads
    keep the peak at the size of a block.
    """

    def __init__(
        self, path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int
    ) -> None:
        self.path, self.dtype, self.shape, self.offset = path, dtype, shape, offset
        self._state = FileState(path)

    def __getitem__(self, rows: slice) -> NDArray[np.floating]:
        start, stop, _ = rows.indices(self.shape[0])
        row_bytes = self.shape[1] * self.dtype.itemsize
        count = (stop - start) * self.shape[1]
        self._state.check()
        block = np.fromfile(
            self.path, dtype=self.dtype, count=count, offset=self.offset + start * row_bytes
        )
        if block.size != count:
            raise UnreadableFile(
                f"{self.path} ends before row {stop}: it is truncated; write it again"
            )
        return block.reshape(stop - start, self.shape[1])


def open_npy(path: str | Path, **options: Any) -> ArrayBlocks:
    """Blocks of a two-dimensional `.npy` file in row order (C order)."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise UnreadableFile(f"{path} is not a regular file: give an .npy file")
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # the header is arbitrary text, which fails in many ways
        if "mmap length" in str(error):
            raise UnreadableFile(
                f"{path} is shorter than its header says: it is truncated; write it again"
            ) from error
        # NumPy's own words advise to unpickle, which would run what the file says.
        raise UnreadableFile(
            f"{path} is not a .npy matrix of plain numbers: save it again with numpy.save, "
            "without Python objects"
        ) from error
    return from_memmap(mapped, **options)


def from_memmap(mapped: np.memmap[Any, Any], **options: Any) -> ArrayBlocks:
    """Blocks of a memory map; one that starts a file in row order is read without mapping it."""
    whole_file = mapped.base is None or not isinstance(mapped.base, np.memmap)
    if mapped.ndim == 2 and mapped.flags.c_contiguous and whole_file and mapped.filename:
        source: Any = _RowFile(
            Path(str(mapped.filename)), mapped.dtype, mapped.shape, mapped.offset
        )
        return ArrayBlocks(source, **options)
    return ArrayBlocks(mapped, **options)
