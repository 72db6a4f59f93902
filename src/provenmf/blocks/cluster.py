"""A Dask array: every block is worked on where it lives, and only results travel.

This is the only module that imports dask. It uses whatever scheduler is active: threads on this
machine, or the cluster of the current `distributed.Client`. On a cluster a pass is one graph: the
function with all that it has to know goes there once, a task takes several neighbouring chunks,
sums are added up on the workers, and the client gets one of them. Chunks are added up in pairs,
pairs of pairs and so on, so that the sum does not depend on how many of them a task takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import getitem
from typing import Any
from weakref import ref
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from dask.base import compute
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from provenmf.blocks.base import Block, Blocks, ByRow, Progress, added, of_block
from provenmf.blocks.parts import LocalParts, Part, Parts
from provenmf.errors import InvalidInput, warn_user
from provenmf.parallel import at_most
from provenmf.storage import float_type, own_rows

# How many neighbouring sums are added up by one task: a power of two, as pairs are added.
FOLDED = 8
# Tasks of a pass for each thread of the workers: a few, since each costs the scheduler time, and
# more than one, so that a worker that joins late finds work.
TASKS_PER_THREAD = 2
# What a pass has to know travels with its tasks up to so many bytes in all of them.
BYTES_IN_TASKS = 1 << 20
# Arrays from so many bytes on stay on the workers for later passes, and so many of them.
WORTH_KEEPING, ARRAYS_KEPT = 1 << 20, 3


class ClusterBlocks(Blocks):
    """Row chunks of a Dask array, dense or sparse in any format, or of a Dask frame."""

    def __init__(
        self, array: Any, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        frame = hasattr(array, "to_dask_array")
        if isinstance(array, Delayed) or not (frame or hasattr(array, "chunks")):
            raise InvalidInput(
                f"X is a Dask {type(array).__name__}: give a Dask array or frame (see "
                "dask.array.from_delayed)"
            )
        if frame:  # its columns are the features
            array = array.to_dask_array(lengths=True)
        if array.ndim != 2 or array.dtype.kind not in "fiub" or np.isnan(array.shape).any():
            raise InvalidInput(
                f"X is a Dask array of shape {array.shape} and type {array.dtype}; a real matrix "
                "of known shape is needed (see dask.array.Array.compute_chunk_sizes)"
            )
        if len(array.chunks[1]) > 1:
            warn_user(
                RuntimeWarning(
                    f"X's columns are in {len(array.chunks[1])} chunks: they are joined to whole "
                    "rows, which moves them between workers; make X with chunks=(rows, -1)"
                )
            )
        self._client = active_client()
        self.is_sparse = sp.issparse(array._meta)
        rows = _in_rows(array, self.is_sparse, block_rows)
        self._array, self._chunks = rows, list(rows.to_delayed()[:, 0])
        self._together = 1  # chunks that a task takes
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
        """Keep the chunks on the workers if they fit, so that no pass makes them again.

        A task takes several if there is room to bring those to its worker that are on another.
        """
        from provenmf.blocks.workers import chunks_kept, fits, threads_of_workers

        roomy = fits(self._client, self._array)
        self._chunks = chunks_kept(self._client, given, self._array, fit=roomy) or self._chunks
        tasks = TASKS_PER_THREAD * threads_of_workers(self._client)
        while roomy and len(self._chunks) >= 2 * self._together * max(1, tasks):
            self._together *= 2

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
        self, function: Callable[..., Any], *row_arrays: ByRow
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply `function` to all chunks in parallel; results come back in row order."""
        results = chain.from_iterable(self._results(self._tasks(_listed, function, row_arrays)))
        for (start, stop), result in zip(self.ranges(), results):
            if self.progress is not None:
                self.progress(stop, self.n_rows)
            yield start, stop, result

    def map_rows(self, function: Callable[..., Any], *row_arrays: ByRow) -> NDArray[Any]:
        """One result per row, brought here; should it be given to a later pass, it is there."""
        if self._client is None:
            return super().map_rows(function, *row_arrays)
        parts = self.keep(function, *row_arrays)
        found = parts.rows()
        if isinstance(parts, ClusterParts):
            self._sent.remember(found, parts)
        return found

    def map_reduce(self, function: Callable[..., Any], *row_arrays: ByRow) -> Any:
        """Sum over the blocks; neighbours are added up where they are."""
        if self._client is None:
            return super().map_reduce(function, *row_arrays)
        tasks = self._tasks(_added, function, row_arrays)
        while len(tasks) > 1:
            tasks = [delayed(added_in_pairs, pure=False)(group) for group in _split(tasks, FOLDED)]
        [total] = self._results(tasks)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return total

    def _tasks(
        self,
        collect: Callable[..., Any],
        function: Callable[..., Any],
        row_arrays: Sequence[ByRow],
    ) -> list[Any]:
        """Tasks for all chunks, a few each: `collect(function, chunks, slices of each array)`."""
        shared = self._shared(function)
        chunks = _split(self._chunks, self._together)
        return [
            delayed(_in_one_thread, pure=False)(collect, shared, *together)
            for together in zip(chunks, *self._slices(row_arrays))
        ]

    def _shared(self, function: Callable[..., Any]) -> Any:
        """The function as tasks take it."""
        if self._client is None:
            return function
        return on_its_way(self._client, function, len(self._chunks) // self._together)

    def _slices(self, row_arrays: Sequence[ByRow]) -> list[list[Any]]:
        """Of each array a list with what every task needs of it; parts there are only named."""
        found = []
        for rows in row_arrays:
            placed = rows if self._client is None else self._placed(rows)
            if isinstance(placed, ClusterParts):
                found.append(placed.futures)
                continue
            each = [of_block(placed, i, a, b) for i, (a, b) in enumerate(self.ranges())]
            found.append(_split(each, self._together))
        return found

    def _placed(self, rows: ByRow) -> ByRow:
        """A large array as parts on the workers: those of an earlier pass, if it is the same."""
        if isinstance(rows, Parts | range) or rows.nbytes < WORTH_KEEPING:
            return rows
        known = self._sent.parts_of(rows)
        if known is None:
            each = _split([rows[a:b] for a, b in self.ranges()], self._together)
            known = self._parts([delayed(_itself, pure=False)(together) for together in each])
            self._sent.remember(rows, known)
        return known

    def _parts(self, tasks: list[Any]) -> ClusterParts:
        """What the tasks return, lists of parts, kept on the workers."""
        futures = self._client.compute(tasks)
        return ClusterParts(self._client, futures, len(self._chunks), self._together)

    def keep(self, function: Callable[..., Any], *row_arrays: ByRow) -> Parts:
        """What `function` returns for each chunk, kept on the workers."""
        tasks = self._tasks(_listed, function, row_arrays)
        kept = _local(self._results(tasks)) if self._client is None else self._parts(tasks)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return kept

    def fold(
        self, function: Callable[..., Any], state: Any, *row_arrays: ByRow
    ) -> tuple[Any, Parts]:
        """One chunk after the other, each where it is; the state travels between the workers."""
        shared, parts = self._shared(function), []
        for together in zip(_split(self._chunks, self._together), *self._slices(row_arrays)):
            both = delayed(_in_one_thread, pure=False, nout=2)(_in_turn, shared, state, *together)
            state, part = both
            parts.append(part)
        if self._client is None:
            state, *found = compute(state, *parts)
            return state, _local(found)
        kept, last = self._parts(parts), self._client.compute(state)
        [state] = self._results([last])
        return state, kept

    def _results(self, tasks: list[Any]) -> Sequence[Any]:
        if self._client is None:
            found: Sequence[Any] = compute(*tasks)
            return found
        from provenmf.blocks.workers import gathered

        return gathered(self._client, tasks)


class ClusterParts(Parts):
    """Parts on the workers; should one die, they are computed again from what they came from.

    Parameters
    ----------
    futures : lists of parts, `together` in each but the last.
    number : of all parts.
    """

    def __init__(self, client: Any, futures: list[Any], number: int, together: int) -> None:
        self._client, self.futures = client, futures
        self._number, self._together = number, together

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, number: int) -> Part:
        """The part of one chunk, brought here."""
        place = divmod(number, self._together)
        [part] = self._gathered([delayed(getitem, pure=False)(self.futures[place[0]], place[1])])
        brought: Part = part
        return brought

    def each(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """Apply `function` on the workers; only results travel."""
        return chain.from_iterable(self._gathered(self._tasks(function, ())))

    def mapped(self, function: Callable[..., Any], *others: Parts) -> ClusterParts:
        """What the function returns for each chunk, kept on the workers."""
        futures = self._client.compute(self._tasks(function, others))
        return ClusterParts(self._client, futures, self._number, self._together)

    def _tasks(self, function: Callable[..., Any], others: Sequence[Parts]) -> list[Any]:
        shared = on_its_way(self._client, function, len(self.futures))
        lists = zip(self.futures, *(_futures_of(other) for other in others))
        return [delayed(_in_one_thread, pure=False)(_listed, shared, *parts) for parts in lists]

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
        if rows.nbytes >= WORTH_KEEPING:
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
    return parts.futures


def _local(found: Sequence[Any]) -> Parts:
    parts = LocalParts()
    for part in chain.from_iterable(found):
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


def _as_rows(chunk: object, dtype: np.dtype[Any], sparse: bool, block_info: Any = None) -> Block:
    """A chunk as blocks are: an array of numbers, or sparse rows in order."""
    if sparse != sp.issparse(chunk):
        raise InvalidInput(
            f"X is a Dask array with a chunk of type {type(chunk).__name__} that is declared "
            f"{'sparse' if sparse else 'dense'}: give the array the right meta, for sparse chunks "
            "meta=scipy.sparse.csr_array((0, 0))"
        )
    place, shape = block_info[0]["chunk-location"], block_info[None]["chunk-shape"]
    try:
        rows = own_rows(chunk) if sparse else np.asarray(chunk, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"chunk {place} of X, a Dask array, is no array of numbers ({error}): see what makes it"
        ) from error
    if rows.shape != shape:
        raise InvalidInput(
            f"chunk {place} of X, a Dask array, has shape {rows.shape} and is declared {shape}: "
            "give the array the right chunks"
        )
    return rows


def on_its_way(client: Any, function: Callable[..., Any], tasks: int) -> Any:
    """A small function as it is, to travel with each task; a large one goes there by itself."""
    from distributed.protocol import pickle

    library: Any = pickle  # it says nothing about types
    if len(library.dumps(function)) * tasks <= BYTES_IN_TASKS:
        return function
    return client.submit(_itself, function, pure=False)


def _itself(value: Any) -> Any:
    """Whatever it is given: a task that can be run again should its worker die."""
    return value


def _in_one_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function in one thread: the scheduler keeps the cores busy with other chunks."""
    with at_most(1):
        return function(*arguments)


def _listed(function: Callable[..., Any], *lists: Sequence[Any]) -> list[Any]:
    """What the function returns for each chunk and what belongs to it."""
    return [function(*map(aligned, arguments)) for arguments in zip(*lists)]


def _added(function: Callable[..., Any], *lists: Sequence[Any]) -> Any:
    """The sum of what the function returns for the chunks."""
    return added_in_pairs(_listed(function, *lists))


def _in_turn(
    function: Callable[..., Any], state: Any, *lists: Sequence[Any]
) -> tuple[Any, list[Any]]:
    """The chunks one after the other: the last state, and what belongs to each chunk."""
    parts = []
    for arguments in zip(*lists):
        state, part = function(state, *map(aligned, arguments))
        parts.append(part)
    return state, parts


def aligned(value: Any) -> Any:
    """Arrays whose numbers begin where the processor wants them.

    Those that came from another worker may begin anywhere in its message. W'W of such an array is
    another routine of BLAS, which rounds differently: without this a lost worker would change the
    last bits of an answer.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if isinstance(value, tuple):
        return tuple(aligned(each) for each in value)
    if sp.issparse(value):
        arrays = value.data, value.indices, value.indptr
        if not all(array.flags.aligned for array in arrays):
            return type(value)(aligned(arrays), shape=value.shape)
    return value


def added_in_pairs(results: list[Any]) -> Any:
    """The sum of neighbours, of neighbouring sums, and so on."""
    while len(results) > 1:
        results = [added(pair) for pair in _split(results, 2)]
    return results[0]


def _split(values: list[Any], size: int) -> list[list[Any]]:
    """Neighbours in lists of the given size; the last one may be shorter."""
    return [values[i : i + size] for i in range(0, len(values), size)]


def _taken(block: Block, rows: NDArray[np.intp]) -> Block:
    return block[rows]
