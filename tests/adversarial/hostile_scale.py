"""Hostile input where data are larger than memory: chunks, files, clusters.

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
import io
import itertools
import os
import pickle
import signal
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
import scipy.sparse as sp
from oracles import hold

from provenmf import ProvenmfError
from provenmf.data import as_blocks
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
        right("one row each", chunked(rows=1)),
        right("one for all", chunked(rows=40)),
        right("one number each", da.from_array(X, chunks=(1, 1)), methods=("spa",)),
        right("a chunk of zeros", chunked(np.vstack([X, np.zeros((9, 8))])), np.vstack([X, np.zeros((9, 8))])),
        Case("zeros only", partial(fits, chunked(np.zeros((40, 8))), np.zeros((40, 8)))),
        right("transposed", chunked(X.T.copy(), 3).T),
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

    mixed = table.astype({"a": "i4", "b": "f4", "c": "u1"})
    nullable = table.astype("Float64")
    holes = nullable.mask(table > 50)
    return [
        right("plain", frame(table)),
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


def on_worker() -> None:
    """A fit to a Dask array inside a task of the only worker."""
    with cluster(1) as (_, client):
        found = client.submit(_fit_in_a_task, X).result(timeout=SECONDS - 20)
        expected = model().fit(X)
        hold(np.array_equal(found, expected.anchors_), "other anchors in a task")


def _fit_in_a_task(array: Any) -> Any:
    return model().fit(da.from_array(array, chunks=(9, -1))).anchors_


def closed_before() -> None:
    with cluster() as (_, client):
        array = chunked().persist()
        distributed.wait(array)
    model().fit(array)


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


# fmt: off
def clusters() -> list[Case]:
    slow = partial(Case, slow=True)
    return [
        slow("two workers", on_cluster(lambda: fits(chunked(), X, tuple(FEW))), "right"),
        slow("sparse, columns in chunks", on_cluster(lambda: fits(sparse_chunks(sp.csr_array, SPARSE, 3), SPARSE)), "right"),
        slow("masked", on_cluster(lambda: model().fit(of_chunks(X[:20], masked))), "refused"),
        slow("another matrix each time, kept", on_cluster(lambda: model().fit(of_chunks(X[:20], random_chunk))), "right"),
        slow("NaN in one chunk", on_cluster(lambda: model().fit(chunked(changed(np.nan)))), "refused"),
        slow("wrong shape", on_cluster(lambda: model().fit(of_chunks(X[:20], lambda: X[:13]))), "refused"),
        slow("a chunk that fails", on_cluster(lambda: own_error(lambda: of_chunks(X[:20], fails))), "right"),
        slow("no workers", no_workers, "refused"),
        slow("all workers leave in mid-fit", partial(in_mid_fit, lose_all), "refused"),
        slow("all workers paused in mid-fit", partial(in_mid_fit, pause, memory_limit=0), "refused"),
        slow("the client closes in mid-fit", partial(in_mid_fit, lambda _, client: client.close()), "refused"),
        slow("restarted in mid-fit", partial(in_mid_fit, lambda _, client: client.restart(), processes=True, workers=1), None),
        slow("a fit in a task of the only worker", on_worker, "right"),
        slow("chunks of a client that is closed", closed_before, "refused"),
        slow("chunks that kill their worker", exhausted, "refused"),
    ]
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
        on_disk("raw map, odd offset", lambda: raw_map(offset=13)),
        on_disk("raw map, Fortran, offset", lambda: raw_map("F", 24)),
        on_disk("rows from the end", lambda: raw_map()[::-1], X[::-1].copy()),
        on_disk("map transposed", lambda: raw_map().T, X.T.copy()),
        on_disk("map reshaped", lambda: raw_map().reshape(80, 4), X.reshape(80, 4)),
        on_disk("map of one axis", lambda: raw_map().ravel(), end="refused"),
        on_disk("a map whose file is gone", deleted_map, end=None),
        on_disk("pickled map", lambda: pickle.loads(pickle.dumps(raw_map()))),
    ]
    return cases
# fmt: on


# HDF5


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
        on_disk("external bytes", hdf5_external),
        on_disk("virtual", hdf5_virtual),
        bad("virtual, source missing, filled with NaN", lambda: hdf5_virtual(True)),
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
        bad("no rows", lambda: hdf5(data_set(X[:0]))),
        bad("no columns", lambda: hdf5(data_set(X[:, :0]))),
        bad("the path of an HDF5 file", lambda: hdf5(data_set()).file.filename),
    ]
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


# Files that change


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
    ]
    return cases
# fmt: on


KINDS: dict[str, Callable[[], list[Case]]] = {
    "Dask chunks": dask_chunks,
    "Dask frames": dask_frames,
    "Dask clusters": clusters,
    "npy, memory maps": npy_files,
    "HDF5": hdf5_files,
    "sparse rows": sparse_files,
    "files that change": changing_files,
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
