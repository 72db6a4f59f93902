"""Sparse rows on disk, read a range at a time, and files rewritten as such rows.

A file of sparse rows is what `scipy.sparse.save_npz(path, csr, compressed=False)` writes: a zip
archive whose members `indptr`, `indices` and `data` are plain NumPy arrays, so that rows start …
stop−1 lie in one piece of each. A member `names` may follow: names of rows and columns as JSON.
"""

from __future__ import annotations

import json
import shutil
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.arrays import ArrayFile, npy_header, read_npy_member, write_arrays
from provenmf.io.child import read_in_child
from provenmf.io.files import (
    check_sparse_shape,
    check_target,
    existing,
    parsing,
    write_aside,
)
from provenmf.io.matrices import read_table, stored_names
from provenmf.linalg.storage import NUMBERS, own_rows, wide_type

PARTS = ("indptr", "indices", "data")
ZIP_MEMBER = struct.Struct("<4s22xHH")  # signature, lengths of the name and of what follows it
NAMES = "names.npy"


class SparseRows(NamedTuple):
    """A sparse matrix in a file: where each row begins and ends among the entries on disk."""

    path: Path
    shape: tuple[int, int]
    pointers: NDArray[np.int64]
    indices: ArrayFile
    data: ArrayFile

    def read(self, start: int, stop: int) -> sp.csr_array:
        """Return rows start … stop−1, sorted; an index outside the columns is refused."""
        pointers = self.pointers[start : stop + 1]
        first, count = int(pointers[0]), int(pointers[-1] - pointers[0])
        values = self.data.numbers(first, count).astype(wide_type(self.data.dtype), copy=False)
        parts = values, self.indices.numbers(first, count), pointers - first
        rows = sp.csr_array(parts, shape=(stop - start, self.shape[1]))
        return own_rows(rows, f"{self.path}, rows {start} to {stop - 1},")

    def names(self) -> tuple[list[str] | None, list[str] | None]:
        """Return the names of rows and columns, where the file has them."""
        with parsing(self.path, "archive of arrays"), zipfile.ZipFile(self.path) as archive:
            if NAMES not in archive.namelist():
                return None, None
            return stored_names(self.path, read_npy_member(self.path, archive, NAMES), self.shape)


def open_sparse_rows(path: Path) -> SparseRows | None:
    """Return the rows of a file, or None if it is another archive or compressed.

    Shapes are checked against the size of the file, and all index pointers.
    """
    with parsing(path, "archive of arrays"), zipfile.ZipFile(path) as archive:
        members = {entry.filename: entry for entry in archive.infolist()}
        wanted = [f"{name}.npy" for name in (*PARTS, "format", "shape")]
        if not all(name in members for name in wanted):
            return None
        if any(members[f"{name}.npy"].compress_type != zipfile.ZIP_STORED for name in PARTS):
            return None
        if read_npy_member(path, archive, "format.npy").item() not in (b"csr", "csr"):
            return None
        sizes = read_npy_member(path, archive, "shape.npy")
        shape = tuple(int(size) for size in sizes)
        if len(shape) != 2 or min(shape) < 0 or not np.array_equal(sizes, shape):
            raise UnreadableFile(f"{path} is damaged (shape {shape}): save it again")
        ends, indices, data = (_part(path, archive, members[f"{name}.npy"]) for name in PARTS)
        check_sparse_shape(path, (shape[0], shape[1]), data.shape[0])
        if (
            ends.shape[0] != shape[0] + 1
            or indices.shape != data.shape
            or not set(ends.dtype.kind + indices.dtype.kind) <= {"i", "u"}
            or data.dtype.kind not in NUMBERS
        ):
            raise UnreadableFile(
                f"{path} is damaged: its arrays are not those of a sparse matrix; save it again"
            )
        pointers = ends.numbers(0, ends.shape[0]).astype(np.int64)
        if pointers[0] != 0 or (np.diff(pointers) < 0).any() or pointers[-1] != data.shape[0]:
            raise UnreadableFile(
                f"{path} is damaged: its index pointers do not increase from 0 to "
                f"{data.shape[0]}, the number of entries; save it again"
            )
    return SparseRows(path, (shape[0], shape[1]), pointers, indices, data)


def _part(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> ArrayFile:
    """Return the array of a member, found by its place in the file."""
    with archive.open(entry) as member:
        shape, dtype, _ = npy_header(path, member, entry.file_size)
        header = member.tell()
    with open(path, "rb") as file:
        file.seek(entry.header_offset)
        signature, *lengths = ZIP_MEMBER.unpack(file.read(ZIP_MEMBER.size))
    offset = entry.header_offset + ZIP_MEMBER.size + sum(lengths) + header
    whole = len(shape) == 1 and offset + shape[0] * dtype.itemsize <= path.stat().st_size
    if signature != b"PK\x03\x04" or not whole:
        raise UnreadableFile(f"{path} is damaged: {entry.filename} is not whole; save it again")
    return ArrayFile(path, dtype, shape, offset)


def write_sparse_rows(
    path: str | Path,
    chunks: Iterable[sp.csr_array],
    n_columns: int,
    names: Mapping[str, Sequence[str] | None] | None = None,
) -> tuple[int, int]:
    """Write rows as they come, completely or not at all; return the number of rows and entries.

    Parameters
    ----------
    path : file to write, usually `.npz`.
    chunks : blocks of rows of one type, each with `n_columns` columns.
    names : of "rows" and "columns", read after the last chunk.
    """
    index_type = np.dtype(np.int32 if n_columns < 2**31 else np.int64)
    lengths = [np.zeros(1, dtype=np.int64)]

    def write(file: IO[bytes]) -> None:
        """Spool entries to files until their number is known."""
        dtype, folder = np.dtype(np.float64), Path(path).resolve().parent
        with TemporaryFile(dir=folder) as indices, TemporaryFile(dir=folder) as data:
            for number, chunk in enumerate(chunks):
                dtype = chunk.data.dtype if number == 0 else dtype
                indices.write(np.ascontiguousarray(chunk.indices, dtype=index_type).data)
                data.write(np.ascontiguousarray(chunk.data, dtype=dtype).data)
                lengths.append(np.diff(chunk.indptr).astype(np.int64))
            pointers = np.cumsum(np.concatenate(lengths))
            small: dict[str, Any] = {
                "indptr": pointers,
                "format": np.array(b"csr"),
                "shape": np.array([len(pointers) - 1, n_columns]),
            }
            known = {axis: list(given) for axis, given in (names or {}).items() if given}
            if known:
                small["names"] = np.frombuffer(json.dumps(known).encode(), dtype=np.uint8)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                write_arrays(archive, small)
                for name, kind, spool in (("indices", index_type, indices), ("data", dtype, data)):
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        descr = np.lib.format.dtype_to_descr(kind)
                        shape = (int(pointers[-1]),)
                        header = {"descr": descr, "fortran_order": False, "shape": shape}
                        np.lib.format.write_array_header_1_0(member, header)
                        spool.seek(0)
                        shutil.copyfileobj(spool, member, 2**20)

    write_aside(path, write)
    return sum(map(len, lengths)) - 1, int(sum(part.sum() for part in lengths))


def convert(source: str | Path, target: str | Path, *, key: str | None = None) -> tuple[int, int]:
    """Write a matrix as sparse rows; return the number of rows and of stored entries.

    source : a matrix as `read_matrix` takes it; X of an h5ad file is read a piece at a time.
    target : ends in `.npz`; written completely or not at all.
    key : name of the matrix where a file can hold several.
    """
    source, target = existing(source), Path(target)
    if target.suffix.lower() != ".npz":
        raise InvalidInput(f"cannot convert to {target}: end it in .npz")
    check_target(target, source)
    if source.suffix.lower() == ".h5ad" and key in (None, "X"):
        done = read_in_child("child:convert_h5ad", source, str(target.resolve()))
        n_rows, stored = done["sizes"]
        return int(n_rows), int(stored)
    table = read_table(source, key)
    rows = sp.csr_array(table.matrix.astype(wide_type(table.matrix.dtype), copy=False))
    rows.sum_duplicates()
    names = {"rows": table.row_names, "columns": table.column_names}
    return write_sparse_rows(target, [rows], rows.shape[1], names)
