"""Residuals of sparse rows are those of dense rows, even where large weights cancel."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.linalg.norms import squared_residual_rows


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_sparse_equals_dense(size):
    rng = np.random.default_rng(0)
    first = rng.random(6)
    components = np.vstack([first, first + rng.random(6) / size, rng.random(6)])
    weights = rng.random((10, 3))
    weights[:, 0] += size
    weights[:, 1] -= size
    data = weights @ components + 1e-3 * rng.random((10, 6))
    dense = squared_residual_rows(data, weights, components)
    np.testing.assert_allclose(
        squared_residual_rows(sp.csr_array(data), weights, components), dense, rtol=1e-5
    )
