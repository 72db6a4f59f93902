"""A matrix as blocks of rows, wherever it is stored, and values by row stored beside the blocks.

`as_blocks` turns anything that holds a matrix into `Blocks`: arrays in memory (`memory`), files
read block by block (`disk`), and Dask arrays, whose chunks stay on the workers of a cluster
(`dask`). Solvers ask for passes and never for the place of the rows:

    blocks.map_reduce(function, *by_row)     the sum over the blocks of function(block, *parts)
    blocks.keep(function, *by_row)           `Rows`: function(block, *parts), stored by the block
    blocks.sum_and_keep(function, *by_row)   both in one pass; the function returns a pair
    blocks.map_rows(function, *by_row)       one result for each row as an array in this process
    blocks.arg_reduce(function, *by_row)     the row with the largest score
    blocks.each(function, *by_row)           (start, stop, result) of each block, in order
    blocks.place(array)                      `Rows`: an array with an entry for each row

`by_row` are `Rows`, arrays with an entry for each row, or the range of the row numbers; the
function gets the part of each that belongs to its block. Whatever has an entry for each row and is
needed again, such as weights (n, k), is kept as `Rows`. An array is `Rows` with one part
(`LocalRows.of`). Functions on parts run where the parts are stored:

    rows.map(function, *others)     new `Rows`: function(part, *parts of others) of each block
    rows.sum(function, *others)     the sum of that over the blocks
    rows.each(function, *others)    an iterator over that, in the order of the blocks
    rows.array()                    all parts as one array in this process; `array(f)` maps first
    rows.is_here                    whether `array()` has nothing to compute or to transfer

Sums are added up in a fixed tree over the blocks: equal blocks give equal bits in memory, on disk
and on any number of workers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.data.base import (
    Block,
    Blocks,
    ByRow,
    LocalRows,
    MappedBlocks,
    Part,
    Progress,
    Rows,
)
from provenmf.data.disk import (
    ArrayBlocks,
    from_hdf5,
    from_memmap,
    open_npy,
    open_npz,
    open_parquet,
)
from provenmf.data.door import at_safe_scale
from provenmf.data.memory import MemoryBlocks
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import float_type, numbers_among_objects, plain

__all__ = [
    "Block",
    "Blocks",
    "ByRow",
    "LocalRows",
    "MappedBlocks",
    "Part",
    "Progress",
    "Rows",
    "as_blocks",
    "at_safe_scale",
    "is_outside_memory",
]


def is_outside_memory(X: object) -> bool:
    """Tell whether X is read block by block: a path, memory map, HDF5, zarr or Dask array."""
    return isinstance(X, (str, Path, np.memmap)) or _library(X) in ("h5py", "zarr", "dask")


def _library(X: object) -> str:
    return type(X).__module__.split(".")[0]


def as_blocks(X: Any, *, block_rows: int | None = None, progress: Progress | None = None) -> Blocks:
    """Return a matrix as blocks of rows, without copying what need not be copied.

    Parameters
    ----------
    X : numpy array, scipy sparse matrix or array, pandas frame, memory map, path of an `.npy`
        file, of a `.parquet` file of numbers or of sparse rows (`.npz`, see
        `provenmf.io.rows`), HDF5, zarr or Dask array.
    block_rows : rows in a block; chosen from the size of a row if None. Results do not depend
        on it beyond rounding.
    progress : called as progress(rows done, all rows) after each block.
    """
    if isinstance(X, Blocks):
        return X
    options: dict[str, Any] = {"block_rows": block_rows, "progress": progress}
    if isinstance(X, (str, Path)):
        if Path(X).suffix.lower() == ".npz":
            return open_npz(X, **options)
        if Path(X).suffix.lower() == ".parquet":
            return open_parquet(X, **options)
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
    matrix = _matrix(X)
    if matrix.ndim != 2:
        raise InvalidInput(
            f"X has {matrix.ndim} axes; a matrix is needed: reshape it to (n_rows, n_columns)"
        )
    if not sp.issparse(matrix):
        matrix = matrix.astype(float_type(matrix.dtype), copy=False)
    return MemoryBlocks(matrix, **options)


def _matrix(X: Any) -> Any:
    X = plain(X)
    if sp.issparse(X):
        return X
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InvalidInput(
            f"X is not an array of numbers ({error}): make its rows equal"
        ) from error
    return numbers_among_objects(values) if values.dtype == object else values
