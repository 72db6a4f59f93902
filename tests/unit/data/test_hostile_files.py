"""Files on disk that are damaged, change while they are read, or hold unusual numbers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import InvalidInput
from provenmf.data import as_blocks
from provenmf.errors import UnreadableFile
from provenmf.io.rows import convert

X = np.random.default_rng(0).integers(1, 100, (40, 8)).astype(float)


def sums(blocks):
    return blocks.map_reduce(lambda block: np.asarray(block.sum(axis=0)))


def saved(path, array):
    with open(path, "wb") as file:
        np.save(file, array)
    return path


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_copy_with_the_time_of_the_file_is_noticed(order, tmp_path):
    path = saved(tmp_path / "m.npy", np.array(X, order=order))
    before, blocks = path.stat(), as_blocks(path, block_rows=7)
    np.testing.assert_allclose(sums(blocks), X.sum(axis=0))
    os.replace(saved(tmp_path / "new", np.array(X + 1, order=order)), path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(UnreadableFile, match="changed while it was read"):
        sums(blocks)


SHRINKS = """
import os, sys
import numpy as np
from provenmf.data import as_blocks
from provenmf.errors import UnreadableFile
mapped = np.load("m.npy", mmap_mode=sys.argv[1])
blocks = as_blocks(mapped[int(sys.argv[2]):] if int(sys.argv[2]) else mapped, block_rows=7)
os.truncate("m.npy", 0)
try:
    blocks.read(0, 7)
except UnreadableFile:
    print("noticed")
"""


@pytest.mark.parametrize(("mode", "first"), [("r", 0), ("r", 3), ("c", 0)])
def test_a_map_of_a_file_that_shrinks_does_not_end_the_process(mode, first, tmp_path):
    saved(tmp_path / "m.npy", np.asfortranarray(X))
    command = [sys.executable, "-c", SHRINKS, mode, str(first)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "noticed\n", (done.returncode, done.stderr)


def test_changes_of_a_private_map_count(tmp_path):
    mapped = np.load(saved(tmp_path / "m.npy", X), mmap_mode="c")
    mapped += 1
    np.testing.assert_allclose(sums(as_blocks(mapped)), (X + 1).sum(axis=0))


def test_hdf5_that_is_no_matrix_is_refused_by_name(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        found = file.create_dataset("X", data=X, chunks=(10, 8), compression="gzip")
        place = found.id.get_chunk_info(2).byte_offset
        file["empty"] = h5py.Empty("f8")
        for what in (file, file["empty"]):
            with pytest.raises(InvalidInput, match="X is <HDF5"):
                as_blocks(what)
    with pytest.raises(InvalidInput, match="Closed HDF5 dataset.*open file"):
        as_blocks(found)
    content = bytearray(Path(tmp_path, "m.h5").read_bytes())
    content[place : place + 30] = bytes(30)
    Path(tmp_path, "m.h5").write_bytes(content)
    with (
        h5py.File(tmp_path / "m.h5") as file,
        pytest.raises(UnreadableFile, match="rows .* of X cannot be read"),
    ):
        sums(as_blocks(file["X"]))


def test_zarr_that_is_damaged_or_no_array_is_refused_by_name(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(tmp_path / "m.zarr"), data=X, chunks=(10, 8))
    chunks = [path for path in (tmp_path / "m.zarr").rglob("*") if path.parent.name.isdecimal()]
    chunks[0].write_bytes(b"damaged")
    with pytest.raises(UnreadableFile, match="rows .* of X cannot be read"):
        sums(as_blocks(array))
    with pytest.raises(InvalidInput, match="give an array that is in it"):
        as_blocks(zarr.open_group(str(tmp_path / "g.zarr"), mode="w"))


def stored(path, parts):
    """Sparse rows, each entry twice, with some arrays replaced."""
    rows = sp.csr_array(X * (X > 40))
    pairs = [np.tile(np.arange(a, b), 2) for a, b in zip(rows.indptr, rows.indptr[1:])]
    order = np.concatenate(pairs)
    usual = {"indices": rows.indices[order], "data": rows.data[order], "indptr": 2 * rows.indptr}
    np.savez(path, **{**usual, "format": b"csr", "shape": rows.shape, **parts(usual)})
    return path, 2 * rows.toarray()


@pytest.mark.parametrize("kind", ["i1", "u1", "f2", ">f8", ">f4", ">i2"])
def test_numbers_that_scipy_lacks_or_that_overflow(kind, tmp_path):
    path, dense = stored(tmp_path / "m.npz", parts=lambda u: {"data": u["data"].astype(kind)})
    blocks = as_blocks(path)
    np.testing.assert_array_equal(blocks.read(0, 40).toarray(), dense)
    np.testing.assert_array_equal(blocks.take(np.array([3, 1])).toarray(), dense[[3, 1]])
    convert(path, tmp_path / "out.npz")
    np.testing.assert_array_equal(sp.load_npz(tmp_path / "out.npz").toarray(), dense)


@pytest.mark.parametrize("kind", ["loop", "nowhere", "long", "zero"])
def test_targets_that_cannot_be_written_are_refused_by_name(kind, tmp_path):
    target = tmp_path / {"long": "o" * 300 + ".npz", "zero": "a\0.npz"}.get(kind, "out.npz")
    if kind in ("loop", "nowhere"):
        target.symlink_to("out.npz" if kind == "loop" else "no/where.npz")
    with pytest.raises(InvalidInput, match="cannot write"):
        convert(saved(tmp_path / "m.npy", X), target)
