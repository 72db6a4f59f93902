"""Sparse rows of unusual numbers, and targets that cannot be written."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import InvalidInput
from provenmf.data import as_blocks
from provenmf.io.rows import convert

X = np.random.default_rng(0).integers(1, 100, (40, 8)).astype(float)


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
    np.save(tmp_path / "m.npy", X)
    with pytest.raises(InvalidInput, match="cannot write"):
        convert(tmp_path / "m.npy", target)
