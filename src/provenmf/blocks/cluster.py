"""A Dask array: every block is worked on where it lives, and only results travel.

This is the only module that imports dask. It uses whatever scheduler is active: threads on this
machine, or the cluster of the current `distributed.Client`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray

from provenmf.blocks.base import Block, Blocks, Progress
from provenmf.errors import InvalidInput
from provenmf.storage import float_type


class ClusterBlocks(Blocks):
    """Row chunks of a Dask array."""

    def __init__(
        self, array: Any, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        if array.ndim != 2 or array.dtype.kind not in "fiub" or np.isnan(array.shape).any():
            raise InvalidInput(
                f"X is a Dask array of shape {array.shape} and type {array.dtype}; a real matrix "
                "of known shape is needed (see dask.array.Array.compute_chunk_sizes)"
            )
        dtype = float_type(array.dtype)
        array = array if array.dtype == dtype else array.astype(dtype)
        self._array = array.rechunk({0: block_rows or array.chunks[0], 1: -1})
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
        self, function: Callable[..., Any], *row_arrays: NDArray[Any]
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply `function` to all chunks in parallel; results come back in row order."""
        ranges = list(self.ranges())
        tasks = [
            dask.delayed(function)(chunk, *(a[start:stop] for a in row_arrays))
            for (start, stop), chunk in zip(ranges, self._array.to_delayed()[:, 0])
        ]
        for (start, stop), result in zip(ranges, dask.compute(*tasks)):
            if self.progress is not None:
                self.progress(stop, self.n_rows)
            yield start, stop, result
