"""Convert input matrices to `Blocks`, validate them in one pass, and fingerprint them.

Methods and certificates form squares and fourth powers of entries. In single precision those leave
the range of numbers from 1e10 on, so such data are computed in double precision. In double
precision nothing is lost up to 1e60; beyond that a matrix is refused, with the factor that makes it
usable, since parameters in the units of the data (a start, a noise level) must be scaled with it.

The fingerprint of a matrix is its shape and a cryptographic hash of its entries, however it is
stored: BLAKE2b of the digests of all rows. That of a row hashes the columns and the bits of its
nonzero entries, or, unless they are few, all bits.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data.base import Block, Blocks, MappedBlocks, Progress
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

    Text that names a frame's columns stays with the frame, where scikit-learn looks for it; numbers
    name rows and columns unless they only count them.
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
    if library == "pandas" and hasattr(X, "index"):
        columns = getattr(X, "columns", None)
        numbered = columns is not None and columns.dtype.kind in NUMBERS
        return Labeled(X, _names(X.index), _names(columns) if numbered else None)
    return Labeled(X)


def _names(index: Any) -> list[Any] | None:
    """Return the entries of a pandas index; nothing where they are 0, 1, 2, …"""
    counts = index.dtype.kind in NUMBERS and np.array_equal(index, np.arange(len(index)))
    return None if counts else list(index)


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
    seen = list(blocks.each(look))
    if blocks.may_differ:
        hashes = (found[1] for _, _, found in seen)
        blocks.first_seen = fingerprint(blocks.shape, blocks.dtype, *hashes)
        seen = [(start, stop, found[0]) for start, stop, found in seen]
    found = np.array([counts for _, _, counts in seen])
    invalid, negative, missing = found[:, [0, 1, 3]].sum(axis=0).astype(int).tolist()
    number = int(np.argmax(found[:, 0] > 0))
    row = int(seen[number][0] + found[number, 4])
    block = f" (block {number})" if len(seen) > 1 else ""
    where = f", the first of them in row {row}{block}" if invalid else ""
    return Entries(invalid, missing, negative, float(found[:, 2].max()), where)


def _examined_and_hashed(block: Block) -> tuple[Any, bytes]:
    return _examined(block), row_hashes(block)


def _examined(block: Block) -> tuple[int, int, float, int, int]:
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
    """Return whether all entries are nonnegative whole numbers, some of them above one."""
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
    found = blocks.map_reduce(row_hashes)
    if isinstance(blocks, ObservedBlocks):  # a missing entry is not a zero
        return fingerprint(blocks.shape, blocks.dtype, found, row_hashes(blocks.places))
    return fingerprint(blocks.shape, blocks.dtype, found)


# Fingerprints

DIGEST = 16  # bytes
# Rows with more nonzero entries than one in this many are hashed whole: finding the nonzero ones
# would take longer than to hash all.
SPARSE = 8
STEP_ENTRIES = 1 << 18  # that are converted at a time


def row_hashes(block: Matrix) -> bytes:
    """Return the concatenated digests of the rows; those of blocks can be concatenated, too."""
    rows, columns = block.shape
    stored_in_row = block.nnz / max(rows, 1) if is_sparse(block) else columns
    step = max(1, int(STEP_ENTRIES / max(stored_in_row, 1)))
    return b"".join(_digests(block[start : start + step]) for start in range(0, rows, step))


def _digests(block: Matrix) -> bytes:
    """Return the digests of a few rows, which depend on their values alone.

    Stored zeros, entries given twice and the sign of a zero do not matter.
    """
    if is_sparse(block):
        if not (block.has_canonical_format and block.data.all()):
            block = block.copy()
            block.sum_duplicates()
            block.eliminate_zeros()
        counts = np.diff(block.indptr)
    else:
        counts = np.count_nonzero(block, axis=1)
    whole = SPARSE * counts > block.shape[1]
    dense = as_dense(block if whole.all() else block[whole])
    full = np.add(dense, 0.0, dtype=np.float64, order="C")  # -0.0 becomes 0.0
    few = sp.csr_array(block[~whole]).astype(np.float64, copy=False)
    columns, values = few.indices.astype(np.int64), few.data
    found = np.empty(len(counts), f"S{DIGEST}")
    found[whole] = [_digest(row.data) for row in full]
    found[~whole] = [
        _digest(columns[a:b].tobytes() + values[a:b].tobytes())
        for a, b in pairwise(few.indptr.tolist())
    ]
    return found.tobytes()


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=DIGEST).digest()


def fingerprint(shape: tuple[int, int], dtype: Any, *hashes: bytes) -> str:
    """Return shape, precision and digest in one line, e.g. "40x3 float64 9f2c…"."""
    name = f"{shape[0]}x{shape[1]}"
    found = _digest(name.encode() + b"".join(hashes)).hex()
    return f"{name} {np.dtype(dtype).name} {found}"


def same_values(one: str, other: str) -> bool:
    """Return whether two fingerprints are of equal matrices, in whatever precision."""
    a, b = one.split(), other.split()
    return len(a) == len(b) == 3 and (a[0], a[2]) == (b[0], b[2])
