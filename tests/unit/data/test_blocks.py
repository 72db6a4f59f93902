"""One interface, many storages: every pass gives the same answer wherever the rows live."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import LocalRows, MappedBlocks, as_blocks
from provenmf.data.base import tree_sum
from provenmf.errors import InvalidInput, UnreadableFile


@pytest.fixture
def matrix():
    return np.random.default_rng(0).random((37, 5))


def npy(matrix, folder):
    path = folder / "matrix.npy"
    np.save(path, matrix)
    return path


def hdf5(matrix, folder):
    h5py = pytest.importorskip("h5py")
    return h5py.File(folder / "matrix.h5", "w").create_dataset("X", data=matrix)


def zarr(matrix, folder):
    return pytest.importorskip("zarr").array(matrix, chunks=(10, 5))


STORAGES = {
    "array": lambda m, folder: m,
    "fortran order": lambda m, folder: np.asfortranarray(m),
    "csr matrix": lambda m, folder: sp.csr_matrix(m),
    "csc array": lambda m, folder: sp.csc_array(m),
    "frame": lambda m, folder: pytest.importorskip("pandas").DataFrame(m),
    "path of npy": npy,
    "text path of npy": lambda m, folder: str(npy(m, folder)),
    "memmap": lambda m, folder: np.load(npy(m, folder), mmap_mode="r"),
    "slice of memmap": lambda m, folder: np.load(npy(np.vstack([m, m]), folder), mmap_mode="r")[
        37:
    ],
    "fortran memmap": lambda m, folder: np.load(npy(np.asfortranarray(m), folder), mmap_mode="r"),
    "hdf5": hdf5,
    "dask": lambda m, folder: pytest.importorskip("dask.array").from_array(m, chunks=(10, 2)),
    "zarr": zarr,
}


def dense(block):
    return block.toarray() if sp.issparse(block) else np.asarray(block)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("block_rows", [None, 1, 10, 37, 1000])
def test_every_storage_gives_the_same_passes(storage, block_rows, matrix, tmp_path):
    blocks = as_blocks(STORAGES[storage](matrix, tmp_path), block_rows=block_rows)
    assert blocks.shape == matrix.shape
    assert blocks.dtype == np.float64
    np.testing.assert_array_equal(dense(blocks.everything()), matrix)
    assert blocks.take(np.zeros(0, int)).shape == (0, 5)
    np.testing.assert_array_equal(
        dense(blocks.take(np.array([30, 2, 36, 2]))), matrix[[30, 2, 36, 2]]
    )
    state = np.arange(37.0)
    total, count = blocks.map_reduce(lambda b, s: (b.T @ s, len(s)), state)
    np.testing.assert_allclose(total, matrix.T @ state)
    assert count == 37
    sums = blocks.map_rows(lambda b: b @ np.ones(5))
    np.testing.assert_allclose(sums, matrix.sum(axis=1))
    row, value = blocks.arg_reduce(lambda b: b @ np.ones(5))
    assert row == matrix.sum(axis=1).argmax()
    assert value == pytest.approx(matrix.sum(axis=1).max())
    row, _ = blocks.arg_reduce(lambda b: b @ np.ones(5), largest=False)
    assert row == matrix.sum(axis=1).argmin()


@pytest.mark.parametrize("block_rows", [1, 3, 8])
def test_ties_go_to_the_lowest_row(block_rows):
    blocks = as_blocks(np.ones((8, 2)), block_rows=block_rows)
    assert blocks.arg_reduce(lambda b: b[:, 0])[0] == 0
    assert blocks.arg_reduce(lambda b: b[:, 0], largest=False)[0] == 0


def test_stored_entries_and_progress(matrix, tmp_path):
    matrix[0] = 0
    for dense in (matrix, npy(matrix, tmp_path)):
        assert as_blocks(dense).stored_entries == 185
    assert as_blocks(sp.csr_array(matrix)).stored_entries == 180
    seen = []
    blocks = as_blocks(matrix, block_rows=10, progress=lambda done, n: seen.append((done, n)))
    blocks.map_reduce(lambda b: b.sum())
    assert seen == [(10, 37), (20, 37), (30, 37), (37, 37)]


@pytest.mark.parametrize("dtype", ["c16", "U3", "M8[s]", "f8"])
def test_what_is_no_real_matrix_is_refused(dtype):
    bad = np.zeros((2, 2, 2) if dtype == "f8" else (2, 2), dtype=dtype)
    with pytest.raises(InvalidInput, match="a matrix is needed|real numbers are needed"):
        as_blocks(bad)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda whole: whole[:-100], "mmap length is greater than file size"),
        (lambda _: b"no", "readable"),
    ],
)
def test_a_foreign_or_truncated_file_is_refused(tmp_path, matrix, content, message):
    path = npy(matrix, tmp_path)
    path.write_bytes(content(path.read_bytes()))
    with pytest.raises(UnreadableFile, match=f"matrix.npy .*{message}"):
        as_blocks(path)


ROWS = np.random.default_rng(0).random((20, 3))


def in_parts(room=np.inf):
    """The rows in parts, of which one has no rows."""
    return LocalRows(20, (ROWS[:7], ROWS[7:7], ROWS[7:]), room)


@pytest.mark.parametrize("rows", [LocalRows.of(ROWS), in_parts(), in_parts(room=0)])
def test_parts_say_what_the_array_says(rows):
    np.testing.assert_allclose(rows.sum(lambda w: w.T @ w), ROWS.T @ ROWS)
    assert max(rows.each(lambda w: w.max(initial=0.0))) == ROWS.max()
    np.testing.assert_array_equal(rows.array(lambda w: w[:, 0]), ROWS[:, 0])
    doubled = rows.map(lambda w: 2 * w)
    assert len(doubled) == len(rows)
    both = rows.sum(lambda a, b: (len(a), float(np.vdot(a, b))), doubled)
    assert both == (20, pytest.approx(2 * np.vdot(ROWS, ROWS)))
    whole = rows.array()
    np.testing.assert_array_equal(whole, ROWS)
    assert rows.array() is whole and np.shares_memory(rows[0], whole)
    assert [len(rows[i]) for i in range(len(rows))] in ([20], [7, 0, 13])


@pytest.mark.parametrize("block_rows", [None, 6])
@pytest.mark.parametrize("factor", [None, 2.0])
def test_one_pass_adds_up_and_keeps(block_rows, factor):
    X, blocks = ROWS, as_blocks(ROWS, block_rows=block_rows)
    if factor is not None:
        blocks, X = MappedBlocks(blocks, lambda block: factor * block), factor * X
    gram, kept = blocks.sum_and_keep(lambda block: (block.T @ block, block[:, :2]))
    np.testing.assert_allclose(gram, X.T @ X)
    np.testing.assert_array_equal(kept.array(), X[:, :2])
    np.testing.assert_array_equal(blocks.map_reduce(lambda block: block.T @ block), gram)
    assert blocks.place(X).array() is X


@pytest.mark.parametrize("leaves", [1, 2, 5, 7, 16, 37])
def test_sums_of_aligned_runs_have_the_bits_of_the_whole_sum(leaves):
    values = np.random.default_rng(leaves).standard_normal(leaves).tolist()
    for run in (2, 4, 8):
        runs = (values[i : i + run] for i in range(0, leaves, run))
        assert tree_sum(map(tree_sum, runs)) == tree_sum(values)
    assert tree_sum(values) == pytest.approx(sum(values))
    assert tree_sum([(1, 2.0), (3, 4.0)]) == (4, 6.0)


@pytest.mark.skipif(os.name != "posix", reason="other systems remove the file at the end")
def test_rows_on_disk_leave_no_file_even_if_the_process_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = in_parts(room=0)
    assert rows._file is not None and not list(tmp_path.iterdir())
    np.testing.assert_array_equal(rows.array(), in_parts().array())
