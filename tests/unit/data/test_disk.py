"""Files that are read block by block: in order, ahead, and never other than they were opened."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import HALS, SPA
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput, UnreadableFile


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((60, 5)))
    return tmp_path / "X.npy"


def test_the_next_block_is_read_while_one_is_worked_on(path):
    blocks = as_blocks(path, block_rows=20)
    read, second = blocks.read, threading.Event()

    def noted(start, stop):
        if start == 20:
            second.set()
        return read(start, stop)

    blocks.read = noted
    starts = [start for start, _, there in blocks.each(lambda b: second.wait(30)) if there]
    assert starts == [0, 20, 40]


def test_an_error_of_the_reader_is_raised_and_a_pass_may_be_left(path):
    blocks = as_blocks(path, block_rows=10)
    assert next(blocks.each(len))[2] == 10
    path.unlink()
    with pytest.raises(UnreadableFile, match="can no longer be read"):
        blocks.map_reduce(len)


@pytest.mark.parametrize("model", [SPA(2), HALS(2)])
def test_the_first_bad_entry_is_named(path, model):
    X = np.load(path)
    X[47, 3] = np.inf
    np.save(path, X)
    message = r"infinity in 1 entries, the first of them in row 47 \(block 2\)"
    with pytest.raises(InvalidInput, match=message):
        model.fit(as_blocks(path, block_rows=20))


def test_the_first_missing_entry_of_sparse_rows_is_named():
    da = pytest.importorskip("dask.array")
    X = np.where(np.eye(9) > 0, 1.0, 0)
    X[6, 6] = np.nan
    rows = da.from_array(X, chunks=(4, 9)).map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    with pytest.raises(InvalidInput, match=r"NaN in 1 entries, the first of them in row 6 \(block"):
        SPA(2).fit(rows)
