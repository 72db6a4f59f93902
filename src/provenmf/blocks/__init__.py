"""What flows in: a matrix as blocks of rows, wherever it is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.blocks.base import Block, Blocks, Progress
from provenmf.blocks.disk import ArrayBlocks, from_memmap, open_npy
from provenmf.blocks.memory import MemoryBlocks
from provenmf.errors import InvalidInput

__all__ = ["Block", "Blocks", "Progress", "as_blocks", "is_on_disk"]


def is_on_disk(X: Any) -> bool:
    """Whether X is to be read block by block: a path, a memory map, an HDF5 or zarr array."""
    return isinstance(X, (str, Path, np.memmap)) or (
        not isinstance(X, np.ndarray)
        and not sp.issparse(X)
        and type(X).__module__.split(".")[0] in ("h5py", "zarr")
    )


def as_blocks(X: Any, *, block_rows: int | None = None, progress: Progress | None = None) -> Blocks:
    """See a matrix as blocks of rows, without copying what need not be copied.

    Parameters
    ----------
    X : numpy array, scipy sparse matrix or array, pandas frame, memory map, path of an `.npy`
        file, HDF5 or zarr array.
    block_rows : rows in a block; chosen from the size of a row if None. Results do not depend
        on it beyond rounding.
    progress : called as progress(rows done, all rows) after each block.
    """
    if isinstance(X, Blocks):
        return X
    options: dict[str, Any] = {"block_rows": block_rows, "progress": progress}
    if isinstance(X, (str, Path)):
        return open_npy(X, **options)
    if isinstance(X, np.memmap):
        return from_memmap(X, **options)
    if is_on_disk(X):
        return ArrayBlocks(X, **options)
    matrix = X if sp.issparse(X) else np.asarray(X)
    if matrix.ndim != 2:
        raise InvalidInput(
            f"X has {matrix.ndim} axes; a matrix is needed: reshape it to (n_rows, n_columns)"
        )
    if matrix.dtype not in (np.float32, np.float64):
        if matrix.dtype.kind not in "fiub":
            raise InvalidInput(f"X holds {matrix.dtype} entries; real numbers are needed")
        matrix = matrix.astype(np.float64)
    return MemoryBlocks(matrix, **options)
