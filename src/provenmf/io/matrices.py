"""Read a matrix from npy, npz, csv, tsv, mtx, mat, parquet or h5ad files."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile, optional
from provenmf.io.arrays import read_npy, read_npz, read_sparse_npz
from provenmf.io.child import read_in_child
from provenmf.io.files import (
    check_unfolded,
    existing,
    parsing,
    stream_lines,
    without_compression,
)
from provenmf.linalg.storage import NUMBERS

# What people write where there is no value.
MISSING_VALUES = frozenset(["", "na", "n/a", "nan", "null", "none", "?"])
SHORTEST_SCALE = 4  # numbers of a first row or column that may be a scale; fewer are data
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".all", ".exome", ".region")  # the last three: SigProfiler
MATRIX_ENDINGS = (".h5ad", ".mat", ".mtx", ".npy", ".npz", ".parquet", *TEXT_ENDINGS)


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
        """Known names, by the field of a Factorization that stores them."""
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


def read_table(
    path: str | Path,
    key: str | None = None,
    *,
    missing: bool = False,
    is_name: Callable[[str], bool] = lambda heading: False,
) -> Table:
    """Read a matrix with the names of its rows and columns, where the file has them.

    csv, tsv and txt have names in a header line and in a first column of text, parquet those of its
    columns, h5ad those of cells and genes. With `missing`, cells of csv, tsv and txt that are
    empty, "NA" or the like become NaN. The first columns of a text that have headings for which
    `is_name` is true name its rows together, joined by colons.
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
    if ending in TEXT_ENDINGS:
        table = _from_text(path, missing, is_name)
    elif ending == ".npy":
        table = Table(read_npy(path))
    elif ending == ".npz":
        matrix = read_sparse_npz(path)
        table = Table(choose_array(read_npz(path), key, path) if matrix is None else matrix)
    elif ending == ".mtx":
        table = Table(read_in_child("child:read_mtx", path)["matrix"])
    elif ending == ".mat":
        table = Table(choose_array(read_in_child("child:read_mat", path), key, path))
    elif ending == ".parquet":
        table = _from_parquet(path)
    else:
        table = Table(**read_in_child("child:read_h5ad", path, key))
    return replace(table, matrix=_numeric(table.matrix, path))


def read_arrays(path: Path, what: str, *others: str) -> dict[str, Any]:
    """Return all arrays of an `.npz`, `.npy` or `.mat` file by name, the only one under "".

    What a `.mat` file holds besides numbers is a text that says what it is, such as "a struct".
    `others` are endings of files that the caller reads itself.
    """
    ending = path.suffix.lower()
    if ending == ".npy":
        return {"": read_npy(path)}
    if ending not in (".npz", ".mat"):
        known = ", ".join([".npz", ".npy", ".mat", *others])
        raise UnreadableFile(f"{path} holds no {what}: use one of {known}")
    return read_npz(path) if ending == ".npz" else read_in_child("child:read_mat", path)


def choose_array(
    arrays: dict[str, Any], key: str | None, path: Path, dimensions: tuple[int, ...] = (2,)
) -> Any:
    """Return the array named by key, or the only one with the right number of dimensions."""
    if key is not None:
        if key not in arrays:
            raise InvalidInput(f"{path} has no {key!r}: it holds {_listed(arrays)}")
        if isinstance(arrays[key], str):
            raise UnreadableFile(
                f"{path}: {key!r} holds {arrays[key]}, not numbers: save it as a numeric array"
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
    """List the contents of a file, with the type of what is not numeric."""
    names = [f"{n} ({a})" if isinstance(a, str) else n for n, a in arrays.items()]
    return ", ".join(names) or "nothing"


def _is_number(array: object) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in NUMBERS


def _numeric(matrix: object, path: Path) -> Any:
    if isinstance(matrix, str):
        raise UnreadableFile(f"{path} holds {matrix}, not numbers: convert it")
    if sp.issparse(matrix):
        return sp.csr_array(matrix)
    matrix = np.asanyarray(matrix)
    if matrix.dtype.kind not in NUMBERS:
        raise UnreadableFile(f"{path} holds {matrix.dtype} entries, not numbers: convert it")
    if matrix.ndim != 2:
        raise InvalidInput(f"{path} holds an array of shape {matrix.shape}: a matrix is needed")
    return matrix


def read_parquet(path: Path) -> Any:
    """Return the pyarrow table of a Parquet file."""
    parquet = optional("pyarrow.parquet", "reading a Parquet file", "files")
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
    if len(set(table.column_names)) < table.num_columns:
        raise UnreadableFile(f"{path} has several columns of the same name: rename them")
    frame = table.to_pandas(ignore_metadata=True)
    numeric = frame.select_dtypes(["number", "bool"])
    if not numeric.shape[1]:
        raise UnreadableFile(f"{path} has no numeric column: it has {', '.join(frame.columns)}")
    first = frame.iloc[:, 0]
    named = first.dtype == object and first.map(lambda cell: isinstance(cell, str)).all()
    return Table(numeric.to_numpy(), list(first) if named else None, list(numeric.columns))


# Tables of numbers written as text: csv, tsv, or columns between spaces.


def _from_text(path: Path, missing: bool, is_name: Callable[[str], bool]) -> Table:
    lines = [
        line
        for line in stream_lines(path, "utf-8-sig")
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise UnreadableFile(f"{path} has no rows: give a file with data")
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in lines[0]), None)
    with parsing(path, "table"):
        cells = [_cells(line, delimiter) for line in lines[:2]]
    first = cells[0]
    corner = len(first) > 1 and not first[0].strip()  # pandas leaves it empty above row names
    header = any(_value(cell) is None for cell in first[1:] or first)
    if header and len(lines) == 1:
        raise UnreadableFile(f"{path} has a header but no rows: give a file with data")
    body, below = lines[int(header) :], cells[int(header)]
    named = int(len(below) > 1 and (_value(below[0]) is None or corner))
    if header:
        named = max(named, len(list(takewhile(is_name, first))))
    with parsing(path, "table of numbers"):
        matrix = _numbers_of(path, body, delimiter, named, len(below), missing)
        if not header and _is_scale(matrix, corner):
            header, body, matrix = True, body[1:], matrix[1:]
        elif corner and not header:  # a value is missing there
            named, matrix = 0, _numbers_of(path, body, delimiter, 0, len(below), missing)
        if header and not named and matrix.shape[1] > 1 and _counts_evenly(matrix[:, 0]):
            named, matrix = 1, matrix[:, 1:]
        names = [":".join(_cells(line, delimiter)[:named]) for line in body] if named else None
    # the corner above a column of names may be left out
    return Table(matrix, names, first[-matrix.shape[1] :] if header else None)


def _numbers_of(
    path: Path, lines: list[str], delimiter: str | None, start: int, end: int, missing: bool
) -> NDArray[np.float64]:
    """Return the numbers in columns start to end; with `missing`, empty cells are NaN."""
    try:
        columns = range(start, end)
        return np.loadtxt(lines, delimiter=delimiter, usecols=columns, quotechar='"', ndmin=2)
    except ValueError:
        rows = [_cells(line, delimiter)[start:] for line in lines]
        _check_cells(path, rows, 1 + start, missing=missing)
        if not missing:
            raise
        return np.array([[_value(cell) for cell in row] for row in rows], dtype=np.float64)


def _is_scale(matrix: NDArray[np.float64], corner: bool) -> bool:
    """Tell whether the first row holds wavelengths, times or numbers of the columns, not data.

    It is 0, 1, 2, …, rises or falls in even steps that the next row does not have, or it rises or
    falls outside the range of all other rows, which do not. An empty corner before it lets few
    columns do.
    """
    first, rest = matrix[0], matrix[1:]
    if not len(rest) or (len(first) < SHORTEST_SCALE and not corner):
        return False
    steps = np.diff(first)
    if not ((steps > 0).all() or (steps < 0).all()):
        return False
    above = np.nanmin(rest, initial=np.inf) > first.max()
    apart = above or np.nanmax(rest, initial=-np.inf) < first.min()
    alike = (np.diff(rest, axis=1) * steps > 0).all()
    even = _counts_evenly(first) and not np.allclose(np.diff(rest[0]), steps)
    return bool((apart and not alike) or even or np.array_equal(first, np.arange(len(first))))


def _counts_evenly(values: NDArray[np.float64]) -> bool:
    """Tell whether numbers rise or fall in even steps, but for rounding."""
    steps = np.diff(values)
    if len(values) < SHORTEST_SCALE or steps[0] == 0:
        return False
    return bool(np.allclose(steps, steps.mean(), rtol=1e-6, atol=0))


def _check_cells(path: Path, rows: list[list[str]], start: int, *, missing: bool) -> None:
    """Refuse the first cell that is empty or not a number; rows and columns count from 1."""
    for row, cells in enumerate(rows, 1):
        for column, cell in enumerate(cells, start):
            value = _value(cell)
            if value is not None and (missing or not math.isnan(value)):
                continue
            gone = value is not None
            what = "the value is missing" if gone else f"{cell!r:.80} is not a number"
            remedy = "fill in a number, or leave the row or column out"
            remedy += "; hals and anls work with missing values" if gone else ""
            raise UnreadableFile(f"{path}, row {row}, column {column}: {what}; {remedy}")


def _cells(line: str, delimiter: str | None) -> list[str]:
    return line.split() if delimiter is None else next(csv.reader([line], delimiter=delimiter))


def _value(cell: str) -> float | None:
    """Return the number in a cell, NaN if it is missing, None if there is something else."""
    try:
        return math.nan if cell.strip().lower() in MISSING_VALUES else float(cell)
    except ValueError:
        return None
