"""Hostile input where data are larger than memory: chunks, files, clusters, checkpoints, budgets.

    python tests/adversarial/hostile_scale.py [--quick] [--kind "Dask chunks" …] [--case masked] [--show]

Each case must end as if its data were a plain array in memory (the same anchors, factors that agree
to rounding), or in one line of an error of provenmf's own. Anything else is a failure: another
exception, an answer that differs, a crash, or no end within `SECONDS`. What a function of the user
raises while it makes a chunk comes through as it is, and counts as right. The table counts both ends and
the failures of each kind of input; failures are printed below it, and the exit code is then 1.
Cases run in a process of their own (`tests/adversarial/pool.py`), and those that signal, fork or fill a disk
in another one below it. All data are made here. `--quick` leaves out the cases that wait or that start
processes.
"""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import dask
import dask.array as da
import distributed
import numpy as np
import pool
import scipy.io
import scipy.sparse as sp
from commands import typed
from oracles import hold

from provenmf import Checkpoint, ProvenmfError, factorize, find_topics, load, resources
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.io import convert as converting
from provenmf.io.records import load_snapshot
from provenmf.io.rows import convert
from provenmf.methods import make_estimator

SECONDS = 60.0
K = 3
FEW: dict[str, dict[str, Any]] = {"spa": {}, "hals": {"max_iter": 4}, "cones": {}}
rng = np.random.default_rng(0)
MIXED = np.vstack([np.eye(K), rng.dirichlet(np.ones(K), 37)])
X = np.round(MIXED @ (60 * rng.random((K, 8)) + 40 * np.eye(K, 8))).astype(np.float64)
SPARSE = sp.csr_array(X * (X > 20))


class Case(NamedTuple):
    """What is tried, how, and how it must end: "right", "refused", or either (None)."""

    name: str
    run: Callable[[], Any]
    end: str | None = None
    slow: bool = False


def model(method: str = "spa", **options: Any) -> Any:
    return make_estimator(method, K, **{"random_state": 0, **FEW[method], **options})


def agree(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    """The same anchors and labels, and the same factors up to rounding."""
    for name in ("anchors", "labels"):
        one, other = getattr(found, name), getattr(expected, name)
        hold(np.array_equal(one, other), f"{name} are {one}, not {other}")
    for name in ("components", "weights"):
        one, other = getattr(found, name), getattr(expected, name)
        hold(one.shape == other.shape, f"{name} have shape {one.shape}, not {other.shape}")
        gap = np.abs(one - other).max() / max(np.abs(other).max(), 1e-300)
        hold(gap <= tolerance, f"{name} are off by {gap:.1e}")


def fits(given: Any, plain: Any, methods: tuple[str, ...] = ("spa", "hals"), **o: Any) -> None:
    """Fit what is given, or what a function returns, and the plain array."""
    for method in methods:
        data = given() if callable(given) else given
        found = model(method, **o).fit(data).factorization_
        expected = model(method, **o).fit(plain() if callable(plain) else plain).factorization_
        single = getattr(plain, "dtype", None) == np.float32
        agree(found, expected, 1e-3 if single else 1e-6)


def right(name: str, given: Any, plain: Any = X, **options: Any) -> Case:
    return Case(name, partial(fits, given, plain, **options), "right")


def refused(name: str, given: Any, method: str = "spa", *, slow: bool = False) -> Case:
    return Case(name, partial(fits, given, X, (method,)), "refused", slow)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        yield Path(name)


def in_folder(run: Callable[[], Any]) -> Callable[[], Any]:
    """The same in a new folder."""

    def inside() -> Any:
        with folder():
            return run()

    return inside


# Dask arrays in this process


def chunked(array: Any = X, rows: int = 9) -> Any:
    return da.from_array(array, chunks=(rows, -1))


def of_chunks(*chunks: Any, dtype: Any = float, meta: Any = None) -> Any:
    """A Dask array of what functions return, or of arrays."""
    parts = []
    for chunk in chunks:
        value = dask.delayed(chunk, pure=False)() if callable(chunk) else dask.delayed(chunk)
        shape = getattr(chunk, "shape", (20, 8))
        parts.append(da.from_delayed(value, shape, dtype=dtype, meta=meta))
    return da.concatenate(parts)


def changed(value: float, place: tuple[int, int] = (33, 4)) -> Any:
    out = X.copy()
    out[place] = value
    return out


def frozen(array: Any) -> Any:
    out = array.copy()
    out.flags.writeable = False
    return out


def masked() -> Any:
    return np.ma.masked_array(X[20:], mask=X[20:] > 50)


class ChunkFailed(Exception):
    """What a user's own function raises."""


def fails() -> Any:
    raise ChunkFailed("no such table")


def own_error(given: Callable[[], Any], words: str = "no such table") -> None:
    """The error of a user's function, or of the library that it calls, comes through as it is."""
    try:
        model().fit(given())
    except Exception as error:
        hold(words in str(error), f"the reason is lost: {error}")
        return
    hold(False, "a chunk that fails is not noticed")


def random_chunk() -> Any:
    return np.random.default_rng().random((20, 8))


SHARED = X[20:].copy()


def growing() -> Any:
    SHARED[:] *= 1.5
    return SHARED


def sparse_chunks(store: Any, array: Any = SPARSE, columns: int = -1, meta: Any = None) -> Any:
    dense = da.from_array(array.toarray(), chunks=(9, columns))
    return dense.map_blocks(store, dtype=float, meta=store((0, 0)) if meta is None else meta)


# fmt: off
def dask_chunks() -> list[Case]:
    kinds = ("f2", "g", "i1", "u1", "i2", "u8", "i8", ">f4", ">f8", ">i2", "f4")
    cases = [right(k, chunked(X.astype(k)), X.astype(k).astype("f4" if k[-2:] == "f4" else "f8")) for k in kinds]
    cases += [
        right("bool", chunked(X > 30), (X > 30).astype(float), methods=("spa",)),
        refused("complex", chunked(X + 1j)),
        refused("dates", chunked(X.astype("M8[s]"))),
        refused("words", chunked(X.astype("U5"))),
        Case("Python's numbers", partial(fits, chunked(X.astype(object)), X)),
        refused("objects", chunked(np.full((40, 8), "a", dtype=object))),
        refused("records", chunked(np.zeros((40, 8), dtype=[("a", float)]))),
        refused("complex, declared real", of_chunks(X[:20], lambda: X[20:] + 2j)),
        refused("dates, declared real", of_chunks(X[:20], lambda: X[20:].astype("M8[s]"))),
        refused("words, declared real", of_chunks(X[:20], lambda: X[20:].astype("U9"))),
        refused("records, declared real", of_chunks(X[:20], lambda: np.zeros((20, 8), dtype="f8,f8"))),
        right("whole numbers, declared real", of_chunks(X[:20], lambda: X[20:].astype(int))),
        right("real, declared whole", of_chunks(X[:20] + 0.5, X[20:] + 0.5, dtype="i8"), X + 0.5),
        right("double, declared single", of_chunks(X[:20], X[20:], dtype="f4"), X.astype("f4")),
        right("single, declared double", of_chunks(X[:20], X[20:].astype("f4"))),
        right("sparse double, declared single", of_chunks(*(sp.csr_array(p) for p in (X[:20], X[20:])), dtype="f4", meta=sp.csr_array((0, 0), dtype="f4")), X.astype("f4")),
        right("sparse of three types", of_chunks(SPARSE[:9].astype("f4"), SPARSE[9:20].astype("i4"), SPARSE[20:], meta=sp.csr_array((0, 0))), SPARSE),
        right("numpy.matrix", of_chunks(np.matrix(X[:20]), np.matrix(X[20:]))),
        right("lists", of_chunks(X[:20], lambda: X[20:].tolist())),
        right("Fortran order", of_chunks(np.asfortranarray(X[:20]), np.asfortranarray(X[20:]))),
        right("read-only", of_chunks(frozen(X[:20]), frozen(X[20:]))),
        right("backwards", of_chunks(X[::-1].copy()[::-1][:20], X[20:])),
        right("one row each", chunked(rows=1)),
        right("one for all", chunked(rows=40)),
        right("one column each", da.from_array(X, chunks=(7, 1))),
        right("one number each", da.from_array(X, chunks=(1, 1)), methods=("spa",)),
        right("a chunk of zeros", chunked(np.vstack([X, np.zeros((9, 8))])), np.vstack([X, np.zeros((9, 8))])),
        Case("zeros only", partial(fits, chunked(np.zeros((40, 8))), np.zeros((40, 8)))),
        right("lazy slices", chunked()[::-1][::-1]),
        right("lazy arithmetic", (chunked() * 2 + 0) / 2),
        right("transposed", chunked(X.T.copy(), 3).T),
        right("rows by index", chunked()[np.arange(40)]),
        right("broadcast", da.broadcast_to(X[:1], (40, 8)) * 0 + chunked()),
        right("overlapping names", da.concatenate([chunked(X[:20]), chunked(X[20:])])),
        right("masked, nothing under the mask", of_chunks(np.ma.masked_array(X[:20]), X[20:])),
        right("masked", lambda: of_chunks(X[:20], masked), lambda: np.vstack([X[:20], masked().filled(np.nan)]), methods=("hals",)),
        refused("masked, all entries needed", lambda: of_chunks(X[:20], masked)),
        right("da.ma.masked_greater", lambda: da.ma.masked_greater(chunked(), 50), lambda: np.where(X > 50, np.nan, X), methods=("hals",)),
        refused("unknown sizes", chunked()[chunked()[:, 0] > 0]),
        refused("no rows", da.zeros((0, 8))),
        refused("no columns", da.zeros((40, 0))),
        refused("one axis", da.ones(40)),
        refused("three axes", da.ones((4, 5, 6))),
        refused("no axis", da.ones(())),
        refused("fewer rows than declared", of_chunks(X[:20], lambda: X[:13])),
        refused("fewer columns in one chunk", of_chunks(X[:20], lambda: X[20:, :5])),
        refused("an extra axis", of_chunks(X[:20], lambda: X[20:, :, None])),
        refused("nothing", of_chunks(X[:20], lambda: None)),
        refused("a dictionary", of_chunks(X[:20], lambda: {"a": 1})),
        refused("sparse, declared dense", of_chunks(X[:20], lambda: sp.csr_array(X[20:]))),
        refused("dense, declared sparse", of_chunks(X[:20], X[20:], meta=sp.csr_array((0, 0)))),
        *(refused(f"{v} in one chunk", chunked(changed(v))) for v in (np.nan, np.inf, -np.inf)),
        *(refused(f"{v} in one sparse chunk", sparse_chunks(sp.csr_array, sp.csr_array(changed(v)))) for v in (np.nan, np.inf)),
        right("NaN in one chunk, HALS", chunked(changed(np.nan)), changed(np.nan), methods=("hals",)),
        refused("negative in one chunk", chunked(changed(-1)), "hals"),
        right("negative in one chunk, SPA", chunked(changed(-1)), changed(-1), methods=("spa",)),
        right("tiny", chunked(X * 1e-40), X * 1e-40),
        refused("too tiny", chunked(X * 1e-150)),
        refused("too large", chunked(X * 1e150)),
        *(right(s.__name__, sparse_chunks(s, meta=sp.csr_array((0, 0))), SPARSE) for s in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.lil_array, sp.dok_array, sp.bsr_array, sp.dia_array)),
        Case("a meta that Dask forgets", partial(fits, sparse_chunks(sp.dia_array), SPARSE), "refused"),
        right("sparse, columns in chunks", sparse_chunks(sp.csr_array, SPARSE, 3), SPARSE),
        right("sparse matrices, columns in chunks", sparse_chunks(sp.csr_matrix, SPARSE, 3), SPARSE),
        Case("a chunk that fails", partial(own_error, lambda: of_chunks(X[:20], fails)), "right"),
        refused("another matrix each time", lambda: of_chunks(X[:20], random_chunk)),
        refused("another matrix each time, HALS", lambda: of_chunks(X[:20], random_chunk), "hals"),
        refused("a function that changes its data", lambda: of_chunks(X[:20], growing)),
        Case("the user's array stays", untouched, "right"),
        Case("transform other columns", lambda: model().fit(X).transform(chunked(X[:, :5])), "refused"),
        Case("score", score_in_chunks, "right"),
        *(Case(f"scheduler {s}", partial(with_scheduler, s), "right", slow=s == "processes") for s in ("synchronous", "threads", "processes")),
        Case("an executor as scheduler", with_executor, "right"),
        Case("fits in two threads", two_threads, "right"),
    ]
    return cases
# fmt: on


def untouched() -> None:
    ours, before = X.copy(), X.copy()
    for method in FEW:
        model(method).fit(chunked(ours))
    hold(np.array_equal(ours, before), "the user's array was changed")


def score_in_chunks() -> None:
    fitted = model("hals").fit(X)
    near, far = fitted.score(X), fitted.score(chunked())
    hold(abs(near - far) <= 1e-9 * abs(near), f"the score is {far}, not {near}")


def with_scheduler(name: str) -> None:
    with dask.config.set(scheduler=name):
        fits(chunked(), X)


def with_executor() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as executor, dask.config.set(scheduler=executor):
        fits(chunked(), X)


def two_threads() -> None:
    wrong: list[BaseException] = []

    def run() -> None:
        try:
            fits(chunked(), X)
        except BaseException as error:
            wrong.append(error)

    several = [threading.Thread(target=run) for _ in range(3)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    if wrong:
        raise wrong[0]


# Dask frames


# fmt: off
def dask_frames() -> list[Case]:
    import dask.dataframe as dd
    import pandas as pd

    table = pd.DataFrame(X, columns=list("abcdefgh"))

    def frame(pandas: Any, parts: int = 3) -> Any:
        return dd.from_pandas(pandas, npartitions=parts)

    gaps = table.set_axis(np.arange(40) * 7 + 3)
    mixed = table.astype({"a": "i4", "b": "f4", "c": "u1"})
    nullable = table.astype("Float64")
    holes = nullable.mask(table > 50)
    return [
        right("plain", frame(table)),
        right("gaps in the index", frame(gaps)),
        right("index of words", frame(table.set_axis([f"{i:03}" for i in range(40)]))),
        right("names that are numbers", frame(table.set_axis(range(8), axis=1))),
        right("types that differ", frame(mixed)),
        right("single precision", frame(table.astype("f4")), X.astype("f4")),
        right("bool beside numbers", lambda: frame(table.assign(a=table.a > 30)), lambda: table.assign(a=table.a > 30).to_numpy(float)),
        right("pandas' own numbers", lambda: frame(nullable)),
        right("pandas' own whole numbers", lambda: frame(table.astype("Int64"))),
        right("numbers of Arrow", lambda: frame(table.astype("double[pyarrow]"))),
        right("cells that are missing", lambda: frame(holes), lambda: np.where(X > 50, np.nan, X), methods=("hals",)),
        refused("cells that are missing, SPA", lambda: frame(holes)),
        refused("categories", lambda: frame(table.assign(a=pd.Categorical(["x", "y"] * 20)))),
        Case("categories of numbers", lambda: fits(frame(table.assign(a=table.a.astype("category"))), X)),
        refused("words", lambda: frame(table.assign(a="x"))),
        refused("dates", lambda: frame(table.assign(a=pd.Timestamp(0)))),
        refused("a series", lambda: frame(table).a),
        refused("no rows", lambda: frame(table[:0], 1)),
        refused("no columns", lambda: frame(table[[]], 1)),
        right("empty partitions", lambda: frame(table)[frame(table).a >= 0]),
        right("filtered", lambda: frame(table)[frame(table).a > 30], lambda: X[X[:, 0] > 30]),
        right("one partition a row", lambda: frame(table, 40), methods=("spa",)),
        right("from delayed parts", lambda: dd.from_delayed([dask.delayed(table[:17]), dask.delayed(table[17:])])),
        Case("parts with other columns", lambda: own_error(lambda: frame(table).map_partitions(lambda part: part[["a"]] if part.index[0] else part, meta=table[:0]), "do not match"), "right"),
        refused("a group", lambda: frame(table).groupby("a")),
        refused("an index", lambda: frame(table).index),
    ]
# fmt: on


# Clusters


@contextlib.contextmanager
def cluster(workers: int = 2, **options: Any) -> Iterator[tuple[Any, Any]]:
    settings = {"processes": False, "threads_per_worker": 1, "dashboard_address": None, **options}
    with (
        distributed.LocalCluster(n_workers=workers, silence_logs=50, **settings) as made,
        distributed.Client(made) as client,
    ):
        yield made, client


def on_cluster(run: Callable[[], Any], **options: Any) -> Callable[[], Any]:
    def inside() -> Any:
        with cluster(**options):
            return run()

    return inside


def impatient(seconds: float = 3.0) -> Any:
    """Do not wait a minute for workers that will never come."""
    from unittest import mock

    return mock.patch("provenmf.data.dask.PATIENCE", seconds, create=True)


def no_workers() -> None:
    with cluster(0), impatient():
        model().fit(chunked())


def late_worker() -> None:
    with cluster(0) as (made, _):
        timer = threading.Timer(1.0, made.scale, (1,))
        timer.start()
        try:
            fits(chunked(), X, ("spa",))
        finally:
            timer.join()


def adaptive() -> None:
    with cluster(0) as (made, _):
        made.adapt(minimum=0, maximum=2, interval="100ms")
        fits(chunked(), X, ("spa",))


def in_mid_fit(event: Callable[[Any, Any], Any], **options: Any) -> None:
    """Something happens to the cluster after the second iteration."""
    rows: list[Any] = []
    with cluster(**options) as (made, client), impatient():

        def callback(row: Any) -> None:
            rows.append(row)
            if len(rows) == 2:
                event(made, client)

        chosen = {"callback": callback, "init": "spa", "tol": 0, "certify": False}
        found = model("hals", **chosen).fit(chunked()).factorization_
        expected = model("hals", **{**chosen, "callback": None}).fit(X).factorization_
        agree(found, expected)


def lose_all(made: Any, client: Any) -> None:
    made.scale(0)
    while client.scheduler_info(n_workers=-1)["workers"]:
        time.sleep(0.05)


def pause(made: Any, client: Any) -> None:
    from distributed.core import Status

    for worker in made.workers.values():  # without a memory limit nobody lets them go on
        worker.status = Status.paused
    time.sleep(1.5)


def paused_from_the_start() -> None:
    with cluster(memory_limit=0) as (made, client), impatient():
        pause(made, client)
        model().fit(chunked())


def pause_and_go_on(made: Any, client: Any) -> None:
    from distributed.core import Status

    workers = list(made.workers.values())
    pause(made, client)
    resume = threading.Timer(1.0, lambda: [setattr(w, "status", Status.running) for w in workers])
    resume.start()


def on_worker() -> None:
    """A fit to a Dask array inside a task of the only worker."""
    with cluster(1) as (_, client):
        found = client.submit(_fit_in_a_task, X).result(timeout=SECONDS - 20)
        expected = model().fit(X)
        hold(np.array_equal(found, expected.anchors_), "other anchors in a task")


def _fit_in_a_task(array: Any) -> Any:
    return model().fit(da.from_array(array, chunks=(9, -1))).anchors_


def several_fits() -> None:
    with cluster(2):
        two_threads()


@contextlib.asynccontextmanager
async def asynchronous_client() -> Any:
    async with (
        distributed.LocalCluster(
            n_workers=1, processes=False, asynchronous=True, dashboard_address=None
        ) as made,
        distributed.Client(made, asynchronous=True),
    ):
        yield


def asynchronous() -> None:
    import asyncio

    async def run() -> None:
        async with asynchronous_client():
            model().fit(chunked())

    asyncio.run(run())


def asynchronous_elsewhere() -> None:
    """An asynchronous client in an event loop; the fit runs in a thread beside it."""
    import asyncio

    async def run() -> None:
        async with asynchronous_client():
            await asyncio.to_thread(fits, chunked(), X, ("spa",))

    asyncio.run(run())


def closed_before() -> None:
    with cluster() as (_, client):
        array = chunked().persist()
        distributed.wait(array)
    model().fit(array)


def other_client() -> None:
    """Chunks on one cluster, and the current client is that of another one."""
    with cluster() as (_, first):
        array = first.persist(chunked())
        distributed.wait(array)
        with cluster(1), impatient():
            model().fit(array)


def small_workers() -> None:
    with cluster(2, memory_limit="200MB", processes=False), impatient():
        fits(chunked(np.tile(X, (50, 1))), np.tile(X, (50, 1)), ("spa",))


def resourceful() -> None:
    with cluster(1), dask.annotate(resources={"GPU": 1}), impatient():
        model().fit(chunked() + 0)


def exhausted() -> None:
    """Chunks that kill the worker that makes them."""
    with (
        cluster(1, processes=True),
        impatient(20),
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
    ):
        model().fit(of_chunks(X[:20], _die))


def _die() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def unpicklable() -> Any:
    lock = threading.Lock()
    return chunked().map_blocks(lambda block: block if lock else None, dtype=float, meta=X[:0])


def not_importable() -> Any:
    return of_chunks(X[:20], _gone)


class _Gone:
    def __reduce__(self) -> Any:
        return __import__, ("no_such_module",)

    def __call__(self) -> Any:
        return X[20:]


_gone = _Gone()


# fmt: off
def clusters() -> list[Case]:
    slow = partial(Case, slow=True)
    return [
        slow("two workers", on_cluster(lambda: fits(chunked(), X, tuple(FEW))), "right"),
        slow("sparse matrices", on_cluster(lambda: fits(sparse_chunks(sp.csr_matrix), SPARSE)), "right"),
        slow("sparse, columns in chunks", on_cluster(lambda: fits(sparse_chunks(sp.csr_array, SPARSE, 3), SPARSE)), "right"),
        slow("sparse of three types", on_cluster(lambda: fits(of_chunks(SPARSE[:9].astype("f4"), SPARSE[9:20].astype("i4"), SPARSE[20:], meta=sp.csr_array((0, 0))), SPARSE)), "right"),
        slow("masked", on_cluster(lambda: model().fit(of_chunks(X[:20], masked))), "refused"),
        slow("one row each", on_cluster(lambda: fits(chunked(rows=1), X, ("spa",))), "right"),
        slow("another matrix each time, kept", on_cluster(lambda: model().fit(of_chunks(X[:20], random_chunk))), "right"),
        slow("more workers than chunks", on_cluster(lambda: fits(chunked(rows=40), X), workers=4), "right"),
        slow("complex, declared real", on_cluster(lambda: model().fit(of_chunks(X[:20], lambda: X[20:] + 2j))), "refused"),
        slow("NaN in one chunk", on_cluster(lambda: model().fit(chunked(changed(np.nan)))), "refused"),
        slow("wrong shape", on_cluster(lambda: model().fit(of_chunks(X[:20], lambda: X[:13]))), "refused"),
        slow("a chunk that fails", on_cluster(lambda: own_error(lambda: of_chunks(X[:20], fails))), "right"),
        slow("no rows", on_cluster(lambda: model().fit(da.zeros((0, 8)))), "refused"),
        slow("no workers", no_workers, "refused"),
        slow("a worker that comes late", late_worker, "right"),
        slow("adaptive, from no worker", adaptive, "right"),
        slow("all workers leave in mid-fit", partial(in_mid_fit, lose_all), "refused"),
        slow("all workers paused in mid-fit", partial(in_mid_fit, pause, memory_limit=0), "refused"),
        slow("all workers paused for a while", partial(in_mid_fit, pause_and_go_on, memory_limit=0), "right"),
        slow("all workers paused from the start", paused_from_the_start, "refused"),
        slow("the client closes in mid-fit", partial(in_mid_fit, lambda _, client: client.close()), "refused"),
        slow("the cluster closes in mid-fit", partial(in_mid_fit, lambda made, _: made.close()), "refused"),
        slow("restarted in mid-fit", partial(in_mid_fit, lambda _, client: client.restart(), processes=True, workers=1), None),
        slow("a fit in a task of the only worker", on_worker, "right"),
        slow("three fits at a time", several_fits, "right"),
        slow("asynchronous client", asynchronous, "refused"),
        slow("asynchronous client, in a thread", asynchronous_elsewhere, None),
        slow("chunks of a client that is closed", closed_before, "refused"),
        slow("chunks of another cluster", other_client, None),
        slow("workers with little memory", small_workers, None),
        slow("a resource that no worker has", resourceful, "refused"),
        slow("chunks that kill their worker", exhausted, "refused"),
        slow("a function that cannot be sent", on_cluster(lambda: model().fit(unpicklable()), processes=True), None),
        slow("a function that cannot be unpacked", on_cluster(lambda: model().fit(not_importable()), processes=True), None),
    ]
# fmt: on


# Weights that stay on the workers


def with_lazy_weights(use: Callable[[Any], Any], *, after: bool = False) -> None:
    """Use a fit whose weights are on the workers, while they are there or `after` they are gone."""
    from unittest import mock

    with mock.patch("provenmf.methods.base.LEFT_ON_WORKERS", 0), folder():
        with cluster(1):
            fitted = model(certify=False).fit(chunked())
            if not after:
                use(fitted)
        if after:
            use(fitted)


def the_same(found: Any) -> None:
    agree(found, model(certify=False).fit(X).factorization_)


def saved_and_loaded(fitted: Any) -> None:
    fitted.factorization_.save("r.npz")
    the_same(load("r.npz"))


def saved_after(fitted: Any) -> None:
    Path("r.npz").write_bytes(b"what was there before")
    try:
        fitted.factorization_.save("r.npz")
    finally:
        hold(Path("r.npz").read_bytes() == b"what was there before", "the old file is gone")


# fmt: off
def lazy_weights() -> list[Case]:
    from sklearn.base import clone

    from provenmf.report import page

    uses: dict[str, Callable[[Any], Any]] = {
        "copy.deepcopy": lambda m: the_same(copy.deepcopy(m).factorization_),
        "copy.copy": lambda m: the_same(copy.copy(m).factorization_),
        "pickle": lambda m: the_same(pickle.loads(pickle.dumps(m)).factorization_),
        "save": saved_and_loaded,
        "report": lambda m: page.write(m.factorization_, "r.html"),
        "equality": lambda m: hold(m.factorization_ == m.factorization_, "unequal to itself"),
        "weights_as_dask": lambda m: hold(m.factorization_.weights_as_dask().compute().shape == (40, K), "shape"),
        "transform": lambda m: hold(m.transform(X).shape == (40, K), "shape"),
    }
    harmless: dict[str, Callable[[Any], Any]] = {
        "clone": lambda m: the_same(clone(m).fit(X).factorization_),
        "repr": lambda m: hold("40 rows" in repr(m.factorization_), "shape"),
        "fit again": lambda m: the_same(m.fit(X).factorization_),
        "transform": uses["transform"],
    }
    cases = [Case(name, partial(with_lazy_weights, use), "right", True) for name, use in (uses | harmless).items()]
    for name, use in (uses | harmless).items():
        end = "right" if name in harmless else None if name in ("copy.copy", "equality") else "refused"
        use = saved_after if name == "save" else use
        cases.append(Case(f"{name}, client closed", partial(with_lazy_weights, use, after=True), end, True))
    return cases
# fmt: on


# Files of NumPy


def npy(array: Any, name: str = "m.npy", **options: Any) -> str:
    with open(name, "wb") as file:
        np.lib.format.write_array(file, array, **options)
    return name


def on_disk(
    name: str, make: Callable[[], Any], plain: Any = X, end: str | None = "right", **o: Any
) -> Case:
    """What `make` returns after it wrote files in a new folder."""
    return Case(name, in_folder(lambda: fits(make(), plain, **o)), end)


def npy_refused(name: str, make: Callable[[], Any]) -> Case:
    return on_disk(name, make, end="refused", methods=("spa",))


def with_header(text: str, content: bytes = X.tobytes()) -> str:
    header = text.encode("latin1") + b"\n"
    Path("m.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
    )
    return "m.npy"


def shown(descr: str = "'<f8'", order: str = "False", shape: str = "(40, 8)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def private_map() -> Any:
    """A map whose changes are in this process only."""
    np.save("m.npy", X * 2)
    mapped = np.load("m.npy", mmap_mode="c")
    mapped[:] = X
    return mapped


def unflushed() -> Any:
    mapped = np.lib.format.open_memmap("m.npy", mode="w+", dtype=float, shape=X.shape)
    mapped[:] = X
    return mapped


def raw_map(order: str = "C", offset: int = 0, mode: str = "r") -> Any:
    Path("m.bin").write_bytes(b"\0" * offset + X.tobytes(order))
    return np.memmap("m.bin", dtype=float, mode=mode, shape=X.shape, order=order, offset=offset)


def deleted_map() -> Any:
    mapped = raw_map()
    os.unlink("m.bin")
    return mapped


# fmt: off
def npy_files() -> list[Case]:
    kinds = ("f2", "g", "i1", "u1", ">i2", "u8", "i8", ">f8", "f4", ">f4", "?")
    cases = []
    for kind, order in itertools.product(kinds, "CF"):
        array = np.array((X > 30) if kind == "?" else X, dtype=kind, order=order)
        plain = array.astype("f4" if kind[-2:] == "f4" else "f8", order="C")
        cases.append(on_disk(f"{kind}, {order} order", partial(npy, array), plain, methods=("spa", "hals") if kind in ("f4", ">f8") else ("spa",)))
    for version in ((1, 0), (2, 0), (3, 0)):
        cases.append(on_disk(f"version {version[0]}", partial(npy, X, version=version)))
    cases += [
        on_disk("trailing bytes", lambda: with_header(shown(), X.tobytes() + b"\0" * 99)),
        on_disk("header of one line with spaces", lambda: with_header(shown() + " " * 900)),
        *(npy_refused(n, partial(with_header, h)) for n, h in {
            "negative shape": shown(shape="(-40, 8)"), "huge shape": shown(shape="(4000000000, 8)"),
            "more than 64 bits": shown(shape="(99999999999999999999, 8)"), "true shape": shown(shape="(True, 8)"),
            "real shape": shown(shape="(40.0, 8)"), "no shape": "{'descr': '<f8', 'fortran_order': False}",
            "a call": "__import__('os').getcwd()", "deep header": "(" * 5000, "long header": shown() + " " * 20000,
            "objects": shown("'|O'"), "complex": shown("'<c16'", shape="(20, 8)"), "words": shown("'<U2'"),
            "dates": shown("'<M8[s]'"), "records": shown("[('a', '<f4'), ('b', '<f4')]"),
            "empty words": shown("'|V0'"), "one axis": shown(shape="(320,)"), "no axis": shown(shape="()"),
            "three axes": shown(shape="(10, 4, 8)"), "no rows": shown(shape="(0, 8)"), "no columns": shown(shape="(40, 0)"),
        }.items()),
        npy_refused("nothing in it", lambda: (Path("m.npy").touch(), "m.npy")[1]),
        npy_refused("magic only", lambda: (Path("m.npy").write_bytes(b"\x93NUMPY"), "m.npy")[1]),
        npy_refused("version 9", lambda: (Path("m.npy").write_bytes(b"\x93NUMPY\x09\x00" + bytes(200)), "m.npy")[1]),
        npy_refused("truncated", lambda: with_header(shown(), X.tobytes()[:-8])),
        npy_refused("pickled objects", lambda: npy(X.astype(object), allow_pickle=True)),
        npy_refused("NaN in the last row", lambda: npy(changed(np.nan, (39, 7)))),
        on_disk("map, r", lambda: np.load(npy(X), mmap_mode="r")),
        on_disk("map, r+", lambda: np.load(npy(X), mmap_mode="r+")),
        on_disk("map, c", lambda: np.load(npy(X), mmap_mode="c")),
        on_disk("map, c, changed here", private_map),
        on_disk("map, w+, not flushed", unflushed),
        on_disk("raw map", raw_map),
        on_disk("raw map, offset", lambda: raw_map(offset=24)),
        on_disk("raw map, odd offset", lambda: raw_map(offset=13)),
        on_disk("raw map, Fortran, offset", lambda: raw_map("F", 24)),
        on_disk("rows of a map", lambda: raw_map()[5:], X[5:]),
        on_disk("columns of a map", lambda: raw_map()[:, 1:], X[:, 1:]),
        on_disk("every second row", lambda: raw_map()[::2], X[::2]),
        on_disk("rows from the end", lambda: raw_map()[::-1], X[::-1].copy()),
        on_disk("map transposed", lambda: raw_map().T, X.T.copy()),
        on_disk("map of another view", lambda: raw_map().view(np.memmap)),
        on_disk("map reshaped", lambda: raw_map().reshape(80, 4), X.reshape(80, 4)),
        on_disk("rows by index", lambda: raw_map()[np.arange(40)]),
        on_disk("map plus one", lambda: raw_map() + 1, X + 1),
        on_disk("map as another type", lambda: raw_map().astype("f4"), X.astype("f4")),
        on_disk("map of one axis", lambda: raw_map().ravel(), end="refused"),
        on_disk("a map whose file is gone", deleted_map, end=None),
        on_disk("pickled map", lambda: pickle.loads(pickle.dumps(raw_map()))),
    ]
    return cases
# fmt: on


# HDF5, zarr


def hdf5(write: Callable[[Any], Any], mode: str = "r") -> Any:
    import h5py

    with h5py.File("m.h5", "w") as file:
        write(file)
    return h5py.File("m.h5", mode)["X"]


def data_set(array: Any = X, **options: Any) -> Callable[[Any], Any]:
    return lambda file: file.create_dataset("X", data=array, **options)


def hdf5_damaged() -> Any:
    import h5py

    with h5py.File("m.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=(10, 8), compression="gzip")
        place = file["X"].id.get_chunk_info(2).byte_offset
    content = bytearray(Path("m.h5").read_bytes())
    content[place : place + 30] = bytes(30)
    Path("m.h5").write_bytes(content)
    return h5py.File("m.h5")["X"]


def hdf5_external() -> Any:
    Path("raw.bin").write_bytes(X.tobytes())
    return hdf5(lambda f: f.create_dataset("X", X.shape, "f8", external=[("raw.bin", 0, X.nbytes)]))


def hdf5_virtual(missing: bool = False) -> Any:
    import h5py

    with h5py.File("part.h5", "w") as file:
        file["Y"] = X
    layout = h5py.VirtualLayout(X.shape, "f8")
    layout[:] = h5py.VirtualSource("none.h5" if missing else "part.h5", "Y", X.shape)
    return hdf5(lambda f: f.create_virtual_dataset("X", layout, fillvalue=np.nan))


def closed(dataset: Any) -> Any:
    dataset.file.close()
    return dataset


# fmt: off
def hdf5_files() -> list[Case]:
    import h5py

    kinds = ("f2", "i1", "u8", ">f4", ">i4", "?", "f4")
    cases = [on_disk(k, lambda k=k: hdf5(data_set(((X > 30) if k == "?" else X).astype(k))), ((X > 30) if k == "?" else X).astype("f4" if k[-2:] == "f4" else "f8"), methods=("spa",)) for k in kinds]
    bad = partial(on_disk, end="refused", methods=("spa",))
    return [
        *cases,
        on_disk("chunks of one number", lambda: hdf5(data_set(chunks=(1, 1))), methods=("spa",)),
        on_disk("compressed, shuffled, checksums", lambda: hdf5(data_set(chunks=(7, 3), compression="gzip", shuffle=True, fletcher32=True))),
        on_disk("lzf, resizable", lambda: hdf5(data_set(maxshape=(None, None), compression="lzf"))),
        on_disk("external bytes", hdf5_external),
        on_disk("virtual", hdf5_virtual),
        bad("virtual, source missing, filled with NaN", lambda: hdf5_virtual(True)),
        on_disk("scale and offset", lambda: hdf5(data_set(X.astype("i4"), chunks=(10, 8), scaleoffset=0))),
        bad("never written, filled with NaN", lambda: hdf5(lambda f: f.create_dataset("X", X.shape, "f8", fillvalue=np.nan))),
        on_disk("opened for writing", lambda: hdf5(data_set(), "r+")),
        bad("a damaged chunk", hdf5_damaged),
        bad("a closed file", lambda: closed(hdf5(data_set()))),
        bad("a group", lambda: hdf5(lambda f: f.create_group("X"))),
        bad("the file", lambda: hdf5(data_set()).file),
        bad("a type", lambda: hdf5(lambda f: f.__setitem__("X", np.dtype("f8")))),
        bad("empty", lambda: hdf5(lambda f: f.__setitem__("X", h5py.Empty("f8")))),
        bad("one number", lambda: hdf5(data_set(3.0))),
        bad("one axis", lambda: hdf5(data_set(X[0]))),
        bad("three axes", lambda: hdf5(data_set(X.reshape(10, 4, 8)))),
        bad("words", lambda: hdf5(data_set([[b"a", b"b"]] * 5))),
        bad("complex", lambda: hdf5(data_set(X + 1j))),
        bad("records", lambda: hdf5(data_set(np.zeros((40, 8), "f8,f8")))),
        bad("lists", lambda: hdf5(lambda f: f.create_dataset("X", (40, 8), h5py.vlen_dtype(float)))),
        bad("references", lambda: hdf5(lambda f: f.create_dataset("X", (4, 8), h5py.ref_dtype))),
        on_disk("choices by number", lambda: hdf5(lambda f: f.create_dataset("X", data=X.astype("i2"), dtype=h5py.enum_dtype({"a": 1}, "i2"))), end=None),
        bad("no rows", lambda: hdf5(data_set(X[:0]))),
        bad("no columns", lambda: hdf5(data_set(X[:, :0]))),
        bad("the path of an HDF5 file", lambda: hdf5(data_set()).file.filename),
    ]
# fmt: on


def zarr_array(array: Any = X, **options: Any) -> Any:
    import zarr

    made = zarr.create_array("m.zarr", data=array, chunks=options.pop("chunks", (11, 5)), **options)
    return zarr.open_array("m.zarr", mode="r") if options.pop("reopen", True) else made


def chunk_files() -> list[Path]:
    return sorted(
        p
        for p in Path("m.zarr").rglob("*")
        if p.is_file() and not p.name.startswith((".z", "zarr.json"))
    )


def zarr_with(change: Callable[[Path], Any], **options: Any) -> Any:
    found = zarr_array(**options)
    change(chunk_files()[2])
    return found


# fmt: off
def zarr_arrays() -> list[Case]:
    import zarr

    bad = partial(on_disk, end="refused", methods=("spa",))
    cases = [on_disk(f"{k}, format {f}", lambda k=k, f=f: zarr_array(((X > 30) if k == "?" else X).astype(k), zarr_format=f), ((X > 30) if k == "?" else X).astype("f4" if k[-2:] == "f4" else "f8"), methods=("spa",)) for k in ("f2", "i1", "u8", "f4", "f8", "?") for f in (2, 3)]
    return [
        *cases,
        on_disk("big-endian, format 2", lambda: zarr_array(X.astype(">f8"), zarr_format=2)),
        on_disk("Fortran order", lambda: zarr_array(zarr_format=2, order="F")),
        on_disk("shards", lambda: zarr_array(chunks=(10, 4), shards=(20, 8))),
        on_disk("one chunk a number", lambda: zarr_array(chunks=(1, 1)), methods=("spa",)),
        on_disk("in memory", lambda: zarr.array(X, chunks=(9, 8))),
        bad("a missing chunk, filled with NaN", lambda: zarr_with(os.unlink, fill_value=np.nan)),
        bad("a truncated chunk", lambda: zarr_with(lambda p: p.write_bytes(p.read_bytes()[:9]))),
        bad("a chunk of zeros", lambda: zarr_with(lambda p: p.write_bytes(bytes(len(p.read_bytes()))))),
        bad("an empty chunk", lambda: zarr_with(lambda p: p.write_bytes(b""))),
        bad("a folder in the place of a chunk, filled with NaN", lambda: zarr_with(lambda p: (p.unlink(), p.mkdir()), fill_value=np.nan)),
        bad("a group", lambda: zarr.open_group("g.zarr", mode="w")),
        bad("one axis", lambda: zarr.array(X[0], chunks=3)),
        bad("words", lambda: zarr.array(X.astype("U4"), chunks=(9, 8))),
        bad("complex", lambda: zarr.array(X + 1j, chunks=(9, 8))),
        bad("no rows", lambda: zarr.create_array({}, shape=(0, 8), dtype="f8", chunks=(1, 8))),
        bad("the path of a zarr folder", lambda: (zarr_array(), "m.zarr")[1]),
        on_disk("through Dask", lambda: (zarr_array(), da.from_zarr("m.zarr"))[1]),
        Case("a truncated chunk through Dask", in_folder(lambda: own_error(lambda: (zarr_with(lambda p: p.write_bytes(p.read_bytes()[:9])), da.from_zarr("m.zarr"))[1], "ecompress")), "right"),
    ]
# fmt: on
# fmt: off
# fmt: on


# Sparse rows in files


def archive(name: str = "m.npz", compressed: bool = False, **parts: Any) -> str:
    """The file of scipy.sparse.save_npz, with some of its arrays replaced, or left out if None."""
    usual = {
        "indices": SPARSE.indices,
        "indptr": SPARSE.indptr,
        "data": SPARSE.data,
        "format": np.array(b"csr"),
        "shape": np.array(SPARSE.shape),
    }
    kept = {key: value for key, value in {**usual, **parts}.items() if value is not None}
    (np.savez_compressed if compressed else np.savez)(name, **kept)
    return name


def doubled() -> dict[str, Any]:
    """Every entry twice, half as large, the second time from the end."""
    indices = np.concatenate(
        [
            np.r_[SPARSE.indices[a:b], SPARSE.indices[a:b][::-1]]
            for a, b in itertools.pairwise(SPARSE.indptr)
        ]
    )
    data = np.concatenate(
        [
            np.r_[SPARSE.data[a:b], SPARSE.data[a:b][::-1]]
            for a, b in itertools.pairwise(SPARSE.indptr)
        ]
    )
    return {"indices": indices, "data": data / 2, "indptr": SPARSE.indptr * 2}


def shuffled() -> dict[str, Any]:
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in itertools.pairwise(SPARSE.indptr)])
    return {"indices": SPARSE.indices[order], "data": SPARSE.data[order]}


def int8_doubled() -> dict[str, Any]:
    """Entries of up to 100 twice: their sums exceed 127."""
    return {**doubled(), "data": (2 * doubled()["data"]).astype("i1")}


# fmt: off
def sparse_files() -> list[Case]:
    good = partial(on_disk, plain=SPARSE)
    bad = partial(on_disk, end="refused", methods=("spa",))
    pointers, indices = SPARSE.indptr, SPARSE.indices
    zipped = lambda kind: _rezipped(kind)  # noqa: E731
    return [
        good("unsorted", lambda: archive(**shuffled())),
        good("repeated", lambda: archive(**doubled())),
        good("repeated int8 that overflow", lambda: archive(**int8_doubled()), plain=2 * SPARSE),
        *(good(f"indices {k}", lambda k=k: archive(indices=indices.astype(k), indptr=pointers.astype(k))) for k in ("i8", "u4", "u8", ">i4", "i2")),
        *(good(f"numbers {k}", lambda k=k: archive(data=SPARSE.data.astype(k)), plain=SPARSE.astype("f4" if k[-2:] == "f4" else "f8")) for k in ("i1", "u8", "f2", "g", ">f8", ">f4", "f4")),
        good("stored zeros", lambda: archive(data=SPARSE.data * (SPARSE.data > 40)), plain=sp.csr_array(SPARSE.toarray() * (SPARSE.toarray() > 40))),
        good("format as text", lambda: archive(format=np.array("csr"))),
        good("more arrays beside", lambda: archive(more=np.ones(3))),
        bad("compressed", lambda: archive(compressed=True)),
        bad("bzip2", lambda: zipped(zipfile.ZIP_BZIP2)),
        bad("columns first", lambda: archive(format=np.array(b"csc"))),
        bad("an unknown format", lambda: archive(format=np.array(b"xyz"))),
        bad("format a list", lambda: archive(format=np.array([b"csr", b"csr"]))),
        *(bad(f"no {part}", lambda part=part: archive(**{part: None})) for part in ("indices", "indptr", "data", "format", "shape")),
        bad("index outside", lambda: archive(indices=np.where(indices == 7, 8, indices))),
        bad("negative index", lambda: archive(indices=np.where(indices == 7, -1, indices))),
        bad("huge index", lambda: archive(indices=np.where(indices == 7, 2**40, indices.astype("i8")))),
        bad("huge unsigned index", lambda: archive(indices=np.where(indices == 7, 2**63 + 5, indices.astype("u8")))),
        bad("real indices", lambda: archive(indices=indices.astype(float))),
        bad("pointers that fall", lambda: archive(indptr=np.r_[0, pointers[2], pointers[1], pointers[3:]])),
        bad("pointers from one", lambda: archive(indptr=np.r_[1, pointers[1:]])),
        bad("pointers that end early", lambda: archive(indptr=np.r_[pointers[:-1], pointers[-2]])),
        bad("pointers beyond", lambda: archive(indptr=np.r_[pointers[:-1], pointers[-1] + 4])),
        bad("too few pointers", lambda: archive(indptr=pointers[:-1])),
        bad("fewer numbers than indices", lambda: archive(data=SPARSE.data[:-1])),
        bad("numbers as a matrix", lambda: archive(data=SPARSE.data[:, None])),
        bad("complex", lambda: archive(data=SPARSE.data + 1j)),
        bad("words", lambda: archive(data=SPARSE.data.astype("U4"))),
        bad("NaN", lambda: archive(data=np.r_[SPARSE.data[:-1], np.nan])),
        *(bad(f"shape {s}", lambda s=s: archive(shape=np.array(s))) for s in ((39, 8), (40, 3), (40,), (40, 8, 1), (-40, 8), (40, 2**40), (2**40, 8))),
        bad("shape of real numbers", lambda: archive(shape=np.array([40.5, 8.0]))),
        bad("shape NaN", lambda: archive(shape=np.array([np.nan, 8.0]))),
        bad("no rows", lambda: archive(shape=np.array([0, 8]), indptr=np.array([0]), indices=indices[:0], data=SPARSE.data[:0])),
        on_disk("no entries", lambda: archive(indptr=0 * pointers, indices=indices[:0], data=SPARSE.data[:0]), plain=sp.csr_array((40, 8)), end=None),
        bad("truncated", lambda: (Path("m.npz").write_bytes(Path(archive()).read_bytes()[:-30]), "m.npz")[1]),
        bad("two members of one name", _twice),
    ]
# fmt: on


def _rezipped(kind: int) -> str:
    with zipfile.ZipFile(archive("a.npz")) as old, zipfile.ZipFile("m.npz", "w", kind) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return "m.npz"


def _twice() -> str:
    import warnings

    archive()
    out = io.BytesIO()
    np.save(out, SPARSE.data[:-3])
    with warnings.catch_warnings(), zipfile.ZipFile("m.npz", "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("data.npy", out.getvalue())
    return "m.npz"


# Files that change, and paths


def while_read(make: Callable[[], Any], change: Callable[[], Any]) -> None:
    """The file changes between two passes over it; the answer must not be of both."""
    blocks = as_blocks(make(), block_rows=10)
    before = blocks.map_reduce(lambda block: block.sum(axis=0))
    change()
    after = blocks.map_reduce(lambda block: block.sum(axis=0))
    hold(np.array_equal(before, after), "other numbers in the second pass")


def keeping_times(path: str, change: Callable[[], Any]) -> Callable[[], Any]:
    """As tools do that copy files with their times."""

    def run() -> None:
        before = os.stat(path)
        change()
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return run


def swapped(array: Any, save: Callable[[Any, str], Any], path: str) -> Callable[[], Any]:
    """Another file takes the place of the file, as programs save."""

    def run() -> None:
        save(array, "new")
        os.replace("new", path)

    return run


def saved(array: Any, path: str) -> None:
    with open(path, "wb") as file:
        np.save(file, array)


def overwritten() -> None:
    with open("m.npy", "r+b") as file:
        file.seek(-80, os.SEEK_END)
        file.write(np.full(10, 3.0).tobytes())


def shortened(path: str, size: int = 300) -> Callable[[], Any]:
    return lambda: os.truncate(path, size)


def longer(path: str) -> Callable[[], Any]:
    def run() -> None:
        with open(path, "ab") as file:
            file.write(bytes(640))

    return run


def fortran() -> str:
    return npy(np.asfortranarray(X))


# fmt: off
def changing_files() -> list[Case]:
    def of(name: str, make: Callable[[], Any], change: Callable[[], Any]) -> Case:
        return Case(name, in_folder(lambda: while_read(make, change)))

    other = X[::-1] + 1
    cases = []
    for name, make in {"rows": lambda: npy(X), "columns": fortran, "map": lambda: np.load(npy(X), mmap_mode="r"), "part of a map": lambda: np.load(npy(X), mmap_mode="r")[3:], "private map": lambda: np.load(npy(X), mmap_mode="c")}.items():
        cases += [
            of(f"{name}: overwritten", make, overwritten),
            of(f"{name}: shrinks", make, shortened("m.npy")),
            of(f"{name}: shrinks to nothing", make, shortened("m.npy", 0)),
            of(f"{name}: grows", make, longer("m.npy")),
            of(f"{name}: removed", make, lambda: os.unlink("m.npy")),
            of(f"{name}: replaced", make, swapped(other, saved, "m.npy")),
            of(f"{name}: replaced, times kept", make, keeping_times("m.npy", swapped(other, saved, "m.npy"))),
            of(f"{name}: a folder now", make, lambda: (os.unlink("m.npy"), os.mkdir("m.npy"))),
        ]
    cases += [
        of("sparse: shrinks", archive, shortened("m.npz")),
        of("sparse: removed", archive, lambda: os.unlink("m.npz")),
        of("sparse: replaced, times kept", archive, keeping_times("m.npz", lambda: (archive("new.npz", data=SPARSE.data + 1), os.replace("new.npz", "m.npz")))),
        of("HDF5: shrinks", lambda: hdf5(data_set()), shortened("m.h5")),
        of("HDF5: removed", lambda: hdf5(data_set()), lambda: os.unlink("m.h5")),
        of("zarr: a chunk shrinks", lambda: zarr_array(), lambda: chunk_files()[1].write_bytes(b"x")),
        of("link that leads elsewhere later", linked, relinked),
    ]
    return cases
# fmt: on


def linked() -> str:
    npy(X)
    os.symlink("m.npy", "link.npy")
    return "link.npy"


def relinked() -> None:
    times = os.stat("m.npy")
    npy(X + 1, "other.npy")
    os.utime("other.npy", ns=(times.st_atime_ns, times.st_mtime_ns))
    os.unlink("link.npy")
    os.symlink("other.npy", "link.npy")


def made(path: str, make: Callable[[str], Any]) -> Callable[[], str]:
    def run() -> str:
        make(path)
        return path

    return run


# fmt: off
def paths() -> list[Case]:
    cases = []
    for ending in (".npy", ".npz", ".parquet", ".zarr", ""):
        name = f"m{ending}"
        makers: dict[str, Callable[[str], Any]] = {
            "missing": lambda p: None,
            "a folder": os.mkdir,
            "a pipe": os.mkfifo,
            "a link to itself": lambda p: os.symlink(p, p),
            "a dangling link": lambda p: os.symlink("nowhere", p),
            "a link to a device": lambda p: os.symlink("/dev/zero", p),
            "a link to /dev/full": lambda p: os.symlink("/dev/full", p),
            "empty": lambda p: Path(p).touch(),
            "text": lambda p: Path(p).write_text("1,2\n3,4\n"),
            "random bytes": lambda p: Path(p).write_bytes(rng.bytes(300)),
        }
        cases += [on_disk(f"{ending or 'no ending'}: {w}", made(name, make), end="refused", methods=("spa",)) for w, make in makers.items()]
    cases += [
        on_disk("a name of 300 letters", lambda: "m" * 300 + ".npy", end="refused"),
        on_disk("a name with a zero byte", lambda: "m\0.npy", end="refused"),
        on_disk("the empty name", lambda: "", end="refused"),
        on_disk("bytes", lambda: b"m.npy", end="refused"),
        on_disk("capital ending", lambda: npy(X, "M.NPY")),
        on_disk("a Path", lambda: Path(npy(X))),
        on_disk("a link to a link", lambda: (npy(X), os.symlink("m.npy", "a.npy"), os.symlink("a.npy", "b.npy"), "b.npy")[-1]),
        on_disk("a name with a line feed", lambda: npy(X, "a\nb.npy")),
        on_disk("a name that is no text", lambda: npy(X, os.fsdecode(b"\xff.npy"))),
        on_disk("a process's memory", lambda: "/proc/self/mem", end="refused"),
        on_disk("a file of the kernel", lambda: "/proc/self/status", end="refused"),
    ]
    return cases
# fmt: on


# provenmf convert


def converts(make: Callable[[], Any], plain: Any, target: str) -> None:
    """The converted file holds the numbers of the source, and the fit is that of the source."""
    source = make()
    n_rows, stored = convert(source, target)
    found = np.load(target) if target.endswith(".npy") else sp.load_npz(target).toarray()
    expected = plain.toarray() if sp.issparse(plain) else np.asarray(plain)
    hold(n_rows == len(expected), f"{n_rows} rows are said")
    hold(found.shape == expected.shape, f"shape {found.shape}")
    gap = np.abs(found.astype(float) - expected.astype(float)).max(initial=0.0)
    hold(
        np.isnan(expected.astype(float)).any() or gap <= 1e-6 * max(1.0, expected.max(initial=0)),
        f"numbers are off by {gap}",
    )
    agree(model().fit(target).factorization_, model().fit(plain).factorization_, 1e-4)


def csv(rows: Any) -> str:
    Path("m.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return "m.csv"


def in_small_pieces(run: Callable[[], Any]) -> Callable[[], Any]:
    from unittest import mock

    def inside() -> Any:
        with (
            mock.patch.object(converting, "CHUNK_CHARACTERS", 64),
            mock.patch.object(converting, "CHUNK_BYTES", 500),
        ):
            return run()

    return inside


def h5ad(matrix: Any, **parts: Any) -> str:
    import h5py

    with h5py.File("m.h5ad", "w") as file:
        if not sp.issparse(matrix):
            file["X"] = matrix
            return "m.h5ad"
        group = file.create_group("X")
        group.attrs["shape"] = matrix.shape
        group.attrs["encoding-type"] = f"{matrix.format}_matrix"
        for part in ("data", "indices", "indptr"):
            group[part] = parts.get(part, getattr(matrix, part))
    return "m.h5ad"


def mtx(text: str) -> str:
    Path("m.mtx").write_text("%%MatrixMarket matrix " + text)
    return "m.mtx"


MTX = "".join(f"{i + 1} {j + 1} {SPARSE[i, j]:.0f}\n" for i, j in zip(*SPARSE.nonzero()))


# fmt: off
def conversions() -> list[Case]:
    sources: dict[str, tuple[Callable[[], Any], Any]] = {
        **{f"npy {k}": (partial(npy, X.astype(k)), X) for k in ("f2", "g", "i1", "u1", ">f8", ">i2", "u8", "f4")},
        "npy bool": (partial(npy, X > 30), (X > 30).astype(float)),
        "npy Fortran": (fortran, X),
        "npy version 3": (partial(npy, X, version=(3, 0)), X),
        "csv": (lambda: csv(X), X),
        "csv, whole numbers, then real": (lambda: csv([*X[:30].astype(int), *(X[30:] + 0.5)]), np.vstack([X[:30], X[30:] + 0.5])),
        "sparse": (archive, SPARSE),
        "sparse, unsorted": (lambda: archive(**shuffled()), SPARSE),
        "sparse, repeated": (lambda: archive(**doubled()), SPARSE),
        "sparse, repeated int8": (lambda: archive(**int8_doubled()), 2 * SPARSE),
        "sparse, repeated int8, compressed": (lambda: archive(compressed=True, **int8_doubled()), 2 * SPARSE),
        "sparse f2, repeated": (lambda: archive(**{**doubled(), "data": doubled()["data"].astype("f2")}), SPARSE),
        "sparse >f8, repeated": (lambda: archive(**{**doubled(), "data": doubled()["data"].astype(">f8")}), SPARSE),
        "sparse f2": (lambda: archive(data=SPARSE.data.astype("f2")), SPARSE),
        "sparse >f4": (lambda: archive(data=SPARSE.data.astype(">f4")), SPARSE.astype("f4")),
        "sparse bool": (lambda: archive(data=SPARSE.data > 0), (SPARSE > 0).astype(float)),
        "sparse g": (lambda: archive(data=SPARSE.data.astype("g")), SPARSE),
        "sparse, wide indices": (lambda: archive(indices=SPARSE.indices.astype(">i8"), indptr=SPARSE.indptr.astype("u8")), SPARSE),
        "sparse, compressed": (lambda: archive(compressed=True), SPARSE),
        "sparse columns": (lambda: (sp.save_npz("m.npz", SPARSE.tocsc()), "m.npz")[1], SPARSE),
        "h5ad": (lambda: h5ad(SPARSE), SPARSE),
        "h5ad, columns": (lambda: h5ad(SPARSE.tocsc()), SPARSE),
        "h5ad, dense i1": (lambda: h5ad(X.astype("i1")), X),
        "h5ad, dense f2": (lambda: h5ad(X.astype("f2")), X),
        "h5ad, f2": (lambda: h5ad(SPARSE, data=SPARSE.data.astype("f2")), SPARSE),
        "h5ad, repeated int8": (lambda: h5ad(SPARSE, **int8_doubled()), 2 * SPARSE),
        "h5ad, unsorted": (lambda: h5ad(SPARSE, **shuffled()), SPARSE),
        "mtx": (lambda: mtx(f"coordinate real general\n40 8 {SPARSE.nnz}\n" + MTX), SPARSE),
        "mtx, from the end": (lambda: mtx(f"coordinate integer general\n40 8 {SPARSE.nnz}\n" + "".join(reversed(MTX.splitlines(True)))), SPARSE),
        "mtx, repeated": (lambda: mtx(f"coordinate integer general\n40 8 {2 * SPARSE.nnz}\n" + MTX + MTX), 2 * SPARSE),
        "mtx, array": (lambda: (scipy.io.mmwrite("m.mtx", X), "m.mtx")[1], X),
    }
    cases = []
    for (name, (make, plain)), target in itertools.product(sources.items(), ("out.npz", "out.npy")):
        run = in_folder(in_small_pieces(partial(converts, make, plain, target)))
        cases.append(Case(f"{name} to {target[-3:]}", run, "right"))
    bad = {
        "complex": lambda: npy(X + 1j), "words": lambda: npy(X.astype("U3")), "objects": lambda: npy(X.astype(object), allow_pickle=True),
        "records": lambda: npy(np.zeros((4, 3), "f8,f8")), "one axis": lambda: npy(X[0]), "three axes": lambda: npy(X.reshape(10, 4, 8)),
        "truncated": lambda: with_header(shown(), X.tobytes()[:-8]), "pointers that fall": lambda: archive(indptr=SPARSE.indptr[::-1]),
        "index outside": lambda: archive(indices=SPARSE.indices + 5), "a csv of unequal rows": lambda: csv([*X, X[0, :3]]),
        "a csv with words far below": lambda: csv([*X, ["a"] * 8]),
    }
    for (name, make), target in itertools.product(bad.items(), ("out.npz", "out.npy")):
        cases.append(Case(f"{name} to {target[-3:]}", in_folder(in_small_pieces(partial(converted_badly, make, target))), "refused"))
    outputs = {
        "a folder": os.mkdir, "a pipe": os.mkfifo, "a link to /dev/full": lambda p: os.symlink("/dev/full", p),
        "a link to itself": lambda p: os.symlink(p, p), "a dangling link": lambda p: os.symlink("no/where", p), "the input": lambda p: os.symlink("m.npy", p), "the input by a second name": lambda p: os.link("m.npy", p),
    }
    for name, make in outputs.items():
        cases.append(Case(f"onto {name}", in_folder(partial(converted_onto, make)), "refused"))
    cases += [
        Case("to a name that is too long", in_folder(lambda: convert(npy(X), "o" * 300 + ".npz")), "refused"),
        Case("to a name with a zero byte", in_folder(lambda: convert(npy(X), "a\0.npz")), "refused"),
        Case("to another ending", in_folder(lambda: convert(npy(X), "out.csv")), "refused"),
        Case("into a missing folder", in_folder(lambda: convert(npy(X), "no/out.npz")), "refused"),
        Case("to the device of a pipe", in_folder(lambda: convert(npy(X), "/dev/stdout")), "refused"),
        Case("the source shrinks meanwhile", in_folder(in_small_pieces(partial(source_changes, shortened("m.npy")))), "refused", True),
        Case("the source grows meanwhile", in_folder(in_small_pieces(partial(source_changes, longer("m.npy")))), None, True),
        Case("the source is overwritten meanwhile", in_folder(in_small_pieces(partial(source_changes, overwritten))), "refused", True),
        Case("the command, a damaged file", in_folder(command_refuses), "right"),
        Case("a full disk", in_folder(full_disk), "right", True),
    ]
    return cases
# fmt: on


def converted_badly(make: Callable[[], Any], target: str) -> None:
    Path(target).write_bytes(b"what was there before")
    source = make()
    before = set(os.listdir())
    try:
        convert(source, target)
    finally:
        hold(Path(target).read_bytes() == b"what was there before", "the old file is gone")
        hold(set(os.listdir()) == before, "temporary files stay")


def converted_onto(make: Callable[[str], Any]) -> None:
    npy(X)
    content = Path("m.npy").read_bytes()
    make("out.npz")
    try:
        convert("m.npy", "out.npz")
    finally:
        hold(Path("m.npy").read_bytes() == content, "the input was overwritten")


def source_changes(change: Callable[[], Any]) -> None:
    """A file changes after its first block was written."""
    from unittest import mock

    npy(np.tile(X, (20, 1)))
    ordered, done = converting._sorted_rows, []

    def and_change(block: Any) -> Any:
        if not done:
            done.append(change())
        return ordered(block)

    with mock.patch.object(converting, "_sorted_rows", and_change):
        convert("m.npy", "out.npz")


def command_refuses() -> None:
    with_header(shown(), X.tobytes()[:-8])
    code, out, err = typed(["convert", "m.npy", "out.npz"])
    hold(code == 2 and err.count("\n") == 1 and not Path("out.npz").exists(), f"{code} {out}{err}")


def full_disk() -> None:
    """On a file system of 64 kB, or with a limit of that size where none can be mounted."""
    os.mkdir("small")
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", "small"], capture_output=True
    ).returncode
    try:
        npy(np.tile(rng.random((40, 8)), (50, 1)))
        code = "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        if not mounted:
            code += "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        code += "from provenmf.cli.main import main; main()"
        for target in ("small/o.npz", "small/o.npy"):
            done = subprocess.run(
                [sys.executable, "-c", code, "convert", "m.npy", target],
                capture_output=True,
                text=True,
            )
            hold(done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr[-500:])
            hold(not os.listdir("small"), "something stays on the full disk")
    finally:
        if mounted:
            subprocess.run(["umount", "small"], check=True)


# Checkpoints


def kept_fit(iterations: int = 6, data: Any = X, where: Any = "kept", **options: Any) -> Any:
    chosen = {"tol": 0, "init": "spa", "certify": False, **options}
    fitted = model("hals", **{**chosen, "max_iter": iterations})
    return fitted.fit(
        data, checkpoint=where if isinstance(where, Checkpoint) else Checkpoint(where, seconds=0)
    ).factorization_


def resumed(change: Callable[[], Any], **options: Any) -> Callable[[], Any]:
    """Three iterations, something happens to the folder, and three more."""

    def run() -> None:
        kept_fit(3)
        before = {path: path.read_bytes() for path in Path("kept").iterdir()}
        change()
        try:
            found = kept_fit(6, **options)
        except ProvenmfError:
            if options:  # the folder of the other fit is as it was
                now = {path: path.read_bytes() for path in Path("kept").iterdir()}
                hold(now == before, "a refused fit changed the checkpoint")
            raise
        bits(found)

    return in_folder(run)


def bits(found: Any) -> None:
    expected = kept_fit(6, where="undisturbed")
    for name in ("weights", "components"):
        hold(getattr(found, name).tobytes() == getattr(expected, name).tobytes(), f"other {name}")


def run_file() -> Path:
    return next(Path("kept").glob("*-hals.npz"))


def flipped(place: float) -> Callable[[], Any]:
    def run() -> None:
        content = bytearray(run_file().read_bytes())
        content[int(place * (len(content) - 1))] ^= 0x10
        run_file().write_bytes(content)

    return run


def cut(share: float, name: str | None = None) -> Callable[[], Any]:
    def run() -> None:
        path = run_file() if name is None else Path("kept", name)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    return run


def instead(make: Callable[[str], Any], which: Callable[[], Path]) -> Callable[[], Any]:
    def run() -> None:
        path = which()
        path.unlink()
        make(str(path))

    return run


def edited(old: str, new: str) -> Callable[[], Any]:
    def run() -> None:
        path = Path("kept", "fit.json")
        text = path.read_text()
        hold(old in text, f"no {old} in fit.json")
        path.write_text(text.replace(old, new))

    return run


def leftover() -> None:
    """What a process that was killed in mid-writing leaves."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    Path("kept", f".{run_file().name}.{gone.pid}.abcd.part").write_bytes(b"half a file")


SCRIPT = """
import sys, numpy as np
from provenmf import HALS, Checkpoint
X = np.load("m.npy")
model = HALS(3, random_state=0, max_iter=int(sys.argv[1]), tol=0, init="spa", certify=False, on_interrupt=sys.argv[2])
found = model.fit(X, checkpoint=Checkpoint("kept", seconds=0)).factorization_
np.save(sys.argv[3], found.weights)
"""


def process(
    iterations: int, on_interrupt: str = "raise", answer: str = "answer.npy", **o: Any
) -> Any:
    command = [
        sys.executable,
        "-c",
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + SCRIPT,
        str(iterations),
        on_interrupt,
        answer,
    ]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **o)


def signalled(*signals: int, on_interrupt: str = "raise") -> None:
    """Signals in mid-fit; what is left goes on and ends with the bits of an undisturbed fit."""
    npy(X)
    child = process(10**6, on_interrupt)
    while not list(Path("kept").glob("*hals.npz")):
        hold(child.poll() is None, "the fit ended early")
        time.sleep(0.05)
    time.sleep(0.3)
    for number in signals:
        child.send_signal(number)
        time.sleep(0.1)
    try:
        child.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        child.kill()
        hold(False, "signals do not end it")
    done = load_snapshot(run_file())["done"]
    options = {"tol": 0, "init": "spa", "certify": False}
    again = model("hals", **{**options, "max_iter": done + 3}).fit(X, checkpoint="kept")
    plain = model("hals", **{**options, "max_iter": done + 3}).fit(X)
    hold(again.components_.tobytes() == plain.components_.tobytes(), "other bits after a signal")


def two_processes() -> None:
    npy(X)
    children = [process(400, answer=f"{i}.npy") for i in range(2)]
    said = [child.communicate(timeout=80)[1] for child in children]
    ended = [i for i, child in enumerate(children) if child.returncode == 0]
    hold(ended, f"neither ends: {said[0][-400:]}")
    for i, text in enumerate(said):
        hold(i in ended or "provenmf.errors" in text.splitlines()[-1], text[-500:])
    plain = model("hals", tol=0, init="spa", certify=False, max_iter=400).fit(X)
    for i in ended:
        hold(np.load(f"{i}.npy").tobytes() == plain.factorization_.weights.tobytes(), "other bits")


def full_folder() -> None:
    """The file system of the checkpoint is full after some iterations."""
    os.mkdir("kept")
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "none", "kept"], capture_output=True
    ).returncode
    if not mounted:
        return
    try:
        kept_fit(3)
        before = run_file().read_bytes()
        room = os.statvfs("kept")
        Path("kept", "fill").write_bytes(bytes(room.f_bavail * room.f_frsize))
        found = kept_fit(6)
        hold(run_file().read_bytes() == before, "the last checkpoint is gone")
        bits(found)
        os.unlink("kept/fill")
        bits(kept_fit(6))
    finally:
        subprocess.run(["umount", "kept"], check=True)


# fmt: off
def checkpoints() -> list[Case]:
    identity = lambda: Path("kept", "fit.json")  # noqa: E731
    other = {"a pipe": os.mkfifo, "a folder": os.mkdir, "a link to itself": lambda p: os.symlink(Path(p).name, p), "a dangling link": lambda p: os.symlink("no/where", p), "a link to a device": lambda p: os.symlink("/dev/zero", p), "empty": lambda p: Path(p).touch()}
    cases = [
        Case("nothing happens", resumed(lambda: None), "right"),
        *(Case(f"state: {n}", resumed(instead(m, run_file)), None if "link" in n else "refused") for n, m in other.items()),
        *(Case(f"fit.json: {n}", resumed(instead(m, identity)), "refused") for n, m in other.items()),
        *(Case(f"a bit flipped at {p:.0%}", resumed(flipped(p))) for p in np.linspace(0, 1, 12)),
        *(Case(f"truncated to {s:.0%}", resumed(cut(s)), "refused") for s in (0, 0.01, 0.3, 0.9, 0.99)),
        *(Case(f"fit.json truncated to {s:.0%}", resumed(cut(s, "fit.json")), "refused") for s in (0, 0.2, 0.9)),
        Case("state removed", resumed(lambda: run_file().unlink()), "right"),
        Case("fit.json removed", resumed(lambda: identity().unlink()), None),
        Case("all removed", resumed(lambda: [p.unlink() for p in Path("kept").iterdir()]), "right"),
        Case("half a file of a killed process", resumed(leftover), "right"),
        Case("foreign files beside", resumed(lambda: Path("kept", "notes.txt").write_text("a")), "right"),
        Case("another version", resumed(edited('"version": "', '"version": "9')), "refused"),
        Case("another seed", resumed(edited('"seed": ', '"seed": 1')), "refused"),
        Case("seed a text", resumed(edited('"seed": ', '"seed": "a", "b": ')), "refused"),
        Case("deep JSON", resumed(lambda: identity().write_text("[" * 100_000)), "refused"),
        Case("other data", resumed(lambda: None, data=changed(3.0)), "refused"),
        Case("other rows", resumed(lambda: None, data=X[:30]), "refused"),
        Case("other order of rows", resumed(lambda: None, data=X[::-1].copy()), "refused"),
        Case("single precision", resumed(lambda: None, data=X.astype("f4")), "refused"),
        Case("another tolerance", resumed(lambda: None, tol=1e-9), "refused"),
        Case("another seed of ours", resumed(lambda: None, random_state=3), "refused"),
        Case("the same in Fortran order", resumed(lambda: None, data=np.asfortranarray(X)), "right"),
        Case("folder is a file", in_folder(lambda: (Path("kept").touch(), kept_fit())), "refused"),
        Case("folder in a file", in_folder(lambda: (Path("f").touch(), kept_fit(where="f/kept"))), "refused"),
        Case("folder a link to itself", in_folder(lambda: (os.symlink("kept", "kept"), kept_fit())), "refused"),
        Case("folder in /proc", lambda: kept_fit(where="/proc/kept"), "refused"),
        Case("folder in /dev/full", lambda: kept_fit(where="/dev/full/kept"), "refused"),
        Case("folder with a zero byte", lambda: kept_fit(where="a\0b"), "refused"),
        Case("folder too long", in_folder(lambda: kept_fit(where="a" * 300)), "refused"),
        *(Case(f"folder {v!r}", in_folder(lambda v=v: kept_fit(where=Checkpoint(v))), "refused") for v in (None, 5, b"kept", 1.5, [], "")),
        *(Case(f"checkpoint={v!r}", in_folder(lambda v=v: model("hals").fit(X, checkpoint=v)), "refused") for v in (5, True, b"kept", ["kept"], "")),
        *(Case(f"seconds={v!r}", in_folder(lambda v=v: kept_fit(where=Checkpoint("kept", seconds=v))), "refused") for v in (-1, np.nan, "30", None, [1], 1j)),
        *(Case(f"seconds={v!r}", in_folder(lambda v=v: bits(kept_fit(where=Checkpoint("kept", seconds=v)))), "right") for v in (0, 1e-300, np.inf, np.float32(2), 10**400, True)),
        Case("data removed from disk", in_folder(file_gone), "refused"),
        Case("a full file system", in_folder(full_folder), "right", True),
        Case("two processes", in_folder(two_processes), "right", True),
        Case("SIGINT", in_folder(partial(signalled, signal.SIGINT)), "right", True),
        Case("SIGINT, return", in_folder(partial(signalled, signal.SIGINT, on_interrupt="return")), "right", True),
        Case("SIGINT twice", in_folder(partial(signalled, signal.SIGINT, signal.SIGINT)), "right", True),
        Case("SIGINT five times, return", in_folder(partial(signalled, *[signal.SIGINT] * 5, on_interrupt="return")), "right", True),
        Case("SIGTERM", in_folder(partial(signalled, signal.SIGTERM)), "right", True),
        Case("SIGSTOP, SIGCONT, SIGTERM", in_folder(partial(signalled, signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM)), "right", True),
        Case("SIGKILL", in_folder(partial(signalled, signal.SIGKILL)), "right", True),
    ]
    return cases
# fmt: on


def file_gone() -> None:
    npy(X)
    kept_fit(3, data="m.npy")
    os.unlink("m.npy")
    kept_fit(6, data="m.npy")


# Budgets and threads


def with_resources(given: Any = X, **options: Any) -> None:
    with resources(**options):
        fits(given, X, ("spa",))


def budget_on_disk(memory: Any) -> None:
    npy(X)
    with_resources("m.npy", memory=memory)


def command(*words: str) -> None:
    """A command that must end in one line or well."""
    npy(X)
    code, out, err = typed(["fit", "m.npy", "-k", "3", "--no-report", "-o", "r.npz", *words])
    hold(code in (0, 2) and "Traceback" not in err, f"{code}: {err[-400:]}")
    hold(code == 0 or err.strip().count("\n") == 0, f"more than a line: {err[-400:]}")


# fmt: off
def budgets() -> list[Case]:
    good = ("2GB", "2GB ", " 2 GB", "2 TB", "2gib", 2e9, 2 * 10**9, "2000000000", 1e16, 1e300, np.float64(2e9), np.int64(2**31), 10**30, "1.5GiB", "2G", "2000 mb")
    bad = ("0", "-1", "2e9", "1e400", "lots", True, False, 0, -5, float("nan"), float("inf"), "", " ", "GB", "2XB", "2GBB", "1..5GB", "1,5GB", "2GB/s", [2], (2,), {}, b"2GB", 1j, np.array([1.0, 2.0]), "9" * 400, 10**400, "0x10", "٣", "²")
    tiny = (1, 5.5, "1B", "100MB", 1e-300, "0.001KB")
    return [
        *(Case(f"memory={v!r:.20}", in_folder(partial(budget_on_disk, v)), "right") for v in good),
        *(Case(f"memory={v!r:.20}", in_folder(partial(budget_on_disk, v)), "refused") for v in (*bad, *tiny)),
        *(Case(f"n_jobs={v!r:.20}", partial(with_resources, n_jobs=v), "right") for v in (1, 2, -1, -2, -99, 10**6, 10**30, np.int64(1), None)),
        *(Case(f"n_jobs={v!r:.20}", partial(with_resources, n_jobs=v), "refused") for v in (0, 1.0, "2", True, False, np.nan, [1], 1j, "all", np.array([1, 2]))),
        *(Case(f"factorize, memory={v!r}", lambda v=v: factorize(X, 3, memory=v), "refused") for v in ("lots", -1, True, [])),
        *(Case(f"factorize, n_jobs={v!r}", lambda v=v: factorize(X, 3, n_jobs=v), "refused") for v in ("two", 0, 1.5, [])),
        *(Case(f"--memory {v!r}", in_folder(partial(command, "--memory", v)), "right") for v in ("2GB ", "0", "-1", "1e400", "lots", "", "100MB", "2 TB")),
        *(Case(f"--n-jobs {v!r}", in_folder(partial(command, "--n-jobs", v)), "right") for v in ("0", "-1", "-99", "1.5", "many", "", "99999999999999999999")),
        Case("inside another budget", nested, "right"),
        Case("after an error", after_an_error, "right"),
        Case("a budget on the Dask path", partial(with_resources, chunked(), memory="2GB"), "right"),
        Case("a tiny budget on the Dask path", partial(with_resources, chunked(), memory="1MB"), "refused"),
    ]
# fmt: on


def nested() -> None:
    from provenmf.budget import memory_budget

    with resources(memory="2GB"):
        with resources(n_jobs=1):
            hold(memory_budget() == 2e9, "the outer budget is forgotten")
        with resources(memory="3GB"):
            hold(memory_budget() == 3e9, "the inner budget does not count")
        hold(memory_budget() == 2e9, "the outer budget is forgotten")


def after_an_error() -> None:
    from provenmf.budget import memory_budget

    with contextlib.suppress(ProvenmfError), resources(memory="2GB", n_jobs=0):
        pass
    hold(np.isinf(memory_budget()), "a budget that was refused stays")


# Topics from counts in blocks


@cache
def corpus() -> Any:
    return topic_corpus(240, 90, K, word_concentration=0.1, random_state=0).counts


def counts_in_chunks(counts: Any = None, store: Any = sp.csr_array, rows: int = 50) -> Any:
    counts = corpus() if counts is None else counts
    return da.from_array(counts.toarray(), chunks=(rows, -1)).map_blocks(
        store, dtype=float, meta=store((0, 0))
    )


def same_topics(given: Any, plain: Any = None, **options: Any) -> None:
    found = find_topics(given() if callable(given) else given, K, random_state=0, **options)
    expected = find_topics(corpus() if plain is None else plain, K, random_state=0, **options)
    hold(
        found.anchor_words == expected.anchor_words,
        f"{found.anchor_words}, not {expected.anchor_words}",
    )
    gap = np.abs(found.topics - expected.topics).max()
    hold(gap < 1e-5, f"topics are off by {gap:.1e}")
    gap = np.abs(found.document_weights - expected.document_weights).max()
    hold(gap < 1e-3, f"weights are off by {gap:.1e}")


def with_empty_documents() -> Any:
    return sp.csr_array(sp.vstack([corpus()[:100], sp.csr_array((60, 90)), corpus()[100:]]))


def spoiled(value: float) -> Any:
    counts = corpus().astype(float).copy()
    counts.data[777] = value
    return counts


def counts_file(counts: Any = None, name: str = "c.npz") -> str:
    sp.save_npz(name, corpus() if counts is None else counts, compressed=False)
    return name


def topics_command(*words: str, counts: Any = None, end: int | None = None) -> None:
    counts_file(counts)
    code, _, err = typed(["topics", "c.npz", "-k", "3", "--no-report", "-o", "r.npz", *words])
    hold(code in (0, 2) and "Traceback" not in err, f"{code}: {err[-400:]}")
    hold(end is None or code == end, f"exit code {code}: {err[-400:]}")
    if code == 0:
        expected = find_topics(corpus() if counts is None else counts, K, random_state=0)
        gap = np.abs(load("r.npz").topics - expected.topics).max()
        hold(gap < 1e-5, f"topics are off by {gap:.1e}")


# fmt: off
def topics_in_blocks() -> list[Case]:
    good = lambda name, given, plain=None, **o: Case(name, in_folder(lambda: same_topics(given, plain() if callable(plain) else plain, **o)), "right")  # noqa: E731
    bad = lambda name, given: Case(name, in_folder(lambda: find_topics(given() if callable(given) else given, K, random_state=0)), "refused")  # noqa: E731
    return [
        good("sparse chunks", counts_in_chunks),
        good("sparse matrices", lambda: counts_in_chunks(store=sp.csr_matrix)),
        good("columns first", lambda: counts_in_chunks(store=sp.csc_array)),
        good("dense chunks", lambda: da.from_array(corpus().toarray(), chunks=(50, -1))),
        good("dense chunks, int32", lambda: da.from_array(corpus().toarray().astype("i4"), chunks=(50, -1))),
        good("dense chunks, uint8", lambda: da.from_array(corpus().toarray().astype("u1"), chunks=(50, -1))),
        good("one document each", lambda: counts_in_chunks(rows=1)),
        good("a file", lambda: Path(counts_file())),
        bad("a path as text", counts_file),
        good("a file of int64 columns", lambda: Path(counts_file(corpus().astype("i8")))),
        good("a file of float32", lambda: Path(counts_file(corpus().astype("f4")))),
        good("a dense file", lambda: Path(npy(corpus().toarray(), "c.npy"))),
        good("a map", lambda: np.load(npy(corpus().toarray(), "c.npy"), mmap_mode="r")),
        good("chunks of empty documents", lambda: counts_in_chunks(with_empty_documents()), with_empty_documents),
        good("a file with empty documents", lambda: Path(counts_file(with_empty_documents())), with_empty_documents),
        good("HDF5", lambda: hdf5(data_set(corpus().toarray()))),
        good("zarr", lambda: zarr_array(corpus().toarray())),
        *(bad(f"{v} in one chunk", lambda v=v: counts_in_chunks(spoiled(v))) for v in (np.nan, np.inf, -1.0)),
        *(bad(f"{v} in a file", lambda v=v: Path(counts_file(spoiled(v)))) for v in (np.nan, np.inf, -1.0)),
        bad("no documents", lambda: da.zeros((0, 90))),
        bad("no words", lambda: da.zeros((40, 0))),
        bad("zeros", lambda: counts_in_chunks(sp.csr_array((60, 90)))),
        bad("unknown sizes", lambda: (lambda a: a[a[:, 0] >= 0])(da.from_array(corpus().toarray(), chunks=(50, -1)))),
        bad("masked", lambda: da.ma.masked_greater(da.from_array(corpus().toarray(), chunks=(50, -1)), 3)),
        bad("complex, declared real", lambda: of_chunks(X[:20], lambda: X[20:] + 1j)),
        bad("another matrix each time", lambda: of_chunks(*[lambda: np.random.default_rng().poisson(X[:20])] * 4)),
        good("compressed", lambda: (sp.save_npz("z.npz", corpus()), Path("z.npz"))[1]),
        bad("truncated", lambda: (Path("c.npz").write_bytes(Path(counts_file()).read_bytes()[:-50]), Path("c.npz"))[1]),
        bad("a pipe", lambda: (os.mkfifo("p.npz"), Path("p.npz"))[1]),
        bad("missing", lambda: Path("nowhere.npz")),
        bad("a delayed matrix", lambda: dask.delayed(corpus)()),
        bad("an HDF5 group", lambda: hdf5(data_set()).file),
        *(Case(f"provenmf topics --memory {m}", in_folder(partial(topics_command, "--memory", m, end=e)), "right") for m, e in (("2GB", 0), ("1MB", 2), ("lots", 2), ("0", 2))),
        Case("provenmf topics, NaN", in_folder(lambda: topics_command(counts=spoiled(np.nan), end=2)), "right"),
        Case("provenmf topics, empty documents", in_folder(lambda: topics_command(counts=with_empty_documents(), end=0)), "right"),
        Case("provenmf topics --checkpoint", in_folder(lambda: (topics_command("--checkpoint", "kept", end=0), topics_command("--checkpoint", "kept", "--force", end=0))), "right"),
        Case("on a cluster", in_folder(on_cluster(lambda: same_topics(counts_in_chunks))), "right", True),
        Case("on a cluster, dense", in_folder(on_cluster(lambda: same_topics(lambda: da.from_array(corpus().toarray(), chunks=(50, -1))))), "right", True),
        Case("on a cluster, empty documents", in_folder(on_cluster(lambda: same_topics(lambda: counts_in_chunks(with_empty_documents()), with_empty_documents()))), "right", True),
    ]
# fmt: on


KINDS: dict[str, Callable[[], list[Case]]] = {
    "Dask chunks": dask_chunks,
    "Dask frames": dask_frames,
    "Dask clusters": clusters,
    "weights on workers": lazy_weights,
    "npy, memory maps": npy_files,
    "HDF5": hdf5_files,
    "zarr": zarr_arrays,
    "sparse rows": sparse_files,
    "files that change": changing_files,
    "paths": paths,
    "convert": conversions,
    "checkpoints": checkpoints,
    "budgets, threads": budgets,
    "topics from blocks": topics_in_blocks,
}


@cache
def cases(kind: str) -> list[Case]:
    return KINDS[kind]()


def one(_: Any, kind: str, number: str) -> str:
    """One case, in the process that is to survive it: how it ended."""
    case = cases(kind)[int(number)]
    dask.config.config.pop("scheduler", None)  # what a client leaves that was closed in mid-fit
    try:
        case.run()
        end, words = "right", ""
    except ProvenmfError as error:
        end, words = "refused", str(error)
        hold("\n" not in words and len(words) > 20, f"the error is not one line: {words!r:.400}")
    hold(case.end in (None, end), f"{end} where it had to be {case.end}: {words}")
    return end if not os.environ.get("SHOW") else f"{end} {words}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this one")
    parser.add_argument("--case", default="", help="only those whose names contain this")
    parser.add_argument(
        "--quick", action="store_true", help="nothing that waits or starts processes"
    )
    parser.add_argument("--show", action="store_true", help="print each case and how it ended")
    options = parser.parse_args()
    if options.show:
        os.environ["SHOW"] = "1"
    pool.SECONDS = SECONDS
    worker, failures, sums = pool.Worker(), [], np.zeros(4, dtype=int)
    row = "{:20}{:>7}{:>15}{:>17}{:>10}"
    print(row.format("kind", "tried", "right answers", "refused by name", "failures"), flush=True)
    for kind in options.kind or KINDS:
        counts = np.zeros(4, dtype=int)
        for number, case in enumerate(cases(kind)):
            if options.quick and case.slow or options.case not in case.name:
                continue
            status, found = worker.ask(f"hostile_scale:one:{kind}:{number}", 0)
            end = found.split(" ")[0] if status == "ok" else "failed"
            counts += [1, end == "right", end == "refused", end == "failed"]
            if options.show:
                print(f"  {case.name:45} {found if status == 'ok' else status}", flush=True)
            if end == "failed":
                failures.append(f"{kind}: {case.name}: {status}\n{found}")
        sums += counts
        print(row.format(kind, *counts), flush=True)
    worker.close()
    print(row.format("all", *sums), flush=True)
    print("\n\n".join(failures), file=sys.stderr, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
