"""A Dask array: every block is worked on where it lives, and only results travel.

This is the only module that imports dask. It uses whatever scheduler is active: threads on this
machine, or the cluster of the current `distributed.Client`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from dask.base import compute
from dask.delayed import delayed
from numpy.typing import NDArray

from provenmf.blocks.base import Block, Blocks, Progress
from provenmf.errors import InvalidInput
from provenmf.storage import float_type, own_rows


class ClusterBlocks(Blocks):
    """Row chunks of a Dask array, dense or sparse in any format, or of a Dask frame."""

    def __init__(
        self, array: Any, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        if not hasattr(array, "chunks"):  # a frame: its columns are the features
            array = array.to_dask_array(lengths=True)
        if array.ndim != 2 or array.dtype.kind not in "fiub" or np.isnan(array.shape).any():
            raise InvalidInput(
                f"X is a Dask array of shape {array.shape} and type {array.dtype}; a real matrix "
                "of known shape is needed (see dask.array.Array.compute_chunk_sizes)"
            )
        dtype = float_type(array.dtype)
        self.is_sparse = sp.issparse(array._meta)
        meta = sp.csr_array((0, 0)) if self.is_sparse else np.empty((0, 0), dtype)
        array = array.map_blocks(_as_rows, dtype, self.is_sparse, dtype=dtype, meta=meta)
        some = tuple(rows for rows in array.chunks[0] if rows)  # chunks may be empty
        self._array = array.rechunk({0: block_rows or some or array.chunks[0], 1: -1})
        super().__init__(array.shape, array.dtype, max(self._array.chunks[0]), progress)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """First and last-plus-one row of each chunk."""
        stops = np.cumsum(self._array.chunks[0])
        return zip((stops - self._array.chunks[0]).tolist(), stops.tolist())

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1, brought here."""
        return self._array[start:stop].compute()

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows, brought here."""
        return self._array[np.asarray(rows)].compute()

    def in_double_precision(self) -> ClusterBlocks:
        """The same chunks, converted where they live."""
        return ClusterBlocks(self._array.astype(np.float64), progress=self.progress)

    def each(
        self, function: Callable[..., Any], *row_arrays: NDArray[np.generic]
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply `function` to all chunks in parallel; results come back in row order."""
        ranges = list(self.ranges())
        tasks = [
            delayed(function)(chunk, *(a[start:stop] for a in row_arrays))
            for (start, stop), chunk in zip(ranges, self._array.to_delayed()[:, 0])
        ]
        for (start, stop), result in zip(ranges, compute(*tasks)):
            if self.progress is not None:
                self.progress(stop, self.n_rows)
            yield start, stop, result


def _as_rows(chunk: object, dtype: np.dtype[Any], sparse: bool) -> Block:
    """A chunk as blocks are: an array of numbers, or sparse rows in order."""
    if sparse != sp.issparse(chunk):
        raise InvalidInput(
            f"X is a Dask array with a chunk of type {type(chunk).__name__} that is declared "
            f"{'sparse' if sparse else 'dense'}: give the array the right meta, for sparse chunks "
            "meta=scipy.sparse.csr_array((0, 0))"
        )
    return own_rows(chunk) if sparse else np.asarray(chunk, dtype=dtype)
