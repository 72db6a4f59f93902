"""A dense matrix on disk: `.npy` files, memory maps, HDF5 and zarr arrays, read block by block."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks.base import Block, Blocks, Progress
from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.storage import float_type

BLOCK_BYTES = 64 * 2**20


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
            block_rows = max(1, BLOCK_BYTES // max(1, n_columns * dtype.itemsize))
        self._source = source
        super().__init__((n_rows, n_columns), float_type(dtype), block_rows, progress)

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1, read into memory."""
        return np.ascontiguousarray(self._source[start:stop], dtype=self.dtype)

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows; each is read on its own, since HDF5 wants increasing indices."""
        rows = np.asarray(rows)
        out = np.empty((len(rows), self.n_columns), dtype=self.dtype)
        for position, row in enumerate(rows):
            out[position] = self.read(int(row), int(row) + 1)[0]
        return out

    def in_double_precision(self) -> ArrayBlocks:
        """The same source, converted as it is read."""
        wider = copy.copy(self)
        wider.dtype = np.dtype(np.float64)
        return wider


class _RowFile:
    """Rows of a binary file in row order, read without mapping it.

    Pages of a memory map count as this process's memory and are given back late; plain reads
    keep the peak at the size of a block.
    """

    def __init__(
        self, path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int
    ) -> None:
        self.path, self.dtype, self.shape, self.offset = path, dtype, shape, offset

    def __getitem__(self, rows: slice) -> NDArray[np.floating]:
        start, stop, _ = rows.indices(self.shape[0])
        row_bytes = self.shape[1] * self.dtype.itemsize
        count = (stop - start) * self.shape[1]
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
