"""Products of a CSR matrix, row range by row range, against dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.linalg import products as kernels


@pytest.fixture(params=[np.float64, np.float32])
def matrix(request):
    rng = np.random.default_rng(2)
    dense = (rng.random((11, 7)) * (rng.random((11, 7)) < 0.4)).astype(request.param)
    dense[4] = 0
    return dense, sp.csr_array(dense)


def test_multiply_rows(matrix):
    dense, stored = matrix
    right = np.random.default_rng(3).random((7, 3)).astype(dense.dtype)
    out = np.full((11, 3), 5, dtype=dense.dtype)
    kernels.multiply_rows_in_place(stored.indptr, stored.indices, stored.data, right, 2, 9, out)
    np.testing.assert_allclose(out[2:9], dense[2:9] @ right, rtol=1e-5)
    assert (out[:2] == 5).all() and (out[9:] == 5).all()


def test_add_transposed_product(matrix):
    dense, stored = matrix
    left = np.random.default_rng(4).random((11, 3)).astype(dense.dtype)
    out = np.full((7, 3), 5, dtype=dense.dtype)
    kernels.add_transposed_product_in_place(
        stored.indptr, stored.indices, stored.data, left, 2, 9, out
    )
    np.testing.assert_allclose(out, 5 + dense[2:9].T @ left[2:9], rtol=1e-5)
