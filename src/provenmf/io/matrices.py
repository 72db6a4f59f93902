"""Read a matrix from the files that people have: npy, npz, csv, tsv, mtx, mat, parquet, h5ad."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.arrays import read_npy, read_npz, read_sparse_npz
from provenmf.io.child import NotNumbers, read_in_child
from provenmf.io.files import (
    check_format,
    check_sparse_shape,
    check_unfolded,
    existing,
    open_safely,
    optional,
    parsing,
    stream_lines,
    without_compression,
)
from provenmf.io.matrix_market import parse_matrix_market
from provenmf.io.sparse_rows import stored_names
from provenmf.linalg.storage import NUMBERS

# What people write where there is no value.
MISSING_VALUES = frozenset(["", "na", "n/a", "nan", "null", "none", "?"])
MATRIX_ENDINGS = (".csv", ".h5ad", ".mat", ".mtx", ".npy", ".npz", ".parquet", ".tsv", ".txt")


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix with the names of its rows and columns, where the file has them."""

    matrix: Any
    row_names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None

    @property
    def transposed(self) -> Table:
        """The table with rows and columns exchanged."""
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


def read_table(path: str | Path, key: str | None = None, *, missing: bool = False) -> Table:
    """Read a matrix with the names of its rows and columns, where the file has them.

    csv, tsv and txt have names in a header line and in a first column of text, parquet those of its
    columns, h5ad those of cells and genes. With `missing`, cells of csv, tsv and txt that are
    empty, "NA" or the like become NaN.
    """
    path = existing(path)
    ending = without_compression(path)
    if path.is_dir() or ending not in MATRIX_ENDINGS:
        known = ", ".join(MATRIX_ENDINGS)
        raise UnreadableFile(f"{path} is not a matrix file: use one of {known}")
    if key is not None and ending not in (".npz", ".mat", ".h5ad"):
        raise InvalidInput(
            f"{path} holds one matrix only",
            argument="key",
            remedy=f"leave out {{argument={key!r}}}",
        )
    if ending in (".csv", ".tsv", ".txt"):
        [table] = text_tables(path, missing=missing)
    elif ending == ".npy":
        table = Table(read_npy(path))
    elif ending == ".npz":
        table = _from_npz(path, key)
    elif ending == ".mtx":
        table = Table(_from_mtx(path))
    elif ending == ".mat":
        table = Table(choose_array(read_mat(path), key, path))
    elif ending == ".parquet":
        table = _from_parquet(path)
    else:
        from provenmf.io.hdf5 import place_of

        check_format(path)
        table = Table(**read_in_child("hdf5:read_h5ad", path, place_of(key)))
    return replace(table, matrix=_numeric(table.matrix, path))


def read_arrays(path: Path, what: str) -> dict[str, Any]:
    """Return all arrays of an `.npz`, `.npy` or `.mat` file by name, the only one under ""."""
    ending = path.suffix.lower()
    if ending == ".npy":
        return {"": read_npy(path)}
    if ending not in (".npz", ".mat"):
        raise UnreadableFile(f"{path} holds no {what}: use .npz, .npy or .mat")
    return read_npz(path) if ending == ".npz" else read_mat(path)


def read_mat(path: Path) -> dict[str, Any]:
    """Return the variables of a MATLAB file, NotNumbers where they are text, structs or cells."""
    check_format(path)
    return read_in_child("hdf5:read_mat", path)


def choose_array(
    arrays: dict[str, Any], key: str | None, path: Path, dimensions: tuple[int, ...] = (2,)
) -> Any:
    """Return the array named by key, or the only one with the right number of dimensions."""
    if key is not None:
        if key not in arrays:
            raise InvalidInput(f"{path} has no {key!r}: it holds {_listed(arrays)}")
        if isinstance(arrays[key], NotNumbers):
            raise UnreadableFile(
                f"{path}: {key!r} holds {arrays[key].what}, not numbers: save it as a numeric array"
            )
        return arrays[key]
    fitting = [
        name
        for name, array in arrays.items()
        if sp.issparse(array) or (_is_number(array) and np.squeeze(array).ndim in dimensions)
    ]
    if not fitting:
        raise UnreadableFile(f"{path} holds no numeric matrix: it has {_listed(arrays)}")
    if len(fitting) > 1:
        raise InvalidInput(
            f"{path} holds several matrices, {', '.join(fitting)}",
            argument="key",
            remedy=f"choose one, such as {{argument={fitting[0]!r}}}",
        )
    return arrays[fitting[0]]


def _listed(arrays: dict[str, Any]) -> str:
    """Name what a file holds, with the kind of what is not numbers."""
    names = [
        f"{name} ({array.what})" if isinstance(array, NotNumbers) else name
        for name, array in arrays.items()
    ]
    return ", ".join(names) or "nothing"


def _is_number(array: object) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in NUMBERS


def _numeric(matrix: object, path: Path) -> Any:
    if isinstance(matrix, NotNumbers):
        raise UnreadableFile(f"{path} holds {matrix.what}, not numbers: convert it")
    if sp.issparse(matrix):
        return sp.csr_array(matrix)
    matrix = np.asanyarray(matrix)
    if matrix.dtype.kind not in NUMBERS:
        raise UnreadableFile(f"{path} holds {matrix.dtype} entries, not numbers: convert it")
    if matrix.ndim != 2:
        raise InvalidInput(f"{path} holds an array of shape {matrix.shape}: a matrix is needed")
    return matrix


def _from_npz(path: Path, key: str | None) -> Table:
    arrays = read_npz(path)
    matrix = read_sparse_npz(path, arrays)
    if matrix is None:
        return Table(choose_array(arrays, key, path))
    names = arrays.get("names", np.zeros(0))
    is_text = names.dtype == np.uint8 and names.ndim == 1
    return Table(matrix, *stored_names(path, names, matrix.shape)) if is_text else Table(matrix)


def _from_mtx(path: Path) -> Any:
    with open_safely(path) as file, parsing(path, "Matrix Market file"):
        matrix = parse_matrix_market(file)
    if not isinstance(matrix, np.ndarray):
        check_sparse_shape(path, matrix.shape, matrix.nnz)
    return matrix


def read_parquet(path: Path) -> Any:
    """Return the pyarrow table of a Parquet file."""
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


def _from_parquet(path: Path) -> Table:
    """Return the numeric columns of a table; its first column names the rows if it is text."""
    table = read_parquet(path)
    names = [str(name) for name in table.column_names]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UnreadableFile(f"{path} has several columns of the same name: {', '.join(repeated)}")
    types = optional("pyarrow.types", "reading a Parquet file", "files")
    kinds = [table[name].type for name in names]
    numeric = [
        name
        for name, kind in zip(names, kinds)
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    ]
    if not numeric:
        raise UnreadableFile(f"{path} has no numeric column: it has {', '.join(names)}")
    named = types.is_string(kinds[0]) or types.is_large_string(kinds[0])
    return Table(
        np.column_stack([table[name].to_numpy() for name in numeric]),
        table[names[0]].to_pylist() if named else None,
        numeric,
    )


# Tables of numbers written as text: csv, tsv, or columns between spaces.


def text_tables(
    path: Path, *, missing: bool = False, characters: float = math.inf
) -> Iterator[Table]:
    """Yield the rows of a table in pieces of about `characters` characters, with their names."""
    lines = (
        line
        for line in stream_lines(path, "utf-8-sig")
        if line.strip() and not line.startswith("#")
    )
    start = list(islice(lines, 2))
    layout = _layout_of(path, start)
    row = 1
    for piece in _pieces(chain(start[int(layout.header is not None) :], lines), characters):
        yield _parsed(path, piece, layout, row, missing)
        row += len(piece)


def _pieces(lines: Iterable[str], characters: float) -> Iterator[list[str]]:
    piece: list[str] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= characters:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


@dataclass(frozen=True)
class _Layout:
    """How a table is written: its columns' names if it has a header, and those of its rows."""

    delimiter: str | None
    header: list[str] | None
    names: bool
    width: int


def _layout_of(path: Path, lines: list[str]) -> _Layout:
    """Tell the layout from the first two lines."""
    if not lines:
        raise UnreadableFile(f"{path} has no rows: give a file with data")
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in lines[0]), None)
    with parsing(path, "table"):
        cells = [_cells(line, delimiter) for line in lines]
    header = any(not _is_value(cell) for cell in cells[0][1:] or cells[0])
    if header and len(lines) == 1:
        raise UnreadableFile(f"{path} has a header but no rows: give a file with data")
    first = cells[1 if header else 0]
    names = len(first) > 1 and not _is_value(first[0])
    width = len(first) - int(names)
    # the corner above a column of names may be left out
    return _Layout(delimiter, cells[0][-width:] if header else None, names, width)


def _parsed(path: Path, lines: list[str], layout: _Layout, row: int, missing: bool) -> Table:
    """Parse some lines of a table, the first of which is the given row."""
    delimiter, names = layout.delimiter, layout.names
    with parsing(path, "table of numbers"):
        try:
            matrix = np.loadtxt(
                lines,
                delimiter=delimiter,
                usecols=range(1, layout.width + 1) if names else None,
                quotechar='"',
                ndmin=2,
            )
        except ValueError:
            _check_cells(path, lines, layout, row, missing=missing)
            if not missing:
                raise
            rows = (_cells(line, delimiter)[int(names) :] for line in lines)
            matrix = np.array([[_value(cell) for cell in row] for row in rows])
        if matrix.shape[1] != layout.width:
            raise ValueError(f"row {row} has {matrix.shape[1]} columns, row 1 {layout.width}")
        row_names = [_cells(line, delimiter)[0] for line in lines] if names else None
    return Table(matrix, row_names, layout.header)


def _check_cells(
    path: Path, lines: list[str], layout: _Layout, first: int, *, missing: bool
) -> None:
    """Name the first cell that is empty or no number, rows of data and columns counted from 1."""
    start = int(layout.names)
    for row, line in enumerate(lines, first):
        for column, cell in enumerate(_cells(line, layout.delimiter)[start:], 1 + start):
            if _is_numeral(cell) or (missing and _is_value(cell)):
                continue
            gone = "the value is missing"
            what = gone if _is_value(cell) else f"{cell!r:.80} is not a number"
            remedy = "fill in a number, or leave the row or column out"
            remedy += "; hals and anls work with missing values" if what == gone else ""
            raise UnreadableFile(f"{path}, row {row}, column {column}: {what}; {remedy}")


def _cells(line: str, delimiter: str | None) -> list[str]:
    return line.split() if delimiter is None else next(csv.reader([line], delimiter=delimiter))


def _is_value(cell: str) -> bool:
    """Tell whether a cell is a number or says that there is none."""
    return cell.strip().lower() in MISSING_VALUES or _is_numeral(cell)


def _value(cell: str) -> float:
    return math.nan if cell.strip().lower() in MISSING_VALUES else float(cell)


def _is_numeral(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
