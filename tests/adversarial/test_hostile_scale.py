"""Hostile input where data are larger than memory: Dask chunks and frames, files of every kind.

Each case must end as if its data were a plain array in memory (the same anchors, factors that agree
to rounding), or in one line of an error of provenmf's own. What a function of the user raises while
it makes a chunk comes through as it is. Clusters are in `tests/scale`.
"""

import itertools
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import ProvenmfError
from provenmf.data import as_blocks
from provenmf.io import read_matrix
from provenmf.methods import make_estimator

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore")

K = 3
FEW = {"spa": {}, "hals": {"max_iter": 4}, "cones": {}}
rng = np.random.default_rng(0)
MIXED = np.vstack([np.eye(K), rng.dirichlet(np.ones(K), 37)])
X = np.round(MIXED @ (60 * rng.random((K, 8)) + 40 * np.eye(K, 8))).astype(np.float64)
SPARSE = sp.csr_array(X * (X > 20))
HOLES = np.where(X > 50, np.nan, X)
NO_META = sp.csr_array((0, 0))
BYTES = X.tobytes()


@pytest.fixture(autouse=True)
def new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def model(method="spa"):
    return make_estimator(method, K, random_state=0, **FEW[method])


def as_in_memory(data, plain=X, method="spa"):
    """The same anchors and labels, and the same factors up to rounding."""
    found, expected = (model(method).fit(each).factorization_ for each in (data, plain))
    for name in ("anchors", "labels"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    single = getattr(plain, "dtype", None) == np.float32
    for name in ("components", "weights"):
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(
            one, other, rtol=0, atol=(1e-3 if single else 1e-6) * other.max()
        )


def refused(data, method="spa"):
    with pytest.raises(ProvenmfError) as caught:
        model(method).fit(data() if callable(data) else data)
    assert "\n" not in str(caught.value) and len(str(caught.value)) > 20


def chunked(array=X, rows=9):
    return da.from_array(array, chunks=(rows, -1))


def of_chunks(*chunks, dtype=float, meta=None):
    """A Dask array of what functions return, or of arrays."""
    parts = []
    for chunk in chunks:
        value = dask.delayed(chunk, pure=False)() if callable(chunk) else dask.delayed(chunk)
        shape = getattr(chunk, "shape", (20, 8))
        parts.append(da.from_delayed(value, shape, dtype=dtype, meta=meta))
    return da.concatenate(parts)


def then(second, **options):
    """Twenty good rows, then what a function returns where twenty others were declared."""
    return of_chunks(X[:20], lambda: second, **options)


def changed(value, place=(33, 4)):
    out = X.copy()
    out[place] = value
    return out


def sparse_chunks(store, array=SPARSE, columns=-1):
    dense = da.from_array(array.toarray(), chunks=(9, columns))
    return dense.map_blocks(store, dtype=float, meta=NO_META)


def native(kind):
    """What numbers of a kind become in memory."""
    return X.astype(kind).astype("f4" if kind[-2:] == "f4" else "f8")


MASKED = np.ma.masked_array(X[20:], mask=X[20:] > 50)
KINDS = ("f2", "g", "i1", "u8", ">f4", ">f8", ">i2", "f4")
ZEROS_BELOW = np.vstack([X, np.zeros((9, 8))])
CHUNKS = {
    **{kind: (chunked(X.astype(kind)), native(kind)) for kind in KINDS},
    "bool": (chunked(X > 30), (X > 30).astype(float)),
    "whole numbers, declared real": (then(X[20:].astype(int)), X),
    "real, declared whole": (of_chunks(X[:20] + 0.5, X[20:] + 0.5, dtype="i8"), X + 0.5),
    "double, declared single": (of_chunks(X[:20], X[20:], dtype="f4"), X.astype("f4")),
    "single, declared double": (then(X[20:].astype("f4")), X),
    "sparse of three types": (
        of_chunks(SPARSE[:9].astype("f4"), SPARSE[9:20].astype("i4"), SPARSE[20:], meta=NO_META),
        SPARSE,
    ),
    "numpy.matrix": (of_chunks(np.matrix(X[:20]), np.matrix(X[20:])), X),
    "lists": (then(X[20:].tolist()), X),
    "one row each": (chunked(rows=1), X),
    "one number each": (da.from_array(X, chunks=(1, 1)), X),
    "a chunk of zeros": (chunked(ZEROS_BELOW), ZEROS_BELOW),
    "transposed": (chunked(X.T.copy(), 3).T, X),
    "nothing under the mask": (of_chunks(np.ma.masked_array(X[:20]), X[20:]), X),
    "negative in one chunk": (chunked(changed(-1)), changed(-1)),
    "tiny": (chunked(X * 1e-40), X * 1e-40),
    **{
        store.__name__: (sparse_chunks(store), SPARSE)
        for store in (sp.csr_matrix, sp.csc_matrix, sp.lil_array, sp.dok_array, sp.dia_array)
    },
    "sparse, columns in chunks": (sparse_chunks(sp.csr_array, SPARSE, 3), SPARSE),
}
MISSING = {
    "masked": (then(MASKED), np.vstack([X[:20], MASKED.filled(np.nan)])),
    "masked by Dask": (da.ma.masked_greater(chunked(), 50), HOLES),
    "NaN in one chunk": (chunked(changed(np.nan)), changed(np.nan)),
}
SHARED = X[20:].copy()


def growing():
    SHARED[:] *= 1.5
    return SHARED


BAD_CHUNKS = {
    "complex": chunked(X + 1j),
    "dates": chunked(X.astype("M8[s]")),
    "objects": chunked(np.full((40, 8), "a", dtype=object)),
    "records": chunked(np.zeros((40, 8), dtype=[("a", float)])),
    "complex, declared real": then(X[20:] + 2j),
    "words, declared real": then(X[20:].astype("U9")),
    "records, declared real": then(np.zeros((20, 8), dtype="f8,f8")),
    "masked, all entries needed": then(MASKED),
    "unknown sizes": chunked()[chunked()[:, 0] > 0],
    "no rows": da.zeros((0, 8)),
    "no columns": da.zeros((40, 0)),
    "no axis": da.ones(()),
    "three axes": da.ones((4, 5, 6)),
    "fewer rows than declared": then(X[:13]),
    "fewer columns in one chunk": then(X[20:, :5]),
    "an extra axis": then(X[20:, :, None]),
    "nothing": then(None),
    "sparse, declared dense": then(sp.csr_array(X[20:])),
    "dense, declared sparse": of_chunks(X[:20], X[20:], meta=NO_META),
    "a meta that Dask forgets": chunked(SPARSE.toarray()).map_blocks(
        sp.dia_array, dtype=float, meta=sp.dia_array((0, 0))
    ),
    **{f"{v} in one chunk": chunked(changed(v)) for v in (np.nan, np.inf, -np.inf)},
    "NaN in one sparse chunk": sparse_chunks(sp.csr_array, sp.csr_array(changed(np.nan))),
    "too tiny": chunked(X * 1e-150),
    "too large": chunked(X * 1e150),
    "another matrix each time": of_chunks(X[:20], lambda: np.random.default_rng().random((20, 8))),
    "a function that changes its data": of_chunks(X[:20], growing),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_chunks_are_as_in_memory(name):
    as_in_memory(*CHUNKS[name])


@pytest.mark.parametrize("name", MISSING)
def test_missing_entries_in_chunks_are_as_in_memory(name):
    as_in_memory(*MISSING[name], method="hals")


@pytest.mark.parametrize("name", BAD_CHUNKS)
def test_bad_chunks_are_refused(name):
    refused(BAD_CHUNKS[name])


def test_negative_numbers_are_refused_where_they_matter():
    refused(chunked(changed(-1)), "hals")


def fails():
    raise LookupError("no such table")


def test_the_error_of_the_user_comes_through():
    with pytest.raises(LookupError, match="no such table"):
        model().fit(of_chunks(X[:20], fails))


@pytest.mark.parametrize("method", FEW)
def test_the_array_of_the_user_stays(method):
    ours = X.copy()
    model(method).fit(chunked(ours))
    assert np.array_equal(ours, X)


def test_score_and_transform_in_chunks():
    fitted = model("hals").fit(X)
    assert fitted.score(chunked()) == pytest.approx(fitted.score(X), rel=1e-9)
    with pytest.raises(ProvenmfError):
        fitted.transform(chunked(X[:, :5]))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes", ThreadPoolExecutor])
def test_every_scheduler(scheduler):
    with dask.config.set(scheduler=scheduler(2) if callable(scheduler) else scheduler):
        as_in_memory(chunked())


def test_fits_in_several_threads():
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(as_in_memory, [chunked()] * 3))


TABLE = pd.DataFrame(X, columns=list("abcdefgh"))


def frame(table, parts=3):
    return dd.from_pandas(table, npartitions=parts)


FRAMES = {
    "plain": lambda: (frame(TABLE), X),
    "types that differ": lambda: (frame(TABLE.astype({"a": "i4", "b": "f4", "c": "u1"})), X),
    "single precision": lambda: (frame(TABLE.astype("f4")), X.astype("f4")),
    "pandas' own numbers": lambda: (frame(TABLE.astype("Float64")), X),
    "numbers of Arrow": lambda: (frame(TABLE.astype("double[pyarrow]")), X),
    "filtered": lambda: (frame(TABLE)[frame(TABLE).a > 30], X[X[:, 0] > 30]),
}
BAD_FRAMES = {
    "cells that are missing": lambda: frame(TABLE.astype("Float64").mask(TABLE > 50)),
    "categories": lambda: frame(TABLE.assign(a=pd.Categorical(["x", "y"] * 20))),
    "words": lambda: frame(TABLE.assign(a="x")),
    "dates": lambda: frame(TABLE.assign(a=pd.Timestamp(0))),
    "a series": lambda: frame(TABLE).a,
    "no rows": lambda: frame(TABLE[:0], 1),
    "no columns": lambda: frame(TABLE[[]], 1),
    "a group": lambda: frame(TABLE).groupby("a"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_are_as_in_memory(name):
    as_in_memory(*FRAMES[name]())


def test_missing_cells_are_as_in_memory():
    as_in_memory(frame(TABLE.astype("Float64").mask(TABLE > 50)), HOLES, "hals")


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_bad_frames_are_refused(name):
    refused(BAD_FRAMES[name])


def npy(array, name="m.npy", **options):
    with open(name, "wb") as file:
        np.lib.format.write_array(file, array, **options)
    return name


def with_header(text, content=BYTES):
    header = text.encode("latin1") + b"\n"
    Path("m.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
    )
    return "m.npy"


def shown(descr="'<f8'", shape="(40, 8)"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def written(content):
    Path("m.npy").write_bytes(content)
    return "m.npy"


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


def raw_map(order="C", offset=0):
    Path("m.bin").write_bytes(b"\0" * offset + X.tobytes(order))
    return np.memmap("m.bin", dtype=float, mode="r", shape=X.shape, order=order, offset=offset)


FILES = {
    **{
        f"{kind}, {order}": (partial(npy, np.array(X, dtype=kind, order=order)), native(kind))
        for kind, order in itertools.product(KINDS, "CF")
    },
    "version 3": (partial(npy, X, version=(3, 0)), X),
    "trailing bytes": (lambda: with_header(shown(), BYTES + b"\0" * 99), X),
    "map": (lambda: np.load(npy(X), mmap_mode="r+"), X),
    "map changed here": (private_map, X),
    "map not flushed": (unflushed, X),
    "raw map, odd offset": (lambda: raw_map(offset=13), X),
    "raw map, Fortran, offset": (lambda: raw_map("F", 24), X),
    "rows from the end": (lambda: raw_map()[::-1], X[::-1].copy()),
    "map transposed": (lambda: raw_map().T, X.T.copy()),
    "map reshaped": (lambda: raw_map().reshape(80, 4), X.reshape(80, 4)),
    "pickled map": (lambda: pickle.loads(pickle.dumps(raw_map())), X),
}
HEADERS = {
    "negative shape": shown(shape="(-40, 8)"),
    "huge shape": shown(shape="(4000000000, 8)"),
    "more than 64 bits": shown(shape="(99999999999999999999, 8)"),
    "true shape": shown(shape="(True, 8)"),
    "no shape": "{'descr': '<f8', 'fortran_order': False}",
    "a call": "__import__('os').getcwd()",
    "deep header": "(" * 5000,
    "objects": shown("'|O'"),
    "complex": shown("'<c16'", shape="(20, 8)"),
    "records": shown("[('a', '<f4'), ('b', '<f4')]"),
    "empty words": shown("'|V0'"),
    "no axis": shown(shape="()"),
    "no rows": shown(shape="(0, 8)"),
}
BAD_FILES = {
    **{name: partial(with_header, header) for name, header in HEADERS.items()},
    "nothing in it": lambda: written(b""),
    "magic only": lambda: written(b"\x93NUMPY"),
    "version 9": lambda: written(b"\x93NUMPY\x09\x00" + bytes(200)),
    "truncated": lambda: with_header(shown(), BYTES[:-8]),
    "pickled objects": lambda: npy(X.astype(object), allow_pickle=True),
    "NaN in the last row": lambda: npy(changed(np.nan, (39, 7))),
    "map of one axis": lambda: raw_map().ravel(),
}


def hdf5(array=X, write=None, mode="r", **options):
    with h5py.File("m.h5", "w") as file:
        write(file) if write else file.create_dataset("X", data=array, **options)
    return h5py.File("m.h5", mode)["X"]


def hdf5_damaged():
    dataset = hdf5(chunks=(10, 8), compression="gzip")
    place = dataset.id.get_chunk_info(2).byte_offset
    dataset.file.close()
    content = bytearray(Path("m.h5").read_bytes())
    content[place : place + 30] = bytes(30)
    Path("m.h5").write_bytes(content)
    return h5py.File("m.h5")["X"]


def hdf5_external():
    Path("raw.bin").write_bytes(X.tobytes())
    parts = [("raw.bin", 0, X.nbytes)]
    return hdf5(write=lambda f: f.create_dataset("X", X.shape, "f8", external=parts))


def hdf5_virtual(source="part.h5"):
    with h5py.File("part.h5", "w") as file:
        file["Y"] = X
    layout = h5py.VirtualLayout(X.shape, "f8")
    layout[:] = h5py.VirtualSource(source, "Y", X.shape)
    return hdf5(write=lambda f: f.create_virtual_dataset("X", layout, fillvalue=np.nan))


def closed(dataset):
    dataset.file.close()
    return dataset


def zarr_array(spoiled=False):
    array = zarr.create_array("m.zarr", data=X, chunks=(10, 8))
    chunks = [path for path in Path("m.zarr").rglob("*") if path.parent.name.isdecimal()]
    if spoiled:
        chunks[0].write_bytes(b"damaged")
    return array


FILES |= {
    "HDF5, i1": (lambda: hdf5(X.astype("i1")), native("i1")),
    "HDF5, >f4": (lambda: hdf5(X.astype(">f4")), native(">f4")),
    "HDF5, chunks of one number": (lambda: hdf5(chunks=(1, 1)), X),
    "HDF5, compressed": (lambda: hdf5(chunks=(7, 3), compression="gzip", fletcher32=True), X),
    "HDF5, external bytes": (hdf5_external, X),
    "HDF5, virtual": (hdf5_virtual, X),
    "HDF5, opened for writing": (lambda: hdf5(mode="r+"), X),
    "Zarr": (zarr_array, X),
}
BAD_FILES |= {
    "HDF5, source missing": lambda: hdf5_virtual("none.h5"),
    "HDF5, a damaged chunk": hdf5_damaged,
    "HDF5, a closed file": lambda: closed(hdf5()),
    "HDF5, a group": lambda: hdf5(write=lambda f: f.create_group("X")),
    "HDF5, the file": lambda: hdf5().file,
    "HDF5, empty": lambda: hdf5(write=lambda f: f.__setitem__("X", h5py.Empty("f8"))),
    "HDF5, one axis": lambda: hdf5(X[0]),
    "HDF5, words": lambda: hdf5([[b"a", b"b"]] * 5),
    "HDF5, complex": lambda: hdf5(X + 1j),
    "HDF5, no rows": lambda: hdf5(X[:0]),
    "HDF5, its path": lambda: hdf5().file.filename,
    "Zarr, a damaged chunk": lambda: zarr_array(True),
    "Zarr, a group": lambda: zarr.open_group("g.zarr", mode="w"),
}


def archive(**parts):
    """What scipy.sparse.save_npz wrote, with some arrays replaced, or left out if None."""
    usual = {
        "indices": SPARSE.indices,
        "indptr": SPARSE.indptr,
        "data": SPARSE.data,
        "format": np.array(b"csr"),
        "shape": np.array(SPARSE.shape),
    }
    kept = {key: value for key, value in {**usual, **parts}.items() if value is not None}
    np.savez("m.npz", **kept)
    return read_matrix("m.npz")


def doubled(kind="f8"):
    """Every entry twice, the second time from the end: sums of int8 exceed 127."""
    places = [np.arange(a, b) for a, b in itertools.pairwise(SPARSE.indptr)]
    order = np.concatenate([np.r_[each, each[::-1]] for each in places])
    data = SPARSE.data[order].astype(kind)
    return {"indices": SPARSE.indices[order], "data": data, "indptr": SPARSE.indptr * 2}


POINTERS, INDICES = SPARSE.indptr, SPARSE.indices


def index(value, kind="i8"):
    return archive(indices=np.where(INDICES == 7, np.array(value, kind), INDICES.astype(kind)))


FILES |= {
    "sparse, repeated": (lambda: archive(**doubled()), 2 * SPARSE),
    "sparse, repeated int8": (lambda: archive(**doubled("i1")), 2 * SPARSE),
    **{
        f"sparse, indices {k}": (
            lambda k=k: archive(indices=INDICES.astype(k), indptr=POINTERS.astype(k)),
            SPARSE,
        )
        for k in ("i8", "u8", ">i4", "i2")
    },
    **{
        f"sparse, numbers {k}": (lambda k=k: archive(data=SPARSE.data.astype(k)), SPARSE)
        for k in ("i1", "g", ">f8")
    },
    "sparse, more arrays beside": (lambda: archive(more=np.ones(3)), SPARSE),
}
BAD_FILES |= {
    "sparse, an unknown format": lambda: archive(format=np.array(b"xyz")),
    **{f"sparse, no {p}": partial(archive, **{p: None}) for p in ("indices", "data", "shape")},
    "sparse, index outside": lambda: index(8),
    "sparse, negative index": lambda: index(-1),
    "sparse, huge unsigned index": lambda: index(2**63 + 5, "u8"),
    "sparse, pointers that fall": lambda: archive(
        indptr=np.r_[0, POINTERS[2], POINTERS[1], POINTERS[3:]]
    ),
    "sparse, pointers from one": lambda: archive(indptr=np.r_[1, POINTERS[1:]]),
    "sparse, pointers beyond": lambda: archive(indptr=np.r_[POINTERS[:-1], POINTERS[-1] + 4]),
    "sparse, too few pointers": lambda: archive(indptr=POINTERS[:-1]),
    "sparse, fewer numbers": lambda: archive(data=SPARSE.data[:-1]),
    "sparse, complex": lambda: archive(data=SPARSE.data + 1j),
    "sparse, NaN": lambda: archive(data=np.r_[SPARSE.data[:-1], np.nan]),
    **{
        f"sparse, shape {s}": partial(archive, shape=np.array(s))
        for s in ((39, 8), (40, 3), (40,), (-40, 8), (40, 2**40), (np.nan, 8.0))
    },
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_as_in_memory(name):
    make, plain = FILES[name]
    as_in_memory(make(), plain)


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused(name):
    refused(BAD_FILES[name])


def overwrite(path):
    with open(path, "r+b") as file:
        file.seek(-80, os.SEEK_END)
        file.write(np.full(10, 3.0).tobytes())


def replace(path):
    """Another file of the same size and times takes the place of the file, as tools do."""
    before = os.stat(path)
    Path("new").write_bytes(Path(path).read_bytes()[:-80] + np.full(10, 3.0).tobytes())
    os.replace("new", path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def make_folder(path):
    os.unlink(path)
    os.mkdir(path)


CHANGES = (overwrite, replace, lambda path: os.truncate(path, 300), os.unlink, make_folder)
OPENED = {
    "rows": lambda: npy(X),
    "columns": lambda: npy(np.asfortranarray(X)),
    "map": lambda: np.load(npy(X), mmap_mode="r"),
    "part of a map": lambda: np.load(npy(X), mmap_mode="r")[3:],
    "private map": lambda: np.load(npy(X), mmap_mode="c"),
    "HDF5": hdf5,
}


@pytest.mark.parametrize("change", CHANGES, ids=["overwrite", "replace", "cut", "remove", "folder"])
@pytest.mark.parametrize("name", OPENED)
def test_a_file_that_changes_between_passes_is_never_two_files(name, change):
    blocks = as_blocks(OPENED[name](), block_rows=10)
    before = blocks.map_reduce(lambda block: block.sum(axis=0))
    change(next(path for path in ("m.npy", "m.h5") if os.path.exists(path)))
    try:
        after = blocks.map_reduce(lambda block: block.sum(axis=0))
    except ProvenmfError:
        return
    assert np.array_equal(before, after), "other numbers in the second pass"
