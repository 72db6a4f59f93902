"""NumPy's own files: headers checked against what is stored, pickles refused."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile
from provenmf.io.files import check_format, parsing
from provenmf.io.limits import check_sparse_shape, check_unfolded
from provenmf.linalg.storage import own_rows

# Most characters of a header: numpy evaluates it as Python, which must not take long.
LONGEST_HEADER = 10_000


def read_npz(path: Path, *, any_name: bool = False) -> dict[str, NDArray[Any]]:
    """All arrays of an `.npz` file; a pickle in it is refused, never run.

    The name must end in `.npz` unless `any_name` is True.
    """
    if not any_name:
        check_format(path)
    with parsing(path, "archive of arrays"), zipfile.ZipFile(path) as archive:
        members = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
        check_unfolded(path, sum(entry.file_size for entry in members))
        arrays = {}
        for entry in members:
            with archive.open(entry) as file:
                arrays[entry.filename.removesuffix(".npy")] = _read(path, file, entry.file_size)
        return arrays


def read_npy(path: Path) -> NDArray[Any]:
    """The array of an `.npy` file; a pickle is refused, never run."""
    check_format(path)
    with parsing(path, "NumPy array"), open(path, "rb") as file:
        return _read(path, file, path.stat().st_size)


def read_npy_member(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array of an archive; a pickle is refused, never run."""
    size = archive.getinfo(name).file_size
    check_unfolded(path, size)
    with archive.open(name) as file:
        return _read(path, file, size)


def npy_header(path: Path, file: IO[bytes], stored: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type; objects are refused, and a shape that does not fit the bytes there are."""
    version = np.lib.format.read_magic(file)
    read = {1: np.lib.format.read_array_header_1_0}.get(
        version[0], np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(file, max_header_size=LONGEST_HEADER)
    if dtype.hasobject:
        raise UnreadableFile(
            f"{path} holds pickled Python objects, which could run code, and is refused: "
            "save plain number or text arrays instead"
        )
    size = dtype.itemsize
    for length in shape:
        if not isinstance(length, int) or length < 0:
            raise UnreadableFile(f"{path} is damaged (shape {shape}): save it again")
        size *= length
    if size > stored:
        raise UnreadableFile(
            f"{path} is damaged: it declares {size} bytes and holds {stored}; save it again"
        )
    return shape, dtype


def _read(path: Path, file: IO[bytes], stored: int) -> NDArray[Any]:
    start = file.tell()
    npy_header(path, file, stored)
    file.seek(start)
    return np.lib.format.read_array(file, allow_pickle=False, max_header_size=LONGEST_HEADER)


def read_sparse_npz(path: Path, arrays: dict[str, NDArray[Any]]) -> sp.csr_array | None:
    """The matrix that scipy.sparse.save_npz wrote, or None if these are other arrays."""
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
