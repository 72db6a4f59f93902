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
        arrays = {}
        for name in members:
            with archive.open(name) as file:
                array = _read(path, file, archive.getinfo(name).file_size)
            arrays[name.removesuffix(".npy")] = array
        return arrays


def write_npz(
    file: IO[bytes], arrays: Mapping[str, NDArray[Any]], *, compressed: bool = False
) -> None:
    """Write arrays as np.savez does, whatever their names are."""
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _read(path: Path, file: IO[bytes], stored: int) -> NDArray[Any]:
    """Read an array of `stored` bytes; refuse objects, and a shape that does not fit the bytes."""
    start, version = file.tell(), np.lib.format.read_magic(file)
    read = {1: np.lib.format.read_array_header_1_0}.get(
        version[0], np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(file, max_header_size=LONGEST_HEADER)
    if dtype.hasobject:
        raise UnreadableFile(
            f"{path} holds pickled Python objects, which could run code, and is refused: "
            "save plain number or text arrays instead"
        )
    size, held = math.prod(shape) * dtype.itemsize, stored - file.tell()
    if min(shape, default=0) < 0 or size > held:
        raise UnreadableFile(
            f"{path} is shorter than its header says ({held} bytes for {size}): save it again"
        )
    file.seek(start)
    return np.lib.format.read_array(file, allow_pickle=False, max_header_size=LONGEST_HEADER)


def read_sparse_npz(path: Path) -> sp.csr_array | None:
    """Return the matrix that scipy.sparse.save_npz wrote, or None if these are other arrays."""
    with parsing(path, "sparse matrix"):
        with zipfile.ZipFile(path) as archive:
            if not {"format.npy", "shape.npy"} <= set(archive.namelist()):
                return None
            check_unfolded(path, sum(member.file_size for member in archive.infolist()))
        matrix = sp.load_npz(path)
        check_sparse_shape(path, matrix.shape, matrix.data.size)
        return own_rows(matrix, str(path))
