"""Convert input matrices to `Blocks`, validate them in one pass, and fingerprint them.

Methods and certificates form squares and fourth powers of entries. In single precision those leave
the range of numbers from 1e10 on, so such data are computed in double precision. In double
precision nothing is lost up to 1e60; beyond that a matrix is refused, with the factor that makes it
usable, since parameters in the units of the data (a start, a noise level) must be scaled with it.

The fingerprint of a matrix is its shape and a cryptographic hash of its entries, however it is
stored. A row has one form that depends on its values alone: the number of nonzero entries, their
columns and their bits, or, unless they are few, -1 and all bits. Groups of consecutive rows are
hashed by SHA-256, the fastest cryptographic hash of Python since processors have instructions for
it. The digests of all groups are hashed again with the shape. Blocks may end anywhere: rows of a
group that other blocks complete are stored until the parts meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data.base import Block, Blocks, MappedBlocks, Progress, tree_sum
from provenmf.data.disk import ArrayBlocks, from_hdf5, from_memmap, open_npy
from provenmf.data.memory import MemoryBlocks, ObservedBlocks
from provenmf.errors import InvalidInput
from provenmf.linalg.norms import entry_range
from provenmf.linalg.storage import (
    NUMBERS,
    Matrix,
    as_dense,
    check_scale,
    float_type,
    is_sparse,
    largest_of,
    numbers,
    plain,
    stored_values,
)

# Beyond this, and below one over it, squares of squares leave single precision.
LARGEST_IN_SINGLE = 1e9


class Labeled(NamedTuple):
    """A matrix, and the names of its rows and columns where its container has them."""

    matrix: Any
    row_names: Any = None
    column_names: Any = None


def labeled(X: Any) -> Labeled:
    """Return the matrix in a container of another library: AnnData, xarray, polars or pandas.

    The names of a frame's columns stay with the frame, where scikit-learn looks for them.
    """
    library = _library(X)
    if library == "anndata" and hasattr(X, "obs_names"):  # AnnData, or its `raw`
        if X.X is None:
            raise InvalidInput("X is an AnnData object without X: give a layer, adata.layers[…]")
        return Labeled(labeled(X.X).matrix, list(X.obs_names), list(X.var_names))
    if library == "anndata" and hasattr(X, "to_memory"):  # sparse rows in a file
        return Labeled(X.to_memory())
    if library == "xarray":
        if not hasattr(X, "dims") or not hasattr(X, "dtype"):
            raise InvalidInput(f"X is an xarray {type(X).__name__}: give one of its arrays, X['a']")
        names = [list(X.indexes[name]) if name in X.indexes else None for name in X.dims]
        return Labeled(X.data, *names) if len(names) == 2 else Labeled(X.data)
    if library == "polars":
        if not hasattr(X, "to_numpy"):
            raise InvalidInput(f"X is a polars {type(X).__name__}: give X.collect()")
        return Labeled(X.to_numpy())
    if library == "pandas" and hasattr(X, "index") and X.index.dtype.kind not in NUMBERS:
        return Labeled(X, list(X.index))
    return Labeled(X)


def is_outside_memory(X: object) -> bool:
    """Return whether X is read block by block: a path, memory map, HDF5, zarr or Dask array."""
    return isinstance(X, (str, Path, np.memmap)) or _library(X) in ("h5py", "zarr", "dask")


def _library(X: object) -> str:
    return type(X).__module__.split(".")[0]


def as_blocks(X: Any, *, block_rows: int | None = None, progress: Progress | None = None) -> Blocks:
    """Return a matrix as blocks of rows; avoid copies.

    Parameters
    ----------
    X : numpy array, scipy sparse matrix or array, frame of pandas or polars, AnnData object, array
        of xarray, memory map, path of an `.npy` file, HDF5, zarr or Dask array.
    block_rows : rows in a block; chosen from the size of a row if None. Results do not depend
        on it beyond rounding.
    progress : called as progress(rows done, all rows) after each block.
    """
    if isinstance(X, Blocks):
        return X
    blocks = _opened(labeled(X).matrix, block_rows=block_rows, progress=progress)
    if 0 in blocks.shape:
        name = X if isinstance(X, (str, Path)) else "X"
        raise InvalidInput(
            f"{name} has shape {blocks.shape}; at least one row and column are needed"
        )
    return blocks


def _opened(X: Any, **options: Any) -> Blocks:
    """Return the blocks of a matrix in memory, on disk or on Dask."""
    if isinstance(X, (str, Path)):
        return open_npy(X, **options)
    if isinstance(X, np.memmap):
        return from_memmap(X, **options)
    if _library(X) == "dask":
        from provenmf.data.dask import DaskBlocks

        return DaskBlocks(X, **options)
    if _library(X) == "h5py":
        return from_hdf5(X, **options)
    if is_outside_memory(X):
        rows = ArrayBlocks(X, **options)
        rows.may_differ = True  # an array of zarr is many files
        return rows
    matrix = plain(X)
    if not sp.issparse(matrix):
        matrix = numbers(matrix, "X")
    if matrix.ndim != 2:
        raise InvalidInput(
            f"X has {matrix.ndim} axes; a matrix is needed: reshape it to (n_rows, n_columns)"
        )
    if not sp.issparse(matrix):
        matrix = matrix.astype(float_type(matrix.dtype), copy=False)
    return MemoryBlocks(matrix, **options)


class Entries(NamedTuple):
    """Counts of entries that methods may refuse, and the largest absolute value.

    invalid, missing, negative : entries that are not finite, NaN among them, below zero.
    where : row and block of the first entry that is not finite, in words.
    """

    invalid: int
    missing: int
    negative: int
    largest: float
    where: str


def examine_entries(blocks: Blocks) -> Entries:
    """Validate all entries in one pass; fingerprint blocks that may change later."""
    look = _examined_and_hashed if blocks.may_differ else _examined
    seen = list(blocks.each(look, range(blocks.n_rows)))
    if blocks.may_differ:
        hashes = tree_sum(found[1] for _, _, found in seen)
        blocks.first_seen = fingerprint(blocks.shape, blocks.dtype, hashes)
        seen = [(start, stop, found[0]) for start, stop, found in seen]
    found = np.array([counts for _, _, counts in seen])
    invalid, negative, missing = found[:, [0, 1, 3]].sum(axis=0).astype(int).tolist()
    number = int(np.argmax(found[:, 0] > 0))
    row = int(seen[number][0] + found[number, 4])
    block = f" (block {number})" if len(seen) > 1 else ""
    where = f", the first of them in row {row}{block}" if invalid else ""
    return Entries(invalid, missing, negative, float(found[:, 2].max()), where)


def _examined_and_hashed(block: Block, rows: range) -> tuple[Any, RowHashes]:
    return _examined(block, rows), row_hashes(block, rows.start)


def _examined(block: Block, rows: range) -> tuple[int, int, float, int, int]:
    """Count entries not finite and below zero, the largest absolute value, NaN, the first bad row.

    Data that are finite and nonnegative, as most are, show it by their least and largest entry.
    """
    values = stored_values(block)
    least, largest = entry_range(block)
    if least >= 0 and np.isfinite(largest):
        return 0, 0, largest, 0, 0
    bad = ~np.isfinite(values)
    invalid, missing, row = int(np.count_nonzero(bad)), 0, 0
    if invalid:
        missing = int(np.count_nonzero(np.isnan(values)))
        place = int(np.argmax(bad))
        row = (
            int(np.searchsorted(block.indptr, place, "right")) - 1
            if is_sparse(block)
            else place // bad.shape[1]
        )
    return invalid, int(np.count_nonzero(values < 0)), max(largest, -least), missing, row


def are_counts(blocks: Blocks) -> bool:
    """Tell whether all entries are whole numbers from zero on, some of them above one."""
    broken, several = blocks.map_reduce(_tally)
    return bool(broken == 0 and several > 0)


def _tally(block: Block) -> NDArray[np.int64]:
    """Count entries that cannot be counts, and those above one."""
    values = stored_values(block)
    broken = (np.floor(values) != values) | (values < 0) | (values > 2**53)  # NaN and infinity too
    return np.array([np.sum(broken), np.sum(values > 1)])


def at_safe_scale(blocks: Blocks, largest: float | None = None) -> Blocks:
    """Convert to double precision if single would overflow, or raise an error.

    `largest` is the largest absolute value, if a pass has found it already.
    """
    if largest is None:
        largest = max((size for _, _, size in blocks.each(largest_of)), default=0.0)
    check_scale(largest)
    in_reach = largest == 0 or 1 / LARGEST_IN_SINGLE <= largest <= LARGEST_IN_SINGLE
    return blocks if in_reach or blocks.dtype != np.float32 else blocks.in_double_precision()


def divided(blocks: Blocks, unit: float) -> Blocks:
    """Divide the data by a power of two, in double precision: the same digits in a safer range."""
    return MappedBlocks(blocks, partial(_divided, unit), dtype=np.dtype(np.float64))


def _divided(unit: float, block: Block) -> Block:
    return block.astype(np.float64) * (1.0 / unit)


def check_unchanged(first: str, last: str, where: str = "X") -> None:
    """Raise an error if the data changed during the fit."""
    if not same_values(first, last):
        raise InvalidInput(
            f"{where} changed while it was read: it was {first} at first and is {last} now; fit "
            "again while nothing writes to it, with chunks that are the same each time (persist)"
        )


def fingerprint_of(blocks: Blocks) -> str:
    """Return shape, precision and a hash of the entries; equal matrices have equal ones."""
    found = blocks.map_reduce(_hashed, range(blocks.n_rows))
    if isinstance(blocks, ObservedBlocks):  # a missing entry is not a zero
        return fingerprint(blocks.shape, blocks.dtype, found, row_hashes(blocks.places, 0))
    return fingerprint(blocks.shape, blocks.dtype, found)


def _hashed(block: Block, rows: range) -> RowHashes:
    return row_hashes(block, rows.start)


# Fingerprints

DIGEST = 16  # bytes
WHOLE = -1  # stands before a row all of whose entries follow
# Rows with more nonzero entries than one in this many are written whole: finding the nonzero ones
# would take longer than to hash all.
SPARSE = 8


class Written(NamedTuple):
    """Consecutive rows of a group in the common form.

    first, size : place of the first row in the group, and the number of rows.
    content : counts of nonzero entries, columns and values of sparse rows, and whole rows.
    """

    first: int
    size: int
    content: tuple[bytes | memoryview, ...]


@dataclass(frozen=True)
class RowHashes:
    """Hashes of some rows; those of neighboring blocks are added.

    size : rows of a group.
    groups : digest of each complete group, by its number.
    open : for a group that is not complete, its rows so far.
    """

    size: int
    groups: dict[int, bytes]
    open: dict[int, tuple[Written, ...]]

    def __add__(self, other: RowHashes) -> RowHashes:
        groups = self.groups | other.groups
        unfinished = {
            number: self.open.get(number, ()) + other.open.get(number, ())
            for number in self.open.keys() | other.open.keys()
        }
        for number, parts in list(unfinished.items()):
            if sum(part.size for part in parts) == self.size:
                groups[number] = _digest(number, parts)
                del unfinished[number]
        return RowHashes(self.size, groups, unfinished)

    def digests(self) -> bytes:
        """Return the digests of all groups in their order; the last one may be short."""
        whole = self.groups | {number: _digest(number, p) for number, p in self.open.items()}
        return b"".join(whole[number] for number in sorted(whole))


def _digest(number: int, parts: tuple[Written, ...]) -> bytes:
    """Hash the rows of one group: its place, then each kind of content of all its rows."""
    made, ordered = sha256(number.to_bytes(8, "little")), sorted(parts, key=itemgetter(0))
    for kind in zip(*(part.content for part in ordered)):
        for content in kind:
            made.update(content)
    return made.digest()[:DIGEST]


def row_hashes(block: Matrix, first_row: int) -> RowHashes:
    """Return the hashes of a block of rows that begins at `first_row`."""
    rows, columns = block.shape
    size = max(64, 8192 // max(columns, 1))
    found = RowHashes(size, {}, {})
    stored_in_row = block.nnz / max(rows, 1) if is_sparse(block) else columns
    step = max(size, int((1 << 18) / max(stored_in_row, 1)))
    for start in range(0, rows, step):
        counts, few, many = _in_one_form(block[start : start + step])
        whole = np.concatenate([[0], np.cumsum(counts == WHOLE)])
        ends, indices = few.indptr, few.indices.astype(np.int64)
        edges = [*range(size - (first_row + start) % size, len(counts), size)]
        groups: dict[int, bytes] = {}
        unfinished: dict[int, tuple[Written, ...]] = {}
        for a, b in zip([0, *edges], [*edges, len(counts)], strict=True):
            number, row = divmod(first_row + start + a, size)
            stored = slice(ends[a - whole[a]], ends[b - whole[b]])
            content = counts[a:b], indices[stored], few.data[stored], many[whole[a] : whole[b]]
            if b - a == size:
                views = tuple(array.data.cast("B") if array.size else b"" for array in content)
                groups[number] = _digest(number, (Written(row, size, views),))
            elif b > a:
                copies = tuple(array.tobytes() for array in content)
                unfinished[number] = (Written(row, b - a, copies),)
        found = found + RowHashes(size, groups, unfinished)
    return found


def _in_one_form(block: Matrix) -> tuple[NDArray[np.int64], sp.csr_array, NDArray[np.float64]]:
    """Return the nonzero entries of each row, or WHOLE; the sparse rows; the rows that are whole.

    The form depends on the values alone: stored zeros, entries given twice and the sign of a zero
    do not matter.
    """
    if is_sparse(block):
        if not (block.has_canonical_format and block.data.all()):
            block = block.copy()
            block.sum_duplicates()
            block.eliminate_zeros()
        counts = np.diff(block.indptr).astype(np.int64)
    else:
        counts = np.count_nonzero(block, axis=1).astype(np.int64)
    is_whole = SPARSE * counts > block.shape[1]
    few = block[~is_whole] if is_whole.any() else block  # indexing copies
    many = block if is_whole.all() else block[is_whole]
    plus_zero = np.add(as_dense(many), 0.0, dtype=np.float64, order="C")  # minus zero becomes zero
    sparse_rows = sp.csr_array(few).astype(np.float64, copy=False)
    return np.where(is_whole, WHOLE, counts), sparse_rows, plus_zero


def fingerprint(shape: tuple[int, int], dtype: Any, *hashes: RowHashes) -> str:
    """Return shape, precision and digest in one line, e.g. "40x3 float64 9f2c…"."""
    name = f"{shape[0]}x{shape[1]}"
    made = sha256(name.encode())
    for rows in hashes:
        made.update(rows.digests())
    return f"{name} {np.dtype(dtype).name} {made.hexdigest()[: 2 * DIGEST]}"


def same_values(one: str, other: str) -> bool:
    """Return whether two fingerprints are of equal matrices, in whatever precision."""
    a, b = one.split(), other.split()
    return len(a) == len(b) == 3 and (a[0], a[2]) == (b[0], b[2])
