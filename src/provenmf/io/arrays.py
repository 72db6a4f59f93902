"""Arrays in NumPy's files: headers are checked against what is stored, pickles are refused."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile
from provenmf.io.files import check_sparse_shape, check_unfolded, parsing
from provenmf.linalg.storage import own_rows

# Most characters of a header: numpy evaluates it as Python, which must not take long.
LONGEST_HEADER = 10_000


def read_npy(path: Path) -> NDArray[Any]:
    """Return the array of an `.npy` file; a pickle is refused, never run."""
    with parsing(path, "NumPy array"), open(path, "rb") as file:
        return _read(path, file, path.stat().st_size)


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an `.npz` file; a pickle in it is refused, never run."""
    with parsing(path, "archive of arrays"), zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        check_unfolded(path, sum(archive.getinfo(name).file_size for name in members))
        return {n.removesuffix(".npy"): read_npy_member(path, archive, n) for n in members}


def read_npy_member(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Return one array of an archive; a pickle is refused, never run."""
    size = archive.getinfo(name).file_size
    check_unfolded(path, size)
    with archive.open(name) as file:
        return _read(path, file, size)


def write_npz(
    file: IO[bytes], arrays: Mapping[str, NDArray[Any]], *, compressed: bool = False
) -> None:
    """Write arrays as np.savez does, whatever their names are."""
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", kind) as archive:
        write_arrays(archive, arrays)


def write_arrays(archive: zipfile.ZipFile, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Add arrays to an archive."""
    for name, array in arrays.items():
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def npy_header(
    path: Path, file: IO[bytes], stored: int
) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Return shape, type and whether it is in column order; the numbers follow in the file.

    Objects are refused, and a shape that does not fit the bytes that are stored.
    """
    version = np.lib.format.read_magic(file)
    read = {1: np.lib.format.read_array_header_1_0}.get(
        version[0], np.lib.format.read_array_header_2_0
    )
    shape, by_column, dtype = read(file, max_header_size=LONGEST_HEADER)
    if dtype.hasobject:
        raise UnreadableFile(
            f"{path} holds pickled Python objects, which could run code, and is refused: "
            "save plain number or text arrays instead"
        )
    if any(not isinstance(length, int) or length < 0 for length in shape):
        raise UnreadableFile(f"{path} is damaged (shape {shape}): save it again")
    size, held = math.prod(shape) * dtype.itemsize, stored - file.tell()
    if size > held:
        raise UnreadableFile(
            f"{path} is shorter than its header says ({held} bytes for {size}): save it again"
        )
    return shape, dtype, by_column


def _read(path: Path, file: IO[bytes], stored: int) -> NDArray[Any]:
    start = file.tell()
    npy_header(path, file, stored)
    file.seek(start)
    return np.lib.format.read_array(file, allow_pickle=False, max_header_size=LONGEST_HEADER)


def read_sparse_npz(path: Path, arrays: dict[str, NDArray[Any]]) -> sp.csr_array | None:
    """Return the matrix that scipy.sparse.save_npz wrote, or None if these are other arrays."""
    if "format" not in arrays or "shape" not in arrays:
        return None
    with parsing(path, "sparse matrix"):
        kind = arrays["format"].item()
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        shape = tuple(int(size) for size in arrays["shape"])
        if kind not in ("csr", "csc", "bsr", "coo", "dia"):
            return None
        check_sparse_shape(path, shape, arrays["data"].size)
        if kind == "coo":
            parts: Any = arrays["data"], (arrays["row"], arrays["col"])
        elif kind == "dia":
            parts = arrays["data"], arrays["offsets"]
        else:
            parts = arrays["data"], arrays["indices"], arrays["indptr"]
        return own_rows(getattr(sp, f"{kind}_array")(parts, shape=shape), str(path))


class FileState:
    """Size, time and identity of a file when it was opened, to detect later changes."""

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
        """Raise an error if the file changed since it was opened."""
        if self._now() != self._found:
            raise UnreadableFile(
                f"{self.path} changed while it was read: start again while nothing writes to it"
            )


class ArrayFile:
    """An array in a binary file, read without mapping it.

    Pages of a memory map count as this process's memory and are given back late; plain reads
    keep the peak at the size of a block. Reading a map of a file that was shortened ends the
    process.
    """

    def __init__(
        self,
        path: Path,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        offset: int,
        *,
        by_row: bool = True,
    ) -> None:
        self.path, self.dtype, self.shape = path, dtype, shape
        self._offset, self._by_row = offset, by_row
        self._state = FileState(path)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows of a matrix."""
        start, stop, _ = rows.indices(self.shape[0])
        height, width = stop - start, self.shape[1]
        if self._by_row:
            return self.numbers(start * width, height * width).reshape(height, width)
        block = np.empty((height, width), self.dtype)
        for column in range(width):
            block[:, column] = self.numbers(column * self.shape[0] + start, height)
        return block

    def numbers(self, first: int, count: int) -> NDArray[Any]:
        """Return some numbers in the order of the file."""
        self._state.check()
        start = self._offset + first * self.dtype.itemsize
        found = np.fromfile(self.path, dtype=self.dtype, count=count, offset=start)
        if found.size != count:
            raise UnreadableFile(f"{self.path} is truncated: write it again")
        return found
