"""A Dask array: every block is worked on where it lives, and only results travel.

It uses whatever scheduler is active: threads on this machine, or the cluster of the current
`distributed.Client`. On a cluster a pass is one graph (`blocks.orders`): a task takes several
chunks of one worker, sums are added up on the workers, and the client gets a few of them. Chunks
are added up in a fixed tree (`blocks.tree_sums`), so the sum does not depend on which task takes
which of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from operator import getitem, itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed
from numpy.typing import NDArray

from provenmf.data.base import Block, Blocks, ByRow, Progress, RowArray, of_block
from provenmf.data.chunks import in_rows, optimized, recipes
from provenmf.data.cluster_parts import ClusterParts, Layout, SentArrays, worth_keeping
from provenmf.data.on_workers import listed, split, summed
from provenmf.data.orders import (
    Held,
    Order,
    Packed,
    carried_out,
    for_all,
    graph_of,
    keys,
    unpacked,
)
from provenmf.data.parts import Parts
from provenmf.data.tree_sums import Sums, joined_sums, total
from provenmf.data.workers import (
    Workers,
    await_a_worker,
    chunks_kept,
    fits,
    futures_in,
    raise_error_of,
    say_that_chunks_are_made_again,
    sending,
    threads_of_workers,
)
from provenmf.errors import ClusterLost, InvalidInput, warn_user
from provenmf.linalg.storage import NUMBERS

# Chunks of objects may hold Python's numbers, as frames of pandas' own types do.
KINDS = NUMBERS + "O"
# The sums of so many tasks are added up by one. So many come to the client at the most.
FOLDED = 8
# Tasks of a pass for each thread of the workers: a few, since each costs the scheduler time, and
# more than one, so that a worker that joins late finds work.
TASKS_PER_THREAD = 2
# The same where a task makes its chunks: more, since they may take unequal times.
TASKS_THAT_READ = 8


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
        if array.ndim != 2 or array.dtype.kind not in KINDS or np.isnan(array.shape).any():
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
        self._workers: Workers | None = None  # where Dask computes in this process
        self.is_sparse = sp.issparse(array._meta)
        self._array = rows = in_rows(array, self.is_sparse, block_rows)
        self._graph, self._chunks = optimized(rows)
        self._layout = _evenly(len(self._chunks), len(self._chunks))  # a chunk for each task
        self._groups: Sequence[Sequence[Any]] = split(
            self._chunks, 1
        )  # what tasks are given for their chunks
        super().__init__(rows.shape, rows.dtype, max(rows.chunks[0]), progress)
        self._sent = SentArrays()
        self.may_differ = True
        client = active_client()
        if client is None and "distributed" in sys.modules and futures_in(array):
            raise ClusterLost(
                "X is a Dask array with chunks on the workers of a cluster, and there is no client "
                "of it: make a distributed.Client and X again"
            )
        if client is not None:
            self.elsewhere = True
            with sending("X, a Dask array,"):
                self._settle(client, array)

    def __getstate__(self) -> dict[str, Any]:
        """What a function on a worker may ask of these blocks: their sizes, not their rows."""
        names = ("shape", "dtype", "is_sparse", "block_rows")
        return {name: getattr(self, name) for name in names}

    def _settle(self, client: Any, given: Any) -> None:
        """Keep the chunks on the workers if they fit, so that no pass makes them again.

        A task takes several chunks that are on its worker, or that it makes one after the other.
        """
        there = futures_in(given)
        raise_error_of(there)
        await_a_worker(client, self._array)
        threads, roomy = threads_of_workers(client), fits(client, self._array)
        if roomy or len(there) >= given.npartitions:
            lists, members = chunks_kept(client, self._array, TASKS_PER_THREAD, move=roomy)
            self._layout, self._graph = Layout(members), {}
            self.may_differ = False
            self._groups = [[some] for some in lists]
        else:
            say_that_chunks_are_made_again(client, self._array)
            made = None if there else recipes(self._graph, self._chunks)
            if made is not None:
                self._chunks, self._graph = made, {}
                self._layout = _evenly(len(made), TASKS_THAT_READ * threads)
            self._groups = self._layout.split(self._chunks)
        self._workers = Workers(client, self._graph)

    def _chunk(self, number: int) -> Any:
        """One chunk as tasks take it."""
        group, place = self._layout.place_of(number)
        if isinstance(self._groups[group][0], Order):  # a list on a worker
            return Order(next(keys("chunk")), getitem, self._groups[group][0], place)
        return self._groups[group][place]

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
        asked = [
            self._shared((listed, itemgetter(rows[where == i] - starts[i])), 1) for i in visited
        ]
        orders = [
            Order(key, carried_out, call, 1, self._chunk(i))
            for key, call, i in zip(keys("rows"), asked, visited.tolist())
        ]
        found = [block for [block] in self._results(orders)]
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
        lists = self._results(self._orders((listed, function), self._slices(row_arrays)))
        for (start, stop), result in zip(self.ranges(), self._layout.in_order(lists)):
            if self.progress is not None:
                self.progress(stop, self.n_rows)
            yield start, stop, result

    def map_rows(self, function: Callable[..., Any], *row_arrays: ByRow) -> NDArray[Any]:
        """One result per row, brought here; should it be given to a later pass, it is there."""
        if self._workers is None:
            return super().map_rows(function, *row_arrays)
        parts = self._kept(function, row_arrays)
        found = parts.rows()
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        self._sent.remember(found, parts)
        return found

    def rows_in_place(self, function: Callable[..., Any], *row_arrays: ByRow) -> RowArray:
        """One result per row, on the workers."""
        if self._workers is None:
            return self.map_rows(function, *row_arrays)
        return self.keep(function, *row_arrays)

    def map_reduce(self, function: Callable[..., Any], *row_arrays: ByRow) -> Any:
        """Sum over the blocks; neighbours are added up where they are."""
        if self._workers is None:
            return super().map_reduce(function, *row_arrays)
        slices = [self._numbers(), *self._slices(row_arrays)]
        orders = self._orders((summed, self._leaves, function), slices)
        whole = total(self._results(self._added_up(orders)), self._leaves)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return whole

    def gather_and_add(
        self,
        function: Callable[..., Any],
        receive: Callable[[int, int, Any], object],
        *row_arrays: ByRow,
    ) -> Any:
        """Rows come here chunk by chunk; sums are added up where they are."""
        if self._workers is None:
            return super().gather_and_add(function, receive, *row_arrays)
        found = self._orders((listed, function), self._slices(row_arrays))
        return self._gathered_and_added(self._workers, found, receive)

    def gather_add_and_keep(
        self,
        function: Callable[..., Any],
        receive: Callable[[int, int, Any], object],
        *row_arrays: ByRow,
    ) -> tuple[Any, RowArray]:
        """The same, and rows that stay on the workers."""
        if self._workers is None:
            return super().gather_add_and_keep(function, receive, *row_arrays)
        found = self._orders((listed, function), self._slices(row_arrays))
        rows = _of_each("rows", (listed, itemgetter(2)), found, kept=True)
        return self._gathered_and_added(self._workers, found, receive, rows), self._parts(rows)

    def _gathered_and_added(
        self,
        workers: Workers,
        all_of_it: list[Order],
        receive: Callable[[int, int, Any], object],
        beside: Sequence[Order] = (),
    ) -> Any:
        """Of what the orders return for each chunk, the first comes here, the second is added."""
        by_row = _of_each("gathered", (listed, itemgetter(0)), all_of_it)
        add = Packed((summed, self._leaves, itemgetter(1)))
        sums = [
            Order(key, carried_out, add, 0, found, numbers)
            for key, found, numbers in zip(keys("summed"), all_of_it, self._numbers())
        ]
        results = workers.gathered([*by_row, *self._added_up(sums)], beside)
        in_order = self._layout.in_order(results[: len(by_row)])
        for (start, stop), found in zip(self.ranges(), in_order):
            receive(start, stop, found)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return total(results[len(by_row) :], self._leaves)

    @property
    def _leaves(self) -> int:
        """How many chunks are added up."""
        return len(self._layout)

    def _numbers(self) -> list[Packed]:
        """The numbers of each task's chunks: their places among the leaves."""
        return [Packed(numbers) for numbers in self._layout.members]

    def _added_up(self, orders: list[Order]) -> list[Order]:
        """The same sum as a few orders: the rest is added up on the workers."""
        while len(orders) > FOLDED:
            add = Packed((_joined, self._leaves))
            groups = zip(keys("sums"), split(orders, FOLDED))
            orders = [Order(key, carried_out, add, 0, *group) for key, group in groups]
        return orders

    def _orders(
        self, call: tuple[Any, ...], slices: Sequence[Sequence[Any]], *, kept: bool = False
    ) -> list[Order]:
        """For all chunks, a few in each: the call with the chunks and with lists of slices."""
        shared = self._shared(call, len(self._groups))
        return [
            Order(key, carried_out, shared, len(some), *some, *lists, kept=kept)
            for key, some, *lists in zip(keys(call[0].__name__), self._groups, *slices)
        ]

    def _shared(self, call: tuple[Any, ...], tasks: int) -> Held | Order:
        """A call as all tasks of a pass take it."""
        return Held(call) if self._workers is None else for_all(call, tasks)

    def _slices(self, row_arrays: Sequence[ByRow]) -> list[list[Any]]:
        """Of each array a list with what every task needs of it; parts there are only named."""
        found = []
        for rows in row_arrays:
            placed = rows if self._workers is None else self._placed(rows)
            found.append(
                placed.orders if isinstance(placed, ClusterParts) else self._packed_slices(placed)
            )
        return found

    def _packed_slices(self, rows: ByRow) -> list[Any]:
        pack = Held if self._workers is None else Packed
        each = [of_block(rows, i, a, b) for i, (a, b) in enumerate(self.ranges())]
        return [pack(some) for some in self._layout.split(each)]

    def _placed(self, rows: ByRow) -> ByRow:
        """A large array as parts on the workers."""
        if isinstance(rows, Parts | range) or not worth_keeping(rows):
            return rows
        return self.in_place(rows)

    def in_place(self, rows: RowArray) -> RowArray:
        """An array as parts on the workers: those of an earlier pass, if it is the same."""
        if self._workers is None or isinstance(rows, Parts):
            return rows
        known = self._sent.parts_of(rows)
        if known is None:
            slices = zip(keys("sent"), self._packed_slices(rows))
            known = self._parts([Order(key, unpacked, some, kept=True) for key, some in slices])
            self._sent.remember(rows, known)
        return known

    def _parts(self, orders: list[Order]) -> ClusterParts:
        """What the orders return, lists of parts, kept on the workers."""
        assert self._workers is not None  # in this process there are LocalParts
        return ClusterParts(self._workers, orders, self._layout, self._array.chunks[0])

    def _kept(self, function: Callable[..., Any], row_arrays: Sequence[ByRow]) -> ClusterParts:
        return self._parts(self._orders((listed, function), self._slices(row_arrays), kept=True))

    def keep(self, function: Callable[..., Any], *row_arrays: ByRow) -> Parts:
        """What `function` returns for each chunk, kept on the workers."""
        if self._workers is None:
            return super().keep(function, *row_arrays)
        kept = self._kept(function, row_arrays)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return kept

    def _results(self, orders: list[Order]) -> Sequence[Any]:
        """What the orders return."""
        if self._workers is not None:
            return self._workers.gathered(orders)
        graph, _ = graph_of(orders)
        found: Sequence[Any] = _scheduler()(
            {**self._graph, **graph}, [order.key for order in orders]
        )
        return found


def _of_each(
    name: str, call: tuple[Any, ...], orders: Sequence[Order], *, kept: bool = False
) -> list[Order]:
    """The call for what each order returns."""
    packed = Packed(call)
    named = zip(keys(name), orders)
    return [Order(key, carried_out, packed, 0, order, kept=kept) for key, order in named]


def _evenly(chunks: int, tasks: int) -> Layout:
    """Neighbouring chunks for each task, about equally many."""
    some = np.array_split(np.arange(chunks), min(chunks, max(1, tasks)))
    return Layout([numbers.tolist() for numbers in some])


def _joined(leaves: int, *several: Sums) -> Sums:
    return joined_sums(several, leaves)


def _scheduler() -> Any:
    """Dask's scheduler of this process: threads, unless the user set one thread or a pool.

    Dask's processes are started anew for each pass, which takes longer than the pass.
    """
    from dask import multiprocessing, threaded

    given = _scheduler_set()
    return threaded.get if given in (None, multiprocessing.get) else given


def _scheduler_set() -> Any:
    """What computes Dask's graphs now, None where nobody chose it."""
    from dask.base import get_scheduler

    try:
        return get_scheduler()
    except (RuntimeError, ValueError) as error:  # no client, an asynchronous one, a strange name
        raise InvalidInput(
            f"X is a Dask array, and Dask has nothing to compute it with ({error!s:.200}): make X "
            "again with a distributed.Client that is open and not asynchronous, or without one"
        ) from error


def active_client() -> Any:
    """The client of a cluster, if that is where Dask computes now."""
    owner = getattr(_scheduler_set(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed.") else None
