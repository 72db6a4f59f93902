"""Hostile input where data are larger than memory: Dask chunks and frames, files of every kind.

Each case must end as if its data were a plain array in memory (the same anchors, factors that agree
to rounding), or in one line of an error of provenmf's own. What a function of the user raises while
it makes a chunk comes through as it is. Clusters are in `tests/scale`.
"""

# ruff: noqa: E501  (one case a line)

import contextlib
import io
import itertools
import os
import pickle
import threading
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import ProvenmfError
from provenmf.data import as_blocks
from provenmf.methods import make_estimator

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore")

K = 3
FEW: dict[str, dict[str, Any]] = {"spa": {}, "hals": {"max_iter": 4}, "cones": {}}
rng = np.random.default_rng(0)
MIXED = np.vstack([np.eye(K), rng.dirichlet(np.ones(K), 37)])
X = np.round(MIXED @ (60 * rng.random((K, 8)) + 40 * np.eye(K, 8))).astype(np.float64)
SPARSE = sp.csr_array(X * (X > 20))


class Case(NamedTuple):
    """What is tried, how, and how it must end: "right", "refused", or either (None)."""

    name: str
    run: Any
    end: str | None = None


def model(method: str = "spa", **options: Any):
    return make_estimator(method, K, **{"random_state": 0, **FEW[method], **options})


def agree(found: Any, expected: Any, tolerance: float = 1e-6):
    """The same anchors and labels, and the same factors up to rounding."""
    for name in ("anchors", "labels"):
        one, other = getattr(found, name), getattr(expected, name)
        assert np.array_equal(one, other), f"{name} are {one}, not {other}"
    for name in ("components", "weights"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.shape == other.shape, f"{name} have shape {one.shape}, not {other.shape}"
        gap = np.abs(one - other).max() / max(np.abs(other).max(), 1e-300)
        assert gap <= tolerance, f"{name} are off by {gap:.1e}"


def fits(given: Any, plain: Any, methods: tuple[str, ...] = ("spa",), **o: Any):
    """Fit what is given, or what a function returns, and the plain array."""
    for method in methods:
        data = given() if callable(given) else given
        found = model(method, **o).fit(data).factorization_
        expected = model(method, **o).fit(plain() if callable(plain) else plain).factorization_
        single = getattr(plain, "dtype", None) == np.float32
        agree(found, expected, 1e-3 if single else 1e-6)


def right(name: str, given: Any, plain: Any = X, **options: Any):
    return Case(name, partial(fits, given, plain, **options), "right")


def refused(name: str, given: Any, method="spa"):
    return Case(name, partial(fits, given, X, (method,)), "refused")


# Dask arrays in this process


def chunked(array: Any = X, rows: int = 9):
    return da.from_array(array, chunks=(rows, -1))


def of_chunks(*chunks: Any, dtype: Any = float, meta: Any = None):
    """A Dask array of what functions return, or of arrays."""
    parts = []
    for chunk in chunks:
        value = dask.delayed(chunk, pure=False)() if callable(chunk) else dask.delayed(chunk)
        shape = getattr(chunk, "shape", (20, 8))
        parts.append(da.from_delayed(value, shape, dtype=dtype, meta=meta))
    return da.concatenate(parts)


def changed(value: float, place: tuple[int, int] = (33, 4)):
    out = X.copy()
    out[place] = value
    return out


def frozen(array: Any):
    out = array.copy()
    out.flags.writeable = False
    return out


def masked():
    return np.ma.masked_array(X[20:], mask=X[20:] > 50)


class ChunkFailed(Exception):
    """What a user's own function raises."""


def fails():
    raise ChunkFailed("no such table")


def own_error(given: Callable[[], Any], words: str = "no such table"):
    """The error of a user's function, or of the library that it calls, comes through as it is."""
    try:
        model().fit(given())
    except Exception as error:
        assert words in str(error), f"the reason is lost: {error}"
        return
    raise AssertionError("a chunk that fails is not noticed")


def random_chunk():
    return np.random.default_rng().random((20, 8))


SHARED = X[20:].copy()


def growing():
    SHARED[:] *= 1.5
    return SHARED


def sparse_chunks(store: Any, array: Any = SPARSE, columns: int = -1, meta: Any = None):
    dense = da.from_array(array.toarray(), chunks=(9, columns))
    return dense.map_blocks(store, dtype=float, meta=store((0, 0)) if meta is None else meta)


# fmt: off
def dask_chunks():
    kinds = ("f2", "g", "i1", "u1", "i2", "u8", "i8", ">f4", ">f8", ">i2", "f4")
    cases = [right(k, chunked(X.astype(k)), X.astype(k).astype("f4" if k[-2:] == "f4" else "f8")) for k in kinds]
    cases += [
        right("bool", chunked(X > 30), (X > 30).astype(float)),
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
        right("one row each", chunked(rows=1), methods=tuple(FEW)),
        right("one for all", chunked(rows=40)),
        right("one number each", da.from_array(X, chunks=(1, 1))),
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
        right("negative in one chunk, SPA", chunked(changed(-1)), changed(-1)),
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
        *(Case(f"scheduler {s}", partial(with_scheduler, s), "right") for s in ("synchronous", "threads", "processes")),
        Case("an executor as scheduler", with_executor, "right"),
        Case("fits in two threads", two_threads, "right"),
    ]
    return cases
# fmt: on


def untouched():
    ours, before = X.copy(), X.copy()
    for method in FEW:
        model(method).fit(chunked(ours))
    assert np.array_equal(ours, before), "the user's array was changed"


def score_in_chunks():
    fitted = model("hals").fit(X)
    near, far = fitted.score(X), fitted.score(chunked())
    assert abs(near - far) <= 1e-9 * abs(near), f"the score is {far}, not {near}"


def with_scheduler(name: str):
    with dask.config.set(scheduler=name):
        fits(chunked(), X)


def with_executor():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as executor, dask.config.set(scheduler=executor):
        fits(chunked(), X)


def two_threads():
    wrong: list[BaseException] = []

    def run():
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
def dask_frames():
    import dask.dataframe as dd
    import pandas as pd

    table = pd.DataFrame(X, columns=list("abcdefgh"))

    def frame(pandas: Any, parts: int = 3):
        return dd.from_pandas(pandas, npartitions=parts)

    mixed = table.astype({"a": "i4", "b": "f4", "c": "u1"})
    nullable = table.astype("Float64")
    holes = nullable.mask(table > 50)
    return [
        right("plain", frame(table), methods=tuple(FEW)),
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


# Files of NumPy


def npy(array: Any, name: str = "m.npy", **options: Any):
    with open(name, "wb") as file:
        np.lib.format.write_array(file, array, **options)
    return name


def on_disk(
    name: str, make: Callable[[], Any], plain: Any = X, end: str | None = "right", **o: Any
):
    """What `make` returns after it wrote files in a new folder."""
    return Case(name, lambda: fits(make(), plain, **o), end)


def npy_refused(name: str, make: Callable[[], Any]):
    return on_disk(name, make, end="refused")


def with_header(text: str, content: bytes = X.tobytes()):
    header = text.encode("latin1") + b"\n"
    Path("m.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
    )
    return "m.npy"


def shown(descr: str = "'<f8'", order: str = "False", shape: str = "(40, 8)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def private_map():
    """A map whose changes are in this process only."""
    np.save("m.npy", X * 2)
    mapped = np.load("m.npy", mmap_mode="c")
    mapped[:] = X
    return mapped


def unflushed():
    mapped = np.lib.format.open_memmap("m.npy", mode="w+", dtype=float, shape=X.shape)
    mapped[:] = X
    return mapped


def raw_map(order: str = "C", offset: int = 0, mode: str = "r"):
    Path("m.bin").write_bytes(b"\0" * offset + X.tobytes(order))
    return np.memmap("m.bin", dtype=float, mode=mode, shape=X.shape, order=order, offset=offset)


def deleted_map():
    mapped = raw_map()
    os.unlink("m.bin")
    return mapped


# fmt: off
def npy_files():
    kinds = ("f2", "g", "i1", "u1", ">i2", "u8", "i8", ">f8", "f4", ">f4", "?")
    cases = []
    for kind, order in itertools.product(kinds, "CF"):
        array = np.array((X > 30) if kind == "?" else X, dtype=kind, order=order)
        plain = array.astype("f4" if kind[-2:] == "f4" else "f8", order="C")
        cases.append(on_disk(f"{kind}, {order} order", partial(npy, array), plain))
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


def hdf5(write: Callable[[Any], Any], mode: str = "r"):
    h5py = pytest.importorskip("h5py")

    with h5py.File("m.h5", "w") as file:
        write(file)
    return h5py.File("m.h5", mode)["X"]


def data_set(array: Any = X, **options: Any):
    return lambda file: file.create_dataset("X", data=array, **options)


def hdf5_damaged():
    h5py = pytest.importorskip("h5py")

    with h5py.File("m.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=(10, 8), compression="gzip")
        place = file["X"].id.get_chunk_info(2).byte_offset
    content = bytearray(Path("m.h5").read_bytes())
    content[place : place + 30] = bytes(30)
    Path("m.h5").write_bytes(content)
    return h5py.File("m.h5")["X"]


def hdf5_external():
    Path("raw.bin").write_bytes(X.tobytes())
    return hdf5(lambda f: f.create_dataset("X", X.shape, "f8", external=[("raw.bin", 0, X.nbytes)]))


def hdf5_virtual(missing: bool = False):
    h5py = pytest.importorskip("h5py")

    with h5py.File("part.h5", "w") as file:
        file["Y"] = X
    layout = h5py.VirtualLayout(X.shape, "f8")
    layout[:] = h5py.VirtualSource("none.h5" if missing else "part.h5", "Y", X.shape)
    return hdf5(lambda f: f.create_virtual_dataset("X", layout, fillvalue=np.nan))


def closed(dataset: Any):
    dataset.file.close()
    return dataset


# fmt: off
def hdf5_files():
    h5py = pytest.importorskip("h5py")

    kinds = ("f2", "i1", "u8", ">f4", ">i4", "?", "f4")
    cases = [on_disk(k, lambda k=k: hdf5(data_set(((X > 30) if k == "?" else X).astype(k))), ((X > 30) if k == "?" else X).astype("f4" if k[-2:] == "f4" else "f8")) for k in kinds]
    bad = partial(on_disk, end="refused")
    return [
        *cases,
        on_disk("chunks of one number", lambda: hdf5(data_set(chunks=(1, 1)))),
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


def zarr_arrays() -> list[Case]:
    zarr = pytest.importorskip("zarr")

    def made(spoiled: bool = False) -> Any:
        array = zarr.create_array("m.zarr", data=X, chunks=(10, 8))
        chunks = [path for path in Path("m.zarr").rglob("*") if path.parent.name.isdecimal()]
        if spoiled:
            chunks[0].write_bytes(b"damaged")
        return array

    return [
        on_disk("plain", made),
        on_disk("a damaged chunk", partial(made, True), end="refused"),
        on_disk("a group", lambda: zarr.open_group("g.zarr", mode="w"), end="refused"),
    ]


# Sparse rows in files


def archive(name: str = "m.npz", compressed: bool = False, **parts: Any):
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


def doubled():
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


def shuffled():
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in itertools.pairwise(SPARSE.indptr)])
    return {"indices": SPARSE.indices[order], "data": SPARSE.data[order]}


def int8_doubled():
    """Entries of up to 100 twice: their sums exceed 127."""
    return {**doubled(), "data": (2 * doubled()["data"]).astype("i1")}


# fmt: off
def sparse_files():
    good = partial(on_disk, plain=SPARSE)
    bad = partial(on_disk, end="refused")
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


def _rezipped(kind: int):
    with zipfile.ZipFile(archive("a.npz")) as old, zipfile.ZipFile("m.npz", "w", kind) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return "m.npz"


def _twice():
    archive()
    out = io.BytesIO()
    np.save(out, SPARSE.data[:-3])
    with warnings.catch_warnings(), zipfile.ZipFile("m.npz", "a") as file:
        warnings.simplefilter("ignore")
        file.writestr("data.npy", out.getvalue())
    return "m.npz"


# Files that change


def while_read(make: Callable[[], Any], change: Callable[[], Any]):
    """The file changes between two passes over it; the answer must not be of both."""
    blocks = as_blocks(make(), block_rows=10)
    before = blocks.map_reduce(lambda block: block.sum(axis=0))
    change()
    after = blocks.map_reduce(lambda block: block.sum(axis=0))
    assert np.array_equal(before, after), "other numbers in the second pass"


def keeping_times(path: str, change: Callable[[], Any]):
    """As tools do that copy files with their times."""

    def run():
        before = os.stat(path)
        change()
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return run


def swapped(array: Any, save: Callable[[Any, str], Any], path: str):
    """Another file takes the place of the file, as programs save."""

    def run():
        save(array, "new")
        os.replace("new", path)

    return run


def saved(array: Any, path: str):
    with open(path, "wb") as file:
        np.save(file, array)


def overwritten():
    with open("m.npy", "r+b") as file:
        file.seek(-80, os.SEEK_END)
        file.write(np.full(10, 3.0).tobytes())


def shortened(path: str, size: int = 300):
    return lambda: os.truncate(path, size)


def longer(path: str):
    def run():
        with open(path, "ab") as file:
            file.write(bytes(640))

    return run


def fortran():
    return npy(np.asfortranarray(X))


# fmt: off
def changing_files():
    def of(name: str, make: Callable[[], Any], change: Callable[[], Any]):
        return Case(name, partial(while_read, make, change))

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


CASES = {
    f"{kind.__name__}: {case.name}": case
    for kind in (
        dask_chunks,
        dask_frames,
        npy_files,
        hdf5_files,
        zarr_arrays,
        sparse_files,
        changing_files,
    )
    for case in kind()
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_answer_of_memory_or_one_line(case, tmp_path):
    with contextlib.chdir(tmp_path):
        try:
            case.run()
            end = "right"
        except ProvenmfError as error:
            end = "refused"
            assert "\n" not in str(error) and len(str(error)) > 20
    assert case.end in (None, end)
