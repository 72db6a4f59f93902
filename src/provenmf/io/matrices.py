"""Read a matrix from the files that people have: npy, npz, csv, tsv, mtx, mat, parquet, h5ad."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.files import (
    check_format,
    existing,
    parsing,
    read_bytes,
    without_compression,
)
from provenmf.io.guarded import read_in_child
from provenmf.io.limits import check_sparse_shape, check_unfolded
from provenmf.io.matrix_market import parse_matrix_market
from provenmf.io.numpy_files import read_npy, read_npz, read_sparse_npz
from provenmf.io.optional import optional
from provenmf.io.sparse_rows import stored_names
from provenmf.io.tables import Table
from provenmf.io.text_tables import text_tables
from provenmf.linalg.storage import NUMBERS


def read_matrix(path: str | Path, key: str | None = None) -> Any:
    """Read a two-dimensional matrix of numbers; rows are data points.

    Parameters
    ----------
    path : file ending in npy, npz (plain arrays or scipy sparse), csv, tsv, txt, mtx, mat,
        parquet or h5ad; csv, tsv, txt and mtx may be compressed (`.gz`, `.xz`).
    key : name of the matrix where a file can hold several (npz, mat; a layer of h5ad).

    Returns
    -------
    numpy array or scipy csr_array.
    """
    return read_table(path, key).matrix


def read_table(path: str | Path, key: str | None = None, *, missing: bool = False) -> Table:
    """`read_matrix` with names: of csv, tsv and txt with a header or a first column of names, of
    the columns of parquet, of the cells and genes of h5ad.

    With `missing`, cells of csv, tsv and txt that are empty, "NA" or the like become NaN.
    """
    path = existing(path)
    ending = without_compression(path)
    if path.is_dir() or ending not in _READERS:
        known = ", ".join(sorted(_READERS))
        raise UnreadableFile(f"{path} is not a matrix file: use one of {known}")
    if key is not None and ending not in _WITH_SEVERAL:
        raise InvalidInput(
            f"{path} holds one matrix only",
            argument="key",
            remedy=f"leave out {{argument={key!r}}}",
        )
    if _READERS[ending] is _from_text:
        read: Any = _from_text(path, key, missing=missing)
    else:
        read = _READERS[ending](path, key)
    table = read if isinstance(read, Table) else Table(read)
    return replace(table, matrix=_numeric(table.matrix, path))


def choose_array(
    arrays: dict[str, Any], key: str | None, path: Path, dimensions: tuple[int, ...] = (2,)
) -> Any:
    """The array named by key, or the only one with the right number of dimensions."""
    if key is not None:
        if key not in arrays:
            raise InvalidInput(f"{path} has no {key!r}: it holds {', '.join(arrays) or 'nothing'}")
        return arrays[key]
    fitting = [
        name
        for name, array in arrays.items()
        if sp.issparse(array) or (_is_number(array) and np.squeeze(array).ndim in dimensions)
    ]
    if not fitting:
        raise UnreadableFile(
            f"{path} holds no numeric matrix: it has {', '.join(arrays) or 'nothing'}"
        )
    if len(fitting) > 1:
        raise InvalidInput(
            f"{path} holds several matrices, {', '.join(fitting)}",
            argument="key",
            remedy=f"choose one, such as {{argument={fitting[0]!r}}}",
        )
    return arrays[fitting[0]]


def _is_number(array: object) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in NUMBERS


def _numeric(matrix: object, path: Path) -> Any:
    if sp.issparse(matrix):
        return sp.csr_array(matrix)
    matrix = np.asanyarray(matrix)
    if matrix.dtype.kind not in NUMBERS:
        raise UnreadableFile(f"{path} holds {matrix.dtype} entries, not numbers: convert it")
    if matrix.ndim != 2:
        raise InvalidInput(f"{path} holds an array of shape {matrix.shape}: a matrix is needed")
    return matrix


def _from_npy(path: Path, key: str | None) -> NDArray[Any]:
    return read_npy(path)


def _from_npz(path: Path, key: str | None) -> Any:
    arrays = read_npz(path)
    matrix = read_sparse_npz(path, arrays)
    if matrix is None:
        return choose_array(arrays, key, path)
    names = arrays.get("names", np.zeros(0))
    return Table(matrix, *stored_names(path, names, matrix.shape)) if _is_text(names) else matrix


def _is_text(array: NDArray[Any]) -> bool:
    return array.dtype == np.uint8 and array.ndim == 1


def read_mat(path: Path) -> dict[str, Any]:
    """Variables of a MATLAB file, also of version 7.3 (HDF5); None where they are not numbers."""
    check_format(path)
    return read_in_child("matlab:read_mat", path)


def _from_mat(path: Path, key: str | None) -> Any:
    return choose_array(read_mat(path), key, path)


def _from_text(path: Path, key: str | None, *, missing: bool = False) -> Table:
    """A table of numbers; a header line and a first column of names are recognised."""
    [table] = text_tables(path, missing=missing)
    return table


def _from_mtx(path: Path, key: str | None) -> Any:
    content = read_bytes(path)
    with parsing(path, "Matrix Market file"):
        matrix = parse_matrix_market(content)
    if not isinstance(matrix, np.ndarray):
        check_sparse_shape(path, matrix.shape, matrix.nnz)
    return matrix


def _from_parquet(path: Path, key: str | None) -> Table:
    """The numeric columns of a table; its first column names the rows if it is text."""
    table = read_parquet(path)
    repeated = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if repeated:
        raise UnreadableFile(f"{path} has several columns of the same name: {', '.join(repeated)}")
    numeric = [name for name in table.column_names if str(table[name].type) in _PARQUET_NUMBERS]
    if not numeric:
        raise UnreadableFile(
            f"{path} has no numeric column: it has {', '.join(table.column_names)}"
        )
    first = table.column_names[0]
    return Table(
        np.column_stack([table[name].to_numpy() for name in numeric]),
        table[first].to_pylist() if str(table[first].type) in _PARQUET_TEXT else None,
        numeric,
    )


_PARQUET_TEXT = ("string", "large_string")
_PARQUET_NUMBERS = frozenset(
    ["bool", "float", "double", "halffloat"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


def read_parquet(path: Path) -> Any:
    """A pyarrow table."""
    parquet = optional("pyarrow.parquet", "reading a Parquet file", "files")
    check_format(path)
    with parsing(path, "Parquet file"):
        with parquet.ParquetFile(path) as file:
            stored = file.metadata
            groups = [stored.row_group(number) for number in range(stored.num_row_groups)]
            check_unfolded(path, sum(group.total_byte_size for group in groups))
            check_unfolded(path, stored.num_rows * stored.num_columns)
            table = file.read()
        table.validate(full=True)
        return table


def _from_h5ad(path: Path, key: str | None) -> Table:
    """The matrix X (cells x genes) of an AnnData file, or one of its layers."""
    check_format(path)
    name = "X" if key in (None, "X") else f"layers/{key}"
    return Table(**read_in_child("hdf5:read_h5ad", path, name))


_WITH_SEVERAL = (".npz", ".mat", ".h5ad")
_READERS: dict[str, Callable[[Path, str | None], Any]] = {
    ".npy": _from_npy,
    ".npz": _from_npz,
    ".csv": _from_text,
    ".tsv": _from_text,
    ".txt": _from_text,
    ".mtx": _from_mtx,
    ".mat": _from_mat,
    ".parquet": _from_parquet,
    ".h5ad": _from_h5ad,
}
