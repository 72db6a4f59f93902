"""Sparse rows on disk: the file, its blocks, and the answers of methods that read it."""

import numpy as np
import pytest
import scipy.sparse as sp

import provenmf.data.disk as sparse_disk
from provenmf import factorize
from provenmf.data import as_blocks
from provenmf.errors import UnreadableFile
from provenmf.io import read_table
from provenmf.io.rows import convert, open_sparse_rows, write_sparse_rows


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(4), rng.dirichlet(np.full(4, 0.4), 196)])
    corners = rng.random((4, 30)) * (rng.random((4, 30)) > 0.5)
    dense = weights * (weights > 0.2) @ corners
    dense[17] = 0
    return sp.csr_array(dense)


@pytest.fixture
def path(tmp_path, rows, monkeypatch):
    """Written in uneven chunks, read in many blocks."""
    monkeypatch.setattr(sparse_disk, "BLOCK_BYTES", 12 * 400)
    path = tmp_path / "rows.npz"
    chunks = [rows[:1], rows[1:1], rows[1:90], rows[90:]]
    names = {"rows": [f"r{i}" for i in range(200)], "columns": [f"c{j}" for j in range(30)]}
    assert write_sparse_rows(path, chunks, 30, names) == (200, rows.nnz)
    return path


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and (a != b).nnz == 0


def test_scipy_and_our_reader_read_the_file(path, rows):
    assert same(sp.load_npz(path), rows)
    table = read_table(path)
    assert same(table.matrix, rows)
    assert table.row_names[3] == "r3" and table.column_names[-1] == "c29"


def test_blocks_cover_the_rows_in_order_with_equal_numbers_of_entries(path, rows):
    blocks = as_blocks(path)
    ranges = list(blocks.ranges())
    assert len(ranges) > 3 and ranges[0][0] == 0 and ranges[-1][1] == 200
    assert all(a[1] == b[0] for a, b in zip(ranges, ranges[1:]))
    parts = [blocks.read(*bounds) for bounds in ranges]
    assert max(part.nnz + part.shape[0] for part in parts) <= 400
    assert same(sp.csr_array(sp.vstack(parts)), rows)
    assert same(blocks.everything(), rows) and blocks.stored_entries == rows.nnz
    some = np.array([5, 3, 199, 17, 5])
    assert same(blocks.take(some), sp.csr_array(rows[some]))
    assert blocks.take(np.zeros(0, int)).shape == (0, 30)
    assert [b - a for a, b in as_blocks(path, block_rows=60).ranges()] == [60, 60, 60, 20]


METHODS = (
    "spa xray fast_anchor fast_gradient cones and_descent purification hals anls poisson merit"
)


@pytest.mark.parametrize("method", METHODS.split())
def test_every_method_gives_the_answer_of_memory(path, rows, method):
    more = {"max_iter": 8} if method in ("hals", "anls", "poisson", "and_descent") else {}
    there = factorize(rows, 4, method=method, random_state=0, **more)
    here = factorize(path, 4, method=method, random_state=0, **more)
    np.testing.assert_allclose(here.components, there.components, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(here.weights, there.weights, rtol=1e-6, atol=1e-8)
    if there.anchors is not None:
        np.testing.assert_array_equal(here.anchors, there.anchors)


def test_compressed_archives_and_other_arrays_are_no_rows_on_disk(tmp_path, rows):
    sp.save_npz(tmp_path / "small.npz", rows)
    sp.save_npz(tmp_path / "columns.npz", sp.csc_array(rows), compressed=False)
    np.savez(tmp_path / "dense.npz", X=rows.toarray())
    for name in ("small", "columns", "dense"):
        assert open_sparse_rows(tmp_path / f"{name}.npz") is None
        with pytest.raises(UnreadableFile, match="convert"):
            as_blocks(tmp_path / f"{name}.npz")
    with pytest.raises(UnreadableFile, match="does not exist"):
        as_blocks(tmp_path / "nothing.npz")


def forged(path, **changes):
    """The same archive with some arrays replaced."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    np.savez(path, **{**arrays, **changes})


def test_names_that_do_not_fit_are_refused(path):
    for names in (b"{", b'{"rows": ["a"]}', b'{"columns": [1]}', b"[]"):
        forged(path, names=np.frombuffer(names, dtype=np.uint8))
        with pytest.raises(UnreadableFile):
            open_sparse_rows(path).names()
        with pytest.raises(UnreadableFile):
            read_table(path)


def test_an_interrupted_or_failing_source_leaves_nothing(tmp_path, rows):
    def broken(error):
        yield rows[:50]
        raise error

    target = tmp_path / "out.npz"
    for error in (KeyboardInterrupt(), UnreadableFile("line 3 is no good")):
        with pytest.raises(type(error)):
            write_sparse_rows(target, broken(error), 30)
        assert list(tmp_path.iterdir()) == []


def test_converted_entries_that_are_stored_twice_do_not_overflow(tmp_path):
    arrays = {"indices": [2, 2, 0, 0], "indptr": [0, 2, 4], "data": np.full(4, 100, "i1")}
    np.savez(tmp_path / "m.npz", format=b"csr", shape=(2, 3), **arrays)
    assert convert(tmp_path / "m.npz", tmp_path / "out.npz") == (2, 2)
    found = sp.load_npz(tmp_path / "out.npz").toarray()
    np.testing.assert_array_equal(found, [[0, 0, 200], [200, 0, 0]])
    assert open_sparse_rows(tmp_path / "out.npz").names() == (None, None)
