"""Threaded sparse products against scipy's."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.linalg.products import SMALL_WORK, product, transposed_product


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.01, 0.5])
def test_equal_to_scipy(dtype, density, threads, monkeypatch):
    monkeypatch.setattr("provenmf.linalg.products.available_threads", lambda: int(threads))
    rng = np.random.default_rng(0)
    stored = rng.random((700, 300)) < density
    block = sp.csr_array(np.where(stored, rng.random((700, 300)), 0).astype(dtype))
    left, right = rng.random((700, 13)).astype(dtype), rng.random((300, 13)).astype(dtype)
    right.flags.writeable = False
    assert (block.nnz * 13 > SMALL_WORK) == (density == 0.5)
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(product(block, right), block @ right, rtol=tolerance)
    transposed = transposed_product(block, left)
    np.testing.assert_allclose(transposed, block.T @ left, rtol=tolerance)
    assert transposed.dtype == dtype and product(block, right).dtype == dtype
