"""A Dask array: every block is worked on where it lives, and only results travel.

This is the only module that imports dask. It uses whatever scheduler is active: threads on this
machine, or the cluster of the current `distributed.Client`. On a cluster a pass is one graph: the
function with all that it has to know goes there once, sums are added up on the workers in the order
of the blocks, and the client gets one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import ref
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from dask.base import compute
from dask.delayed import delayed
from numpy.typing import NDArray

from provenmf.blocks.base import Block, Blocks, Progress, RowArray, added, of_block
from provenmf.blocks.parts import LocalParts, Part, Parts
from provenmf.errors import InvalidInput
from provenmf.parallel import at_most
from provenmf.storage import float_type, own_rows

# How many neighbouring sums are added up by one task.
FOLDED = 8
# Arrays from so many bytes on stay on the workers for later passes, and so many of them.
WORTH_KEEPING, ARRAYS_KEPT = 1 << 20, 3


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
        self._client = active_client()
        self.is_sparse = sp.issparse(array._meta)
        rows = _in_rows(array, self.is_sparse, block_rows)
        self._array, self._chunks = rows, list(rows.to_delayed()[:, 0])
        super().__init__(rows.shape, rows.dtype, max(rows.chunks[0]), progress)
        self._sent = SentArrays()
        if self._client is not None:
            self.elsewhere = True
            self._settle(array)

    def __getstate__(self) -> dict[str, Any]:
        """What a function on a worker may ask of these blocks: their sizes, not their rows."""
        names = ("shape", "dtype", "is_sparse", "block_rows")
        return {name: getattr(self, name) for name in names}

    def _settle(self, given: Any) -> None:
        """Keep the chunks on the workers if they fit, so that no pass makes them again."""
        from provenmf.blocks.workers import chunks_kept

        kept = chunks_kept(self._client, given, self._array)
        self._chunks = self._chunks if kept is None else kept

    def in_blocks_of(self, rows: int) -> ClusterBlocks:
        """These: chunks stay as they are."""
        return self

    def ranges(self) -> Iterator[tuple[int, int]]:
        """First and last-plus-one row of each chunk."""
        stops = np.cumsum(self._array.chunks[0])
        return zip((stops - self._array.chunks[0]).tolist(), stops.tolist())

    def read(self, start: int, stop: int) -> Block:
        """Rows start … stop−1, brought here."""
        return self.take(np.arange(start, stop))

    def take(self, rows: NDArray[np.intp]) -> Block:
        """The given rows, brought here."""
        rows = np.asarray(rows)
        stops = np.cumsum(self._array.chunks[0])
        where = np.searchsorted(stops, rows, side="right")
        visited = np.unique(where)
        starts = stops - self._array.chunks[0]
        tasks = [
            delayed(_taken, pure=False)(self._chunks[i], rows[where == i] - starts[i])
            for i in visited.tolist()
        ]
        found = self._results(tasks)
        order = np.argsort(np.argsort(where, kind="stable"), kind="stable")
        if self.is_sparse:
            return sp.csr_array(sp.vstack(found, format="csr"))[order] if found else self._nothing()
        return np.concatenate(found)[order] if found else self._nothing()

    def _nothing(self) -> Block:
        shape = 0, self.n_columns
        return sp.csr_array(shape, dtype=self.dtype) if self.is_sparse else np.empty(shape)

    def in_double_precision(self) -> ClusterBlocks:
        """The same chunks, converted where they live."""
        return ClusterBlocks(self._array.astype(np.float64), progress=self.progress)

    def each(
        self, function: Callable[..., Any], *row_arrays: RowArray
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply `function` to all chunks in parallel; results come back in row order."""
        results = self._results(self._tasks(function, row_arrays))
        for (start, stop), result in zip(self.ranges(), results):
            if self.progress is not None:
                self.progress(stop, self.n_rows)
            yield start, stop, result

    def map_rows(self, function: Callable[..., Any], *row_arrays: RowArray) -> NDArray[Any]:
        """One result per row, brought here; should it be given to a later pass, it is there."""
        if self._client is None:
            return super().map_rows(function, *row_arrays)
        parts = self.keep(function, *row_arrays)
        found = parts.rows()
        if isinstance(parts, ClusterParts):
            self._sent.remember(found, parts)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return found

    def map_reduce(self, function: Callable[..., Any], *row_arrays: RowArray) -> Any:
        """Sum over the blocks; neighbours are added up where they are."""
        if self._client is None:
            return super().map_reduce(function, *row_arrays)
        tasks = self._tasks(function, row_arrays)
        while len(tasks) > 1:
            groups = [tasks[i : i + FOLDED] for i in range(0, len(tasks), FOLDED)]
            tasks = [delayed(added, pure=False)(group) for group in groups]
        [total] = self._results(tasks)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return total

    def _tasks(self, function: Callable[..., Any], row_arrays: Sequence[RowArray]) -> list[Any]:
        """One task for each chunk; the function travels on its own."""
        shared: Any = function
        if self._client is not None:
            shared = self._client.submit(_itself, function, pure=False)
        return [
            delayed(_applied, pure=False)(shared, chunk, *slices)
            for chunk, slices in zip(self._chunks, self._slices(row_arrays))
        ]

    def _slices(self, row_arrays: Sequence[RowArray]) -> Iterator[list[Any]]:
        """What belongs to each chunk; parts on the workers are only named."""
        if self._client is not None:
            row_arrays = [self._placed(a) for a in row_arrays]
        for number, (start, stop) in enumerate(self.ranges()):
            yield [
                a.future(number)
                if isinstance(a, ClusterParts)
                else of_block(a, number, start, stop)
                for a in row_arrays
            ]

    def _placed(self, rows: RowArray) -> RowArray:
        """A large array as parts on the workers: those of an earlier pass, if it is the same."""
        if isinstance(rows, Parts) or rows.ndim < 2 or rows.nbytes < WORTH_KEEPING:
            return rows
        known = self._sent.parts_of(rows)
        if known is None:
            tasks = [delayed(_itself, pure=False)(rows[a:b]) for a, b in self.ranges()]
            known = ClusterParts(self._client, self._client.compute(tasks))
            self._sent.remember(rows, known)
        return known

    def keep(self, function: Callable[..., Any], *row_arrays: RowArray) -> Parts:
        """What `function` returns for each chunk, kept on the workers."""
        tasks = self._tasks(function, row_arrays)
        if self._client is None:
            return _local(self._results(tasks))
        return ClusterParts(self._client, self._client.compute(tasks))

    def fold(
        self, function: Callable[..., Any], state: Any, *row_arrays: RowArray
    ) -> tuple[Any, Parts]:
        """One chunk after the other, each where it is; the state travels between the workers."""
        shared: Any = function
        if self._client is not None:
            shared = self._client.submit(_itself, function, pure=False)
        parts = []
        for chunk, slices in zip(self._chunks, self._slices(row_arrays)):
            both = delayed(_applied, pure=False, nout=2)(shared, state, chunk, *slices)
            state, part = both
            parts.append(part)
        if self._client is None:
            state, *found = compute(state, *parts)
            return state, _local(found)
        last, *kept = self._client.compute([state, *parts])
        [state] = self._results([last])
        return state, ClusterParts(self._client, kept)

    def _results(self, tasks: list[Any]) -> Sequence[Any]:
        if self._client is None:
            found: Sequence[Any] = compute(*tasks)
            return found
        from provenmf.blocks.workers import gathered

        return gathered(self._client, tasks)


class ClusterParts(Parts):
    """Parts on the workers; should one die, they are computed again from what they came from."""

    def __init__(self, client: Any, futures: list[Any]) -> None:
        self._client, self._futures = client, futures

    def __len__(self) -> int:
        return len(self._futures)

    def future(self, number: int) -> Any:
        """The part of one chunk, wherever it is."""
        return self._futures[number]

    def __getitem__(self, number: int) -> Part:
        """The part of one chunk, brought here."""
        [part] = self._gathered([self._futures[number]])
        brought: Part = part
        return brought

    def each(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """Apply `function` on the workers; only results travel."""
        return iter(self._gathered(self._tasks(function, ())))

    def mapped(self, function: Callable[..., Any], *others: Parts) -> ClusterParts:
        """What the function returns for each chunk, kept on the workers."""
        return ClusterParts(self._client, self._client.compute(self._tasks(function, others)))

    def _tasks(self, function: Callable[..., Any], others: Sequence[Parts]) -> list[Any]:
        shared = self._client.submit(_itself, function, pure=False)
        together = zip(self._futures, *(_futures_of(other) for other in others))
        return [delayed(_applied, pure=False)(shared, *parts) for parts in together]

    def _gathered(self, tasks: list[Any]) -> Sequence[Any]:
        from provenmf.blocks.workers import gathered

        return gathered(self._client, tasks)


class SentArrays:
    """Arrays of the client whose rows are on the workers too, the last few of them.

    An array is recognized by its identity and by a checksum, in case it was written to.
    """

    def __init__(self) -> None:
        self._known: list[tuple[ref[NDArray[Any]], int, ClusterParts]] = []

    def remember(self, rows: NDArray[Any], parts: ClusterParts) -> None:
        """Keep the parts as long as the array lives and no newer ones take their place."""
        if rows.ndim == 2 and rows.nbytes >= WORTH_KEEPING:
            self._known = [*self._known, (ref(rows), _checksum(rows), parts)][-ARRAYS_KEPT:]

    def parts_of(self, rows: NDArray[Any]) -> ClusterParts | None:
        """Its parts on the workers, if they are there."""
        self._known = [known for known in self._known if known[0]() is not None]
        found = (k for k in reversed(self._known) if k[0]() is rows and k[1] == _checksum(rows))
        return next((parts for _, _, parts in found), None)


def _checksum(rows: NDArray[Any]) -> int:
    return crc32(np.ascontiguousarray(rows).view(np.uint8).reshape(-1).data)


def _futures_of(parts: Parts) -> list[Any]:
    if not isinstance(parts, ClusterParts):
        raise TypeError("parts on the workers and parts in this process do not go together")
    return [parts.future(number) for number in range(len(parts))]


def _local(found: Sequence[Any]) -> Parts:
    parts = LocalParts()
    for part in found:
        parts.append(part)
    return parts


def active_client() -> Any:
    """The client of a cluster, if that is where Dask computes now."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed.") else None


def _in_rows(array: Any, sparse: bool, block_rows: int | None) -> Any:
    """The array in chunks of whole rows, none of them empty, as blocks are."""
    dtype = float_type(array.dtype)
    meta = sp.csr_array((0, 0)) if sparse else np.empty((0, 0), dtype)
    array = array.map_blocks(_as_rows, dtype, sparse, dtype=dtype, meta=meta)
    some = tuple(rows for rows in array.chunks[0] if rows)  # chunks may be empty
    return array.rechunk({0: block_rows or some or array.chunks[0], 1: -1})


def _as_rows(chunk: object, dtype: np.dtype[Any], sparse: bool) -> Block:
    """A chunk as blocks are: an array of numbers, or sparse rows in order."""
    if sparse != sp.issparse(chunk):
        raise InvalidInput(
            f"X is a Dask array with a chunk of type {type(chunk).__name__} that is declared "
            f"{'sparse' if sparse else 'dense'}: give the array the right meta, for sparse chunks "
            "meta=scipy.sparse.csr_array((0, 0))"
        )
    return own_rows(chunk) if sparse else np.asarray(chunk, dtype=dtype)


def _itself(value: Any) -> Any:
    """Whatever it is given: a task that can be run again should its worker die."""
    return value


def _applied(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function in one thread: the scheduler keeps the cores busy with other chunks."""
    with at_most(1):
        return function(*arguments)


def _taken(block: Block, rows: NDArray[np.intp]) -> Block:
    return block[rows]
