"""A Dask array or frame: chunks are processed on their workers, only results are transferred.

Passes run on whatever scheduler is active: threads of this process, or the cluster of the current
`distributed.Client`. A pass is one graph with a task for each chunk. On a cluster the chunks are
persisted if they fit into the workers' memory. Results are added up in the binary tree of
`tree_sum`, so that sums do not depend on the number of workers.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from operator import getitem
from pickle import PicklingError
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from dask.base import compute, get_scheduler
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from provenmf.budget import at_most
from provenmf.data.base import (
    Block,
    Blocks,
    ByRow,
    Part,
    Progress,
    Result,
    Rows,
    joined,
    part_of,
    tree_sum,
)
from provenmf.errors import ClusterLost, InvalidInput, warn_user
from provenmf.linalg.storage import NUMBERS, float_type, in_row_order, numbers, own_rows

# The chunks may take this share of the workers' memory; the rest is for results.
SHARE = 0.5
# Tasks whose sums one task adds up, and sums transferred at the end; a power of two.
FAN_IN = 8
# A function that takes more bytes than this in all tasks together travels as a separate task.
BYTES_IN_TASKS = 1 << 20
# Seconds between two looks at workers that take long, and how long to wait for one that works.
LOOK, PATIENCE = 2.0, 120.0
# Parameters of mallopt(3).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


class DaskBlocks(Blocks):
    """Row chunks of a Dask array, dense or sparse in any format, or of a Dask frame."""

    def __init__(
        self, array: Any, *, block_rows: int | None = None, progress: Progress | None = None
    ) -> None:
        given = _matrix(array)
        self.is_sparse = sp.issparse(given._meta)
        self._array = rows = _in_rows(given, self.is_sparse, block_rows)
        super().__init__(rows.shape, rows.dtype, max(rows.chunks[0]), progress)
        stops = np.cumsum(rows.chunks[0])
        self._ranges = list(zip((stops - rows.chunks[0]).tolist(), stops.tolist(), strict=True))
        self._chunks: list[Any] = rows.to_delayed().ravel().tolist()
        self.may_differ = True
        client = active_client()
        self.on_workers = client is not None
        self._cluster = None if client is None else Cluster(client)
        if self._cluster is not None:
            with _errors_named():
                self._settle(self._cluster, given)
        elif "distributed" in sys.modules and _futures_in(given):
            raise ClusterLost(
                "X is a Dask array with chunks on the workers of a cluster, and there is no "
                "client of it: make a distributed.Client and X again"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return the sizes of these blocks for functions on workers, without rows."""
        names = ("shape", "dtype", "is_sparse", "block_rows")
        return {name: getattr(self, name) for name in names}

    def _settle(self, cluster: Cluster, given: Any) -> None:
        """Persist the chunks on the workers if they fit, so that no pass recomputes them."""
        client, rows, there = cluster.client, self._array, _futures_in(given)
        for future in there:
            if future.status == "error":
                future.result()  # Dask would only say that the chunk was lost
        if not _workers(client):  # a cluster may grow with its work
            _wait(client, [client.compute(rows.to_delayed()[0, 0])])
        limits = [worker["memory_limit"] for worker in _workers(client)]
        room = float(sum(limits)) if all(limits) else float("inf")
        size = _stored_bytes(cluster, rows)
        fits = size <= SHARE * room
        if not fits and len(there) < given.npartitions:
            warn_user(
                RuntimeWarning(
                    f"X takes {size / 1e9:.2f} GB, and the workers have {room / 1e9:.2f} GB: its "
                    "chunks are read or computed again in every pass. Add workers, or store X in a "
                    "form that is quick to read"
                )
            )
            return
        kept = client.persist(rows)
        by_key = {future.key: future for future in _futures_in(kept)}
        self._chunks = [by_key[key] for [key] in kept.__dask_keys__()]
        self.may_differ = False
        _wait(client, self._chunks)

    def in_blocks_of(self, rows: int) -> DaskBlocks:
        """Return these blocks: chunks stay as they are."""
        return self

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last-plus-one row of each chunk."""
        return iter(self._ranges)

    def read(self, start: int, stop: int) -> Block:
        """Return rows start … stop−1, transferred to this process."""
        return self.take(np.arange(start, stop))

    def take(self, rows: NDArray[np.intp]) -> Block:
        """Return the given rows, transferred to this process."""
        rows = np.asarray(rows)
        chunk = np.searchsorted([stop for _, stop in self._ranges], rows, side="right")
        tasks = [
            delayed(getitem, pure=False)(self._chunks[i], rows[chunk == i] - self._ranges[i][0])
            for i in np.unique(chunk).tolist()
        ]
        found = _computed(tasks) if self._cluster is None else self._cluster.results(tasks)
        if not found:
            shape = 0, self.n_columns
            return sp.csr_array(shape, dtype=self.dtype) if self.is_sparse else np.empty(shape)
        order = np.argsort(np.argsort(chunk, kind="stable"), kind="stable")
        if self.is_sparse:
            return sp.csr_array(sp.vstack(found, format="csr"))[order]
        return np.concatenate(found)[order]

    def in_double_precision(self) -> DaskBlocks:
        """Return the same chunks, converted where they are stored."""
        return DaskBlocks(self._array.astype(np.float64), progress=self.progress)

    def run(self, result: Result, function: Callable[..., Any], *by_row: ByRow) -> Any:
        """Make one pass over all chunks in parallel."""
        call = function if self._cluster is None else _pickled(function, len(self._chunks))
        lists = [
            values.futures if isinstance(values, WorkerRows) else self._parts(values)
            for values in by_row
        ]
        tasks = [
            delayed(_call, pure=False)(call, *given)
            for given in zip(self._chunks, *lists, strict=True)
        ]
        if self._cluster is None:
            results = _computed(_added(tasks) if result == "sum" else tasks)
            found = self._collected(result, iter(results))
        else:
            found = self._cluster.finish(result, tasks, self._ranges)
        if self.progress is not None:
            self.progress(self.n_rows, self.n_rows)
        return found

    def place(self, values: NDArray[Any]) -> Rows:
        """Store an array beside the chunks."""
        if self._cluster is None:
            return super().place(values)
        tasks = [delayed(_same, pure=False)(part) for part in self._parts(values)]
        placed: WorkerRows = self._cluster.finish("rows", tasks, self._ranges)
        placed.whole = values
        return placed

    def _parts(self, values: ByRow) -> list[Any]:
        return [part_of(values, i, a, b) for i, (a, b) in enumerate(self._ranges)]


def _computed(tasks: Sequence[Delayed]) -> list[Any]:
    """Compute in threads of this process: Dask's processes are started anew for each pass."""
    return list(compute(*tasks, scheduler="threads"))


class WorkerRows(Rows):
    """Parts on the workers; those of a lost worker are recomputed.

    `whole` holds all parts as one array, once they have been transferred.
    """

    def __init__(self, cluster: Cluster, futures: list[Any], ranges: list[tuple[int, int]]) -> None:
        self._cluster, self.futures, self._ranges = cluster, futures, ranges
        self.n_rows = ranges[-1][1]
        self.whole: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.futures)

    def __getitem__(self, number: int) -> Part:
        found: Part = self._cluster.gathered([self.futures[number]])[0]
        return found

    def run(self, result: Result, function: Callable[..., Any], *others: Rows) -> Any:
        """Call the function on the workers."""
        call = _pickled(function, len(self))
        lists = [other.futures for other in (self, *others) if isinstance(other, WorkerRows)]
        if len(lists) <= len(others):
            raise TypeError("rows on the workers and rows of this process do not go together")
        tasks = [delayed(_call, pure=False)(call, *parts) for parts in zip(*lists, strict=True)]
        return self._cluster.finish(result, tasks, self._ranges)

    def array(self, function: Callable[[Any], NDArray[Any]] | None = None) -> NDArray[Any]:
        """Transfer the parts one at a time and return them as one array."""
        if function is not None:
            return self.map(function).array()
        if self.whole is None:
            parts = (self._cluster.gathered([future])[0] for future in self.futures)
            self.whole = joined(self.n_rows, parts)
        return self.whole


# Tasks


def _pickled(function: Callable[..., Any], tasks: int) -> Any:
    """Return a function as bytes, sent with each task, or as a task that all share if large.

    It is pickled once for the pass. Arrays in it are then aligned wherever it is unpickled.
    """
    frame: bytes = _distributed().protocol.pickle.dumps(function)
    if len(frame) * tasks <= BYTES_IN_TASKS:
        return frame
    return delayed(frame, name=f"provenmf-{uuid4().hex}", traverse=False)


def _call(function: Any, *given: Any) -> Any:
    """Call a function; BLAS gets one thread, since other tasks keep the cores busy."""
    keep_freed_memory()
    if isinstance(function, bytes):
        function = _distributed().protocol.pickle.loads(function)
    with at_most(1):
        return function(*map(aligned, given))


@cache
def keep_freed_memory() -> None:
    """Let a worker of Dask reuse freed memory, as a process does that Dask has not started.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, after which every array of more than
    128 kB gets fresh pages that the system clears first: more than a third of a worker's time.
    These are the limits up to which the C library would go by itself. Another number in the
    environment is the user's choice and stays.
    """
    if os.environ.get("MALLOC_TRIM_THRESHOLD_") == "65536":
        with suppress(AttributeError, OSError, TypeError):  # no mallopt on macOS and Windows
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(M_TRIM_THRESHOLD, 1 << 27)
            mallopt(M_MMAP_THRESHOLD, 1 << 25)


def _same(value: Any) -> Any:
    return value


def _added(tasks: list[Delayed]) -> list[Delayed]:
    """Add up tasks on the workers until a few are left, in the fixed tree."""
    while len(tasks) > FAN_IN:
        groups = (tasks[i : i + FAN_IN] for i in range(0, len(tasks), FAN_IN))
        tasks = [delayed(_sum, pure=False)(*some) for some in groups]
    return tasks


def _sum(*values: Any) -> Any:
    return tree_sum(values)


def aligned(value: Any) -> Any:
    """Copy arrays that are not aligned in memory; return others unchanged.

    Arrays from another worker may begin anywhere in its message. W'W of such an array is another
    routine of BLAS, which rounds differently: a lost worker would change the last bits.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if isinstance(value, tuple):
        return tuple(map(aligned, value))
    if sp.issparse(value):
        arrays = value.data, value.indices, value.indptr
        if not all(array.flags.aligned for array in arrays):
            return type(value)(aligned(arrays), shape=value.shape)
    return value


# Chunks


def _matrix(array: Any) -> Any:
    """Return a Dask array of two axes and known shape, or say what is needed."""
    frame = hasattr(array, "to_dask_array")
    if isinstance(array, Delayed) or not (frame or hasattr(array, "chunks")):
        raise InvalidInput(
            f"X is a Dask {type(array).__name__}: give a Dask array or frame (see "
            "dask.array.from_delayed)"
        )
    if frame:  # its columns are the features
        array = array.to_dask_array(lengths=True)
    # Chunks of objects may hold Python's numbers, as frames of pandas' own types do.
    numeric = array.dtype.kind in NUMBERS + "O"
    if array.ndim != 2 or not numeric or np.isnan(array.shape).any():
        raise InvalidInput(
            f"X is a Dask array of shape {array.shape} and type {array.dtype}; a real matrix "
            "of known shape is needed (see dask.array.Array.compute_chunk_sizes)"
        )
    return array


def _in_rows(array: Any, sparse: bool, block_rows: int | None) -> Any:
    """Return the array in chunks of whole rows, none of them empty."""
    dtype = np.dtype(float) if array.dtype == object else float_type(array.dtype)
    meta = sp.csr_array((0, 0)) if sparse else np.empty((0, 0), dtype)
    array = array.map_blocks(_as_rows, dtype, sparse, dtype=dtype, meta=meta)
    some = tuple(rows for rows in array.chunks[0] if rows)  # chunks may be empty
    return array.rechunk({0: block_rows or some or array.chunks[0], 1: -1})


def _as_rows(chunk: object, dtype: np.dtype[Any], sparse: bool, block_info: Any = None) -> Block:
    """Return a chunk as an array of numbers, or as sparse rows in canonical order."""
    if sparse != sp.issparse(chunk):
        raise InvalidInput(
            f"X is a Dask array with a chunk of type {type(chunk).__name__} that is declared "
            f"{'sparse' if sparse else 'dense'}: give the array the right meta, for sparse chunks "
            "meta=scipy.sparse.csr_array((0, 0))"
        )
    place, shape = block_info[0]["chunk-location"], block_info[None]["chunk-shape"]
    try:
        if sparse:
            rows = own_rows(chunk).astype(dtype, copy=False)
        else:  # numpy alone would drop masks and imaginary parts
            rows = in_row_order(np.asarray(numbers(chunk, "it"), dtype=dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"chunk {place} of X, a Dask array, is not an array of numbers ({error}): see "
            "how it is computed"
        ) from error
    if rows.shape != shape:
        raise InvalidInput(
            f"chunk {place} of X, a Dask array, has shape {rows.shape} and is declared {shape}: "
            "give the array the right chunks"
        )
    return rows


# The cluster


def active_client() -> Any:
    """Return the client of a cluster, if that is where Dask computes now."""
    owner = getattr(_scheduler(), "__self__", None)
    return owner if type(owner).__module__.startswith("distributed.") else None


def _scheduler() -> Any:
    """Return the active Dask scheduler, or None if none was chosen."""
    try:
        return get_scheduler()
    except (RuntimeError, ValueError) as error:  # no client, an asynchronous one, a strange name
        raise InvalidInput(
            f"X is a Dask array, and Dask has nothing to compute it with ({error!s:.200}): make X "
            "again with a distributed.Client that is open and not asynchronous, or without one"
        ) from error


class Cluster:
    """A client of Dask whose errors say what was lost."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def finish(self, result: Result, tasks: list[Delayed], ranges: list[tuple[int, int]]) -> Any:
        """Return what a pass is to return from its tasks, one for each chunk."""
        if result == "sum":
            return tree_sum(self.results(_added(tasks)))
        if result == "each":
            return iter(self.results(tasks))
        if result == "rows":
            return WorkerRows(self, self.send(tasks), ranges)
        sums = _added([delayed(getitem, pure=False)(task, 0) for task in tasks])
        parts = [delayed(getitem, pure=False)(task, 1) for task in tasks]
        futures = self.send([*sums, *parts])
        rows = WorkerRows(self, futures[len(sums) :], ranges)
        return tree_sum(self.gathered(futures[: len(sums)])), rows

    def send(self, tasks: Sequence[Delayed]) -> list[Any]:
        """Submit the tasks and return their futures."""
        self._check()
        with _errors_named():
            futures: list[Any] = self.client.compute(list(tasks))
        return futures

    def gathered(self, futures: Sequence[Any]) -> list[Any]:
        """Return results, or an error that says what was lost."""
        self._check()
        with _errors_named():
            _wait(self.client, futures)
            found: list[Any] = self.client.gather(list(futures))
        return found

    def results(self, tasks: Sequence[Delayed]) -> list[Any]:
        """Return what the tasks return."""
        return self.gathered(self.send(tasks))

    def _check(self) -> None:
        if self.client.status in ("closing", "closed"):
            raise ClusterLost(
                "the Dask client is closed, and with it what was on the workers: make X again with "
                "an open client, and fit again"
            )


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Wait for all tasks, unless there are no workers left.

    Dask itself waits for ever for workers that are gone, paused, or not as a task wants them.
    """
    library = _distributed()
    waited = 0.0
    while True:
        try:
            with client.as_current(), _aside():
                library.wait(futures, timeout=LOOK)
            return
        except library.TimeoutError:
            trouble = _trouble(client)
        if trouble and not waited:
            warn_user(RuntimeWarning(f"{trouble}; waiting {PATIENCE:.0f} s for one"))
        waited = waited + LOOK if trouble else 0.0
        if waited > PATIENCE:
            raise ClusterLost(
                f"{trouble}, for more than {PATIENCE:.0f} s: see that workers run, have memory and "
                "the resources that X asks for, and fit again; with the checkpoint of this fit it "
                "goes on where it was"
            )


def _trouble(client: Any) -> str:
    """Return why no task can run, or an empty string."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    running = [name for name, each in workers.items() if each.get("status") != "paused"]
    if not running:
        which = f"all {len(workers)} workers are paused" if workers else "there are no workers"
        return f"the Dask cluster computes nothing, since {which}"
    if not any(client.processing(running).values()):
        return "none of the workers of the Dask cluster takes a task of this fit"
    return ""


@contextmanager
def _aside() -> Iterator[None]:
    """Secede from the worker's thread pool while waiting, if this is a task."""
    library = _distributed()
    try:
        library.get_worker()
        library.secede()
    except (ValueError, KeyError):  # not a task, or has seceded already
        yield
        return
    try:
        yield
    finally:
        library.rejoin()


@contextmanager
def _errors_named() -> Iterator[None]:
    """Translate Dask's errors about lost workers and unpicklable objects."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        yield
    except (CancelledError, KilledWorker, CommClosedError) as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise ClusterLost(
            f"the Dask cluster lost a part of X or of the work ({words:.300}): "
            "see that scheduler and workers run and have memory, make the array again, and fit "
            "again; with the checkpoint of this fit it goes on where it was"
        ) from error
    except (TypeError, AttributeError, PicklingError) as error:
        words = " ".join(str(error).split())
        if not re.search("pickle|serialize", words):
            raise
        raise InvalidInput(
            f"X, a Dask array, cannot be sent to the workers ({words:.200}): make it from "
            "functions and data that pickle takes, without locks, open files and the like"
        ) from error


def _futures_in(array: Any) -> list[Any]:
    """Return the futures of an array's persisted chunks."""
    with _errors_named():
        return list(_distributed().futures_of(array))


def _stored_bytes(cluster: Cluster, rows: Any) -> float:
    """Return the size of the chunks; sparse ones are computed once to know it."""
    if not sp.issparse(rows._meta):
        return float(rows.nbytes)
    sizes = [delayed(_bytes_of, pure=False)(chunk) for chunk in rows.to_delayed().ravel()]
    return float(sum(cluster.results(sizes)))


def _bytes_of(block: Any) -> int:
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)


def _workers(client: Any) -> list[dict[str, Any]]:
    """Return what the scheduler knows of each worker."""
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


def _distributed() -> Any:
    import distributed

    return distributed  # it says nothing about types
