"""Newton sweeps of Poisson regression against a plain loop."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.kernels.poisson import rows as kernels
from provenmf.linalg.divergence import excess, least_divergences


def plain_sweep(x, L, w, floor):
    w = w.copy()
    root = 1 / np.sqrt(x[x > 0].min())
    for i in range(len(w)):
        u = w @ L
        slope = L[i].sum() - (x * L[i] / u).sum()
        curvature = (x * (L[i] / u) ** 2).sum()
        step = slope / curvature
        decrement = root * abs(slope) / np.sqrt(curvature)
        if slope > 0 and decrement > 0.683:
            step /= 1 + decrement
        w[i] = max(w[i] - step, floor)
    return w


def objective(x, L, w):
    u = w @ L
    return u.sum() - (x[x > 0] * np.log(u[x > 0])).sum()


@pytest.mark.parametrize("seed", range(20))
def test_a_sweep_equals_the_plain_one_and_never_raises_the_objective(seed):
    rng = np.random.default_rng(seed)
    L = rng.gamma(0.5, 1, (4, 15)) + 1e-3
    x = rng.poisson(rng.gamma(0.3, 3, 4) @ L).astype(float)
    x[0] += 1
    w = rng.gamma(0.3, 10.0, 4) + 1e-6
    expected = plain_sweep(x, L, w, 1e-9)
    found, u = w.copy(), w @ L
    root = 1 / np.sqrt(x[x > 0].min())
    kernels.sweep_in_place(x, L, L.sum(axis=1), found, u, 1e-9, root)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(u, found @ L, rtol=1e-9)
    assert objective(x, L, found) <= objective(x, L, w) + 1e-9


def test_dense_and_sparse_rows_agree_with_each_other_and_with_the_algebra():
    rng = np.random.default_rng(0)
    C = rng.gamma(0.5, 1, (3, 20)) + 1e-3
    X = rng.poisson(rng.gamma(0.5, 2, (10, 3)) @ C).astype(float)
    X[4] = 0
    start = np.ones((10, 3))
    dense = start.copy(), np.empty(10), np.empty(10)
    sparse = start.copy(), np.empty(10), np.empty(10)
    csr = sp.csr_array(X)
    kernels.improve_dense_rows_in_place(X, C, C.sum(axis=1), *dense, 200, 0.0, 1e-9)
    kernels.improve_sparse_rows_in_place(
        csr.indptr, csr.indices, csr.data, C.T.copy(), C.sum(axis=1), *sparse, 200, 0.0, 1e-9
    )
    for one, other in zip(dense, sparse):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    measured = excess(X, dense[0], C)
    np.testing.assert_allclose(dense[1], measured.rows, rtol=1e-9, atol=1e-9)
    bounds = least_divergences(measured.row_logs, X.sum(axis=1), measured.row_pull, C.sum(axis=1))
    assert (dense[1] - bounds <= 1e-8 * np.maximum(X.sum(axis=1), 1)).all()
    assert dense[0][4].sum() == 0
