"""Numbers in binary files that may change while they are read."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile


class FileState:
    """Size, time and identity of a file when it was opened: what changes later is noticed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found = self._now()

    def _now(self) -> tuple[int, ...]:
        try:
            found = self.path.stat()
        except OSError as error:
            raise UnreadableFile(
                f"{self.path} can no longer be read ({error.strerror}): put it back and start again"
            ) from error
        # A copy may have the time of the file whose place it takes.
        return found.st_size, found.st_mtime_ns, found.st_dev, found.st_ino

    def check(self) -> None:
        """Refuse to go on with a file that is not the one that was opened."""
        if self._now() != self._found:
            raise UnreadableFile(
                f"{self.path} changed while it was read: start again while nothing writes to it"
            )


class ArrayFile:
    """A matrix in a binary file, read without mapping it.

    Pages of a memory map count as this process's memory and are given back late; plain reads
    keep the peak at the size of a block. Reading a map of a file that was shortened ends the
    process.
    """

    def __init__(self, path: Path, mapped: np.memmap[Any, Any]) -> None:
        """A map of the whole file says where its numbers are; it is not kept."""
        self.path, self.dtype, self.shape = path, mapped.dtype, mapped.shape
        self._offset, self._by_row = mapped.offset, mapped.flags.c_contiguous
        self._state = FileState(path)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        self._state.check()
        with open(self.path, "rb") as file:
            if self._by_row:
                numbers = self._read(file, start * self.shape[1], (stop - start) * self.shape[1])
                return numbers.reshape(stop - start, self.shape[1])
            block = np.empty((stop - start, self.shape[1]), self.dtype)
            for column in range(self.shape[1]):
                block[:, column] = self._read(file, column * self.shape[0] + start, stop - start)
        return block

    def _read(self, file: IO[bytes], first: int, count: int) -> NDArray[Any]:
        file.seek(self._offset + first * self.dtype.itemsize)
        numbers = np.fromfile(file, dtype=self.dtype, count=count)
        if numbers.size != count:
            raise UnreadableFile(f"{self.path} is truncated: write it again")
        return numbers
