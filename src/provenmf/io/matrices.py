"""Read a matrix from the files that people have: npy, npz, csv, tsv, mtx, mat, parquet, h5ad."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.files import (
    check_format,
    decoded,
    existing,
    lines_of,
    optional,
    read_bytes,
    read_mat,
    read_npy,
    read_npz,
    sparse_from_arrays,
    without_compression,
)
from provenmf.storage import NUMBERS


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix with the names of its rows and columns, where the file has them."""

    matrix: Any
    row_names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None

    @property
    def transposed(self) -> Table:
        """Rows for columns."""
        return Table(self.matrix.T, self.column_names, self.row_names)

    @property
    def names(self) -> dict[str, NDArray[np.str_]]:
        """The names that there are, by the fields of a Factorization that keep them."""
        named = {"row_names": self.row_names, "column_names": self.column_names}
        return {what: np.array(list(names), np.str_) for what, names in named.items() if names}


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


def read_table(path: str | Path, key: str | None = None) -> Table:
    """`read_matrix` with names: of csv, tsv and txt with a header or a first column of names, of
    the columns of parquet, of the cells and genes of h5ad.
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


def _is_number(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in NUMBERS


def _numeric(matrix: Any, path: Path) -> Any:
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
    try:
        matrix = sparse_from_arrays(arrays)
    except (KeyError, ValueError) as error:
        raise UnreadableFile(f"{path} is not a valid sparse matrix ({error})") from error
    return matrix if matrix is not None else choose_array(arrays, key, path)


def _from_mat(path: Path, key: str | None) -> Any:
    return choose_array(read_mat(path), key, path)


def _from_text(path: Path, key: str | None) -> Table:
    """A table of numbers; a header line and a first column of names are recognised."""
    text = decoded(path, read_bytes(path), "utf-8-sig")
    lines = [line for line in lines_of(text) if line.strip() and not line.startswith("#")]
    if not lines:
        raise UnreadableFile(f"{path} has no rows: give a file with data")
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in lines[0]), None)
    cells = [_cells(line, delimiter) for line in lines[:2]]
    header = any(not _is_numeral(cell) for cell in cells[0][1:] or cells[0])
    if header and len(lines) == 1:
        raise UnreadableFile(f"{path} has a header but no rows: give a file with data")
    first = cells[1 if header else 0]
    names = len(first) > 1 and not _is_numeral(first[0])
    try:
        matrix = np.loadtxt(
            lines,
            delimiter=delimiter,
            skiprows=int(header),
            usecols=range(1, len(first)) if names else None,
            quotechar='"',
            ndmin=2,
        )
    except ValueError as error:
        raise UnreadableFile(f"{path} is not a table of numbers ({error})") from error
    return Table(
        matrix,
        [_cells(line, delimiter)[0] for line in lines[int(header) :]] if names else None,
        # the corner above a column of names may be left out
        cells[0][-matrix.shape[1] :] if header else None,
    )


def _cells(line: str, delimiter: str | None) -> list[str]:
    return line.split() if delimiter is None else next(csv.reader([line], delimiter=delimiter))


def _is_numeral(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _from_mtx(path: Path, key: str | None) -> Any:
    import scipy.io

    content = read_bytes(path)
    try:
        return scipy.io.mmread(io.BytesIO(content))
    except (ValueError, OverflowError, TypeError) as error:
        raise UnreadableFile(
            f"{path} is not a valid Matrix Market file ({error}): write it again"
        ) from error


def _from_parquet(path: Path, key: str | None) -> Table:
    """The numeric columns of a table; its first column names the rows if it is text."""
    check_format(path)
    table = read_parquet(path)
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
    pyarrow = optional("pyarrow", "reading a Parquet file", "files")
    try:
        return parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableFile(f"{path} is not a readable Parquet file ({error})") from error


def _from_h5ad(path: Path, key: str | None) -> Table:
    """The matrix X (cells x genes) of an AnnData file, or one of its layers."""
    check_format(path)
    h5py = optional("h5py", "reading an h5ad file", "files")
    name = "X" if key in (None, "X") else f"layers/{key}"
    try:
        with h5py.File(path, "r") as file:
            if name not in file:
                raise UnreadableFile(f"{path} has no {name}: it holds {', '.join(file)}")
            return Table(
                _h5ad_matrix(file[name]), _h5ad_names(file, "obs"), _h5ad_names(file, "var")
            )
    except (OSError, KeyError) as error:
        raise UnreadableFile(f"{path} is not a readable h5ad file ({error})") from error


def _h5ad_matrix(node: Any) -> Any:
    """A dense dataset, or a group with the three arrays of a sparse matrix."""
    if hasattr(node, "shape"):
        return node[()]
    parts = node["data"][()], node["indices"][()], node["indptr"][()]
    shape = tuple(node.attrs["shape"])
    by_column = "csc" in str(node.attrs.get("encoding-type", "csr_matrix"))
    return (sp.csc_array if by_column else sp.csr_array)(parts, shape=shape)


def _h5ad_names(file: Any, axis: str) -> list[str] | None:
    """The index of the frame `obs` (cells) or `var` (genes), if it is a plain column of text."""
    frame = file.get(axis)
    if not hasattr(frame, "keys"):  # before AnnData 0.7 frames were stored in another way
        return None
    index = frame.get(str(frame.attrs.get("_index", "_index")))
    is_text = getattr(index, "dtype", np.dtype(float)).kind in "OS"
    return index.asstr()[()].tolist() if is_text else None


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
