"""Sparse rows on disk, read a range of rows at a time and written in one pass.

The file is what `scipy.sparse.save_npz(path, csr, compressed=False)` writes: a zip archive whose
members `indptr`, `indices` and `data` are plain NumPy arrays, not compressed, so that rows start …
stop−1 lie in one piece of each. A member `names` of ours may follow: the names of rows and columns
as JSON. scipy reads the file too; an archive that is compressed has to be read as a whole.
"""

from __future__ import annotations

import json
import shutil
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile
from provenmf.io.arrays import FileState, npy_header, read_npy_member
from provenmf.io.files import check_format, check_sparse_shape, parsing
from provenmf.io.output import write_aside
from provenmf.linalg.storage import NUMBERS, wide_type

PARTS = ("indptr", "indices", "data")
POINTERS_READ = 2**20
ZIP_MEMBER = struct.Struct("<4s22xHH")  # signature, lengths of the name and of what follows it
NAMES = "names.npy"


@dataclass(frozen=True)
class _Part:
    """One array of the archive: where its numbers begin, how many there are, of which type."""

    offset: int
    length: int
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class SparseRows:
    """A sparse matrix in a file, as rows.

    Attributes
    ----------
    path, shape, dtype
        Of the file and the matrix in it.
    stored : int
        Number of stored entries.
    """

    path: Path
    shape: tuple[int, int]
    parts: dict[str, _Part]
    state: FileState

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries."""
        return self.parts["data"].dtype

    @property
    def stored(self) -> int:
        """How many entries are stored."""
        return self.parts["data"].length

    def read(self, start: int, stop: int) -> sp.csr_array:
        """Rows start … stop−1, not yet checked."""
        with self._opened() as file:
            return self._rows(file, start, stop)

    def take(self, rows: NDArray[np.integer]) -> sp.csr_array:
        """The given rows in the given order; each is read on its own."""
        with self._opened() as file:
            found = [self._rows(file, row, row + 1) for row in rows.tolist()]
        empty = sp.csr_array((0, self.shape[1]), dtype=wide_type(self.dtype))
        return sp.csr_array(sp.vstack(found, format="csr")) if found else empty

    def pointers(self) -> Iterator[NDArray[np.int64]]:
        """All index pointers, a million at a time; neighbouring pieces share one."""
        with self._opened() as file:
            for start in range(0, max(self.shape[0], 1), POINTERS_READ):
                stop = min(start + POINTERS_READ, self.shape[0])
                yield self._numbers(file, "indptr", start, stop + 1).astype(np.int64)

    def names(self) -> tuple[list[str] | None, list[str] | None]:
        """Names of rows and columns, where the file has them."""
        with parsing(self.path, "archive of arrays"), zipfile.ZipFile(self.path) as archive:
            if NAMES not in archive.namelist():
                return None, None
            return stored_names(self.path, read_npy_member(self.path, archive, NAMES), self.shape)

    def _opened(self) -> IO[bytes]:
        self.state.check()
        return open(self.path, "rb")

    def _numbers(self, file: IO[bytes], name: str, start: int, stop: int) -> NDArray[Any]:
        part = self.parts[name]
        size = part.dtype.itemsize
        file.seek(part.offset + start * size)
        content = file.read((stop - start) * size)
        if len(content) != (stop - start) * size:
            raise UnreadableFile(f"{self.path} is truncated: write it again")
        return np.frombuffer(content, dtype=part.dtype)

    def _rows(self, file: IO[bytes], start: int, stop: int) -> sp.csr_array:
        pointers = self._numbers(file, "indptr", start, stop + 1).astype(np.int64)
        first, last = int(pointers[0]), int(pointers[-1])
        if not 0 <= first <= last <= self.stored or (np.diff(pointers) < 0).any():
            raise UnreadableFile(
                f"{self.path} is damaged: the index pointers of rows {start} to {stop - 1} do not "
                "increase; write it again"
            )
        indices = self._numbers(file, "indices", first, last)
        if len(indices) and not (0 <= indices.min() and indices.max() < self.shape[1]):
            raise UnreadableFile(
                f"{self.path} is damaged: rows {start} to {stop - 1} have an index outside the "
                f"{self.shape[1]} columns; write it again"
            )
        values = self._numbers(file, "data", first, last).astype(wide_type(self.dtype), copy=False)
        indices = indices.astype(_index_type(self.shape[1]))
        return sp.csr_array(
            (values, indices, pointers - first), shape=(stop - start, self.shape[1])
        )


def stored_names(
    path: Path, content: NDArray[np.uint8], shape: tuple[int, int]
) -> tuple[list[str] | None, list[str] | None]:
    """Names of rows and columns from the bytes of their JSON text."""
    with parsing(path, "list of names"):
        lists = json.loads(content.tobytes().decode())
        found = [lists.get(axis) for axis in ("rows", "columns")]
    for names, length in zip(found, shape):
        known = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if names is not None and not (known and len(names) == length):
            raise UnreadableFile(
                f"{path} is damaged: its names do not fit its shape; write it anew"
            )
    return found[0], found[1]


def open_sparse_rows(path: Path) -> SparseRows | None:
    """The rows of a file, or None if it is another archive or compressed.

    Shapes are checked against the bytes that are there, and all index pointers.
    """
    check_format(path)
    with parsing(path, "archive of arrays"), zipfile.ZipFile(path) as archive:
        members = {entry.filename: entry for entry in archive.infolist()}
        wanted = [f"{name}.npy" for name in (*PARTS, "format", "shape")]
        if not all(name in members for name in wanted):
            return None
        if any(members[f"{name}.npy"].compress_type != zipfile.ZIP_STORED for name in PARTS):
            return None
        kind = read_npy_member(path, archive, "format.npy").item()
        if kind not in (b"csr", "csr"):
            return None
        sizes = read_npy_member(path, archive, "shape.npy")
        shape = tuple(int(size) for size in sizes)
        if len(shape) != 2 or min(shape) < 0 or not np.array_equal(sizes, shape):
            raise UnreadableFile(f"{path} is damaged (shape {shape}): save it again")
        parts = {name: _part(path, archive, members[f"{name}.npy"]) for name in PARTS}
        rows = SparseRows(path, (shape[0], shape[1]), parts, FileState(path))
        _check(rows)
    return rows


def _part(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> _Part:
    """Where the numbers of a member lie in the file."""
    with archive.open(entry) as member:
        shape, dtype = npy_header(path, member, entry.file_size)
        header = member.tell()
    with open(path, "rb") as file:
        file.seek(entry.header_offset)
        signature, *lengths = ZIP_MEMBER.unpack(file.read(ZIP_MEMBER.size))
    offset = entry.header_offset + ZIP_MEMBER.size + sum(lengths) + header
    length = shape[0] if len(shape) == 1 else -1
    whole = offset + length * dtype.itemsize <= path.stat().st_size
    if signature != b"PK\x03\x04" or length < 0 or not whole:
        raise UnreadableFile(f"{path} is damaged: {entry.filename} is not whole; save it again")
    return _Part(offset, length, dtype)


def _check(rows: SparseRows) -> None:
    pointers, indices, data = (rows.parts[name] for name in PARTS)
    check_sparse_shape(rows.path, rows.shape, data.length)
    fits = pointers.length == rows.shape[0] + 1 and indices.length == data.length
    numbers = pointers.dtype.kind + indices.dtype.kind
    if not fits or not set(numbers) <= {"i", "u"} or data.dtype.kind not in NUMBERS:
        raise UnreadableFile(
            f"{rows.path} is damaged: its arrays are not those of a sparse matrix; save it again"
        )
    last = 0
    for piece in rows.pointers():
        if piece[0] != last or (np.diff(piece) < 0).any():
            raise UnreadableFile(
                f"{rows.path} is damaged: its index pointers do not increase from 0; save it again"
            )
        last = int(piece[-1])
    if last != data.length:
        raise UnreadableFile(
            f"{rows.path} is damaged: its index pointers end at {last}, not at {data.length} "
            "entries; save it again"
        )


def _index_type(n_columns: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n_columns <= np.iinfo(np.int32).max else np.int64


def write_sparse_rows(
    path: str | Path,
    chunks: Iterable[sp.csr_array],
    n_columns: int,
    names: Mapping[str, Sequence[str] | None] | None = None,
) -> tuple[int, int]:
    """Write rows as they come, completely or not at all; the number of rows and of entries.

    Parameters
    ----------
    path : file to write, usually `.npz`.
    chunks : blocks of rows of one type, each with `n_columns` columns.
    names : of "rows" and "columns", looked at after the last chunk.
    """
    counts = [0, 0]

    def write(file: IO[bytes]) -> None:
        folder = Path(path).resolve().parent
        with TemporaryFile(dir=folder) as indices, TemporaryFile(dir=folder) as data:
            spool: dict[str, IO[bytes]] = {"indices": indices, "data": data}
            counts[:] = _write_archive(file, spool, chunks, n_columns, names or {})

    write_aside(path, write)
    return counts[0], counts[1]


def _write_archive(
    file: IO[bytes],
    spool: dict[str, IO[bytes]],
    chunks: Iterable[sp.csr_array],
    n_columns: int,
    names: Mapping[str, Sequence[str] | None],
) -> tuple[int, int]:
    """Indices and numbers go to files of their own until their lengths are known."""
    index_type, dtype = np.dtype(_index_type(n_columns)), np.dtype(np.float64)
    lengths: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
    for number, chunk in enumerate(chunks):
        dtype = chunk.data.dtype if number == 0 else dtype
        spool["indices"].write(np.ascontiguousarray(chunk.indices, dtype=index_type).data)
        spool["data"].write(np.ascontiguousarray(chunk.data, dtype=dtype).data)
        lengths.append(np.diff(chunk.indptr).astype(np.int64))
    pointers = np.cumsum(np.concatenate(lengths))
    n_rows, stored = len(pointers) - 1, int(pointers[-1])
    small: dict[str, Any] = {
        "indptr": pointers,
        "format": np.array(b"csr"),
        "shape": np.array([n_rows, n_columns]),
    }
    known = {axis: list(given) for axis, given in names.items() if given}
    if known:
        small["names"] = np.frombuffer(json.dumps(known).encode(), dtype=np.uint8)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in small.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        for name, kind in (("indices", index_type), ("data", dtype)):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_header(member, kind, (stored,))
                spool[name].seek(0)
                shutil.copyfileobj(spool[name], member, 2**20)
    return n_rows, stored


def write_header(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Write the header of an array whose numbers follow."""
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(
        file, {"descr": descr, "fortran_order": False, "shape": shape}
    )
