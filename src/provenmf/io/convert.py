"""Rewrite a matrix file so that it can be read block by block, in one pass and bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.arrays import ArrayFile, npy_header
from provenmf.io.child import read_in_child
from provenmf.io.files import (
    check_format,
    check_sparse_shape,
    existing,
    open_safely,
    parsing,
    without_compression,
)
from provenmf.io.matrices import read_table, text_tables
from provenmf.io.matrix_market import Entries, read_header, stream_entries
from provenmf.io.output import check_target, write_aside
from provenmf.io.sparse_rows import open_sparse_rows, write_header, write_sparse_rows
from provenmf.linalg.storage import NUMBERS, float_type, wide_type

TARGETS = (".npz", ".npy")
CHUNK_BYTES = 16 * 2**20
CHUNK_CHARACTERS = 4 * 2**20
ENTRY = np.dtype([("row", "i8"), ("column", "i8"), ("value", "f8")])
FILE_BYTES = 64 * 2**20
MOST_FILES = 200  # systems allow some hundred open files


@dataclass(eq=False)
class RowStream:
    """Blocks of rows as they are read; names of rows are added meanwhile."""

    n_columns: int
    blocks: Iterator[Any]
    row_names: list[str] = field(default_factory=list)
    column_names: Sequence[str] | None = None


def convert(source: str | Path, target: str | Path, *, key: str | None = None) -> tuple[int, int]:
    """Write a matrix as sparse rows (`.npz`) or dense rows (`.npy`), which are read block by block.

    Parameters
    ----------
    source : path of a matrix
        As `read_matrix` takes it. mtx, csv, tsv, txt, npy, h5ad and sparse rows are read a piece at
        a time; other files as a whole.
    target : path that ends in `.npz` or `.npy`
        Written completely or not at all.
    key : str, optional
        Name of the matrix where a file can hold several.

    Returns
    -------
    tuple of int
        The number of rows, and of entries that are stored.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from provenmf.io.convert import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder, "table.csv")
    ...     _ = table.write_text("0,1\\\\n2,0\\\\n")
    ...     convert(table, Path(folder, "table.npz"))
    (2, 2)
    """
    source, target = existing(source), Path(target)
    check_convertible(source, target)
    if source.suffix.lower() == ".h5ad":
        check_format(source)
        done = read_in_child("hdf5:convert_h5ad", source, key, str(target.resolve()))
        n_rows, stored = done["sizes"]
        return int(n_rows), int(stored)
    with _opened(source, key) as stream:
        return write_rows(stream, target)


def check_convertible(source: Path, target: Path) -> None:
    """Refuse a target that cannot be written, before any time is spent."""
    if target.suffix.lower() not in TARGETS:
        raise InvalidInput(
            f"cannot convert to {target}: end it in .npz for sparse rows or .npy for dense ones"
        )
    check_target(target, source)


def write_rows(stream: RowStream, target: Path) -> tuple[int, int]:
    """Write a stream of rows to a file of either kind; return the number of rows and entries."""
    if target.suffix.lower() == ".npy":
        return _write_dense(stream, target)
    names = {"rows": stream.row_names, "columns": stream.column_names}
    return write_sparse_rows(target, map(_sorted_rows, stream.blocks), stream.n_columns, names)


def _sorted_rows(block: Any) -> sp.csr_array:
    """Return sparse rows whose columns increase, each place once."""
    rows = sp.csr_array(block.astype(wide_type(block.dtype), copy=False))
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _write_dense(stream: RowStream, target: Path) -> tuple[int, int]:
    """Write an array whose header is written again when the number of rows is known."""
    n_rows = 0

    def write(file: IO[bytes]) -> None:
        nonlocal n_rows
        dtype = None
        for block in stream.blocks:
            rows = block.toarray() if sp.issparse(block) else np.asarray(block)
            if dtype is None:
                dtype = float_type(rows.dtype)
                write_header(file, dtype, (0, stream.n_columns))
            file.write(np.ascontiguousarray(rows, dtype=dtype).data)
            n_rows += len(rows)
        file.seek(0)  # NumPy leaves room for longer numbers: the header keeps its length
        write_header(file, dtype or np.dtype(float), (n_rows, stream.n_columns))

    write_aside(target, write)
    return n_rows, n_rows * stream.n_columns


@contextmanager
def _opened(path: Path, key: str | None) -> Iterator[RowStream]:
    """Open a file as a stream of rows: a piece at a time where its format allows."""
    ending = "" if key is not None else without_compression(path)
    if ending == ".mtx":
        with open_safely(path) as file, parsing(path, "Matrix Market file"):
            declared = read_header(file)
            if declared.sparse:
                check_sparse_shape(path, declared.shape, declared.stored)
                entries = stream_entries(file, declared)
                rows = rows_in_order(entries, declared.shape, declared.stored)
                yield RowStream(declared.shape[1], rows)
                return
    if ending in (".csv", ".tsv", ".txt"):
        yield _from_text(path)
    elif ending == ".npy":
        yield _from_npy(path)
    elif ending == ".npz" and (stored := open_sparse_rows(path)) is not None:
        row_names, column_names = stored.names()
        bounds = _bounds(stored.shape[0], 16 * stored.stored)
        blocks = (stored.read(*pair) for pair in pairwise(bounds))
        yield RowStream(stored.shape[1], blocks, row_names or [], column_names)
    else:
        table = read_table(path, key)
        names = list(table.row_names or [])
        yield RowStream(table.matrix.shape[1], iter([table.matrix]), names, table.column_names)


def _from_text(path: Path) -> RowStream:
    tables = text_tables(path, characters=CHUNK_CHARACTERS)
    first = next(tables)
    stream = RowStream(first.matrix.shape[1], iter(()), column_names=first.column_names)

    def blocks() -> Iterator[Any]:
        for table in chain([first], tables):
            stream.row_names.extend(table.row_names or [])
            yield table.matrix

    stream.blocks = blocks()
    return stream


def _from_npy(path: Path) -> RowStream:
    check_format(path)
    with parsing(path, "NumPy array"), open(path, "rb") as file:
        shape, dtype = npy_header(path, file, path.stat().st_size)
        if len(shape) != 2 or dtype.kind not in NUMBERS:
            raise UnreadableFile(f"{path} holds {dtype} of shape {shape}: a matrix is needed")
        if 0 in shape:
            return RowStream(shape[1], iter([np.empty(shape, dtype)]))
        array = ArrayFile(path, np.load(path, mmap_mode="r", allow_pickle=False))
    bounds = _bounds(shape[0], shape[0] * shape[1] * dtype.itemsize)
    return RowStream(shape[1], (array[a:b] for a, b in pairwise(bounds)))


def _bounds(n_rows: int, size: int) -> list[int]:
    """Return bounds of blocks of rows, each of some megabytes if all take `size` bytes."""
    step = max(1, n_rows * CHUNK_BYTES // max(size, 1))
    return [*range(0, n_rows, step), n_rows]


def rows_in_order(
    entries: Iterable[Entries], shape: tuple[int, int], stored: int, folder: str | None = None
) -> Iterator[sp.csr_array]:
    """Yield consecutive rows of a matrix from its entries in any order, in bounded memory.

    Entries are shared out among temporary files by ranges of rows; each file then fits into memory
    and is sorted there. Entries that repeat a place are added up.

    Parameters
    ----------
    entries : rows, columns and values, a piece at a time.
    shape : of the matrix.
    stored : how many entries are expected, from which the number of files follows.
    folder : for the temporary files; that of the system by default.
    """
    number = min(max(1, -(-stored * ENTRY.itemsize // FILE_BYTES)), MOST_FILES, max(shape[0], 1))
    height = -(-shape[0] // number)
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(number)]
        for rows, columns, values in entries:
            packed = np.empty(len(rows), dtype=ENTRY)
            packed["row"], packed["column"], packed["value"] = rows, columns, values
            _share_out(packed, rows // max(height, 1), files)
        for place, file in enumerate(files):
            first = place * height
            size = (max(min(height, shape[0] - first), 0), shape[1])
            file.seek(0)
            packed = np.frombuffer(file.read(), dtype=ENTRY)
            places = packed["row"] - first, packed["column"]
            yield sp.csr_array(sp.coo_array((packed["value"], places), shape=size))


def _share_out(
    packed: NDArray[np.void], places: NDArray[np.int64], files: Sequence[IO[bytes]]
) -> None:
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(len(files) + 1))
    for file, (start, stop) in zip(files, pairwise(bounds)):
        file.write(packed[order[start:stop]].tobytes())
