"""Newton sweeps of Poisson regression against a plain loop."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.methods.poisson import kernels
from provenmf.methods.poisson.guarantee import excess


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
        multiplicative = w[i] * (x * L[i] / u).sum() / L[i].sum()
        longer = abs(w[i] - multiplicative) > abs(step)
        w[i] = max(multiplicative if longer else w[i] - step, floor)
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
    moved = kernels.sweep_in_place(x, L, L.sum(axis=1), found, u, 1e-9, root)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(u, found @ L, rtol=1e-9)
    assert moved == pytest.approx(np.abs(found - w).max())
    assert objective(x, L, found) <= objective(x, L, w) + 1e-9


def test_one_coordinate_of_many_rows_is_a_coordinate_of_their_sweeps():
    rng = np.random.default_rng(0)
    L = rng.gamma(0.5, 1, (4, 15)) + 1e-3
    X = rng.poisson(rng.gamma(0.3, 3, (12, 4)) @ L).astype(float)
    X[0], X[1:, 0] = 0, X[1:, 0] + 1
    W = rng.gamma(0.3, 10.0, (12, 4)) + 1e-6
    ratio = X / (W @ L)
    pull, curvature = ratio @ L[0], (ratio / (W @ L)) @ L[0] ** 2
    least = np.where(X > 0, X, np.inf).min(axis=1)
    found = W[:, 0].copy()
    kernels.step_coordinate_in_place(found, L[0].sum(), pull, curvature, 1e-9, 1 / np.sqrt(least))
    expected = [w[0] if not x.any() else plain_sweep(x, L, w, 1e-9)[0] for x, w in zip(X, W)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    values = W[1, 0], L[0].sum(), pull[1], curvature[1], 1e-9, 1 / np.sqrt(least[1])
    assert kernels.stepped(*values) == found[1]


@pytest.mark.parametrize("seed", range(20))
def test_entries_of_any_size_are_fitted(seed):
    """The sweep's damping follows the least entry; with it alone nothing moved."""
    rng = np.random.default_rng(seed)
    X, L = 10.0 ** rng.uniform(-20, 20, (5, 6)), 10.0 ** rng.uniform(-20, 20, (3, 6))
    weights, found = np.repeat(X.sum(axis=1)[:, None] / L.sum(), 3, axis=1), np.empty(5)
    kernels.improve_dense_rows_in_place(X, L, L.sum(axis=1), weights, found, 1000, 0.0, 1e-12)
    measured = excess(X, weights, L)
    assert (found - measured.least <= 1e-3 * X.sum(axis=1)).all()


def test_dense_and_sparse_rows_agree_with_each_other_and_with_the_algebra():
    rng = np.random.default_rng(0)
    C = rng.gamma(0.5, 1, (3, 20)) + 1e-3
    X = rng.poisson(rng.gamma(0.5, 2, (10, 3)) @ C).astype(float)
    X[4] = 0
    start = np.ones((10, 3))
    dense = start.copy(), np.empty(10)
    sparse = start.copy(), np.empty(10)
    csr = sp.csr_array(X)
    kernels.improve_dense_rows_in_place(X, C, C.sum(axis=1), *dense, 200, 0.0, 1e-12)
    kernels.improve_sparse_rows_in_place(
        csr.indptr, csr.indices, csr.data, C.T.copy(), C.sum(axis=1), *sparse, 200, 0.0, 1e-12
    )
    for one, other in zip(dense, sparse):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    measured = excess(X, dense[0], C)
    np.testing.assert_allclose(dense[1], measured.rows, rtol=1e-9, atol=1e-9)
    assert (dense[1] - measured.least <= 1e-8 * np.maximum(X.sum(axis=1), 1)).all()
    assert dense[0][4].sum() == 0


def test_a_joint_step_is_that_of_newton():
    rng = np.random.default_rng(0)
    L = rng.random((3, 30)) + 0.1
    w = np.array([2.0, 1.0, 0.0])
    x = 1.01 * w @ L + 0.01 * rng.random(30)
    u, free = w @ L, L[:2]
    slope = free.sum(axis=1) - free @ (x / u)
    hessian = (free * x / u**2) @ free.T
    expected = w - np.append(np.linalg.solve(hessian, slope), 0.0)
    kernels.joint_step_in_place(x, L, L.sum(axis=1), w, u)
    np.testing.assert_allclose(w, expected, rtol=1e-9)
    np.testing.assert_allclose(u, w @ L)


@pytest.mark.parametrize("seed", range(10))
def test_joint_steps_lower_the_divergence_and_keep_weights_positive(seed):
    rng = np.random.default_rng(seed)
    L = 10.0 ** rng.uniform(-3, 3, (5, 12))
    x, w = rng.poisson(3.0, 12).astype(float), 10.0 ** rng.uniform(-6, 3, 5)
    before, u = w.copy(), w @ L
    value = kernels.divergence_of_row(x, u, w @ L.sum(axis=1))
    kernels.joint_step_in_place(x, L, L.sum(axis=1), w, u)
    assert (w >= 0.0099 * before).all()
    assert kernels.divergence_of_row(x, u, w @ L.sum(axis=1)) <= value * (1 + 1e-12)


def test_components_that_are_alike_are_no_obstacle():
    """A thousand sweeps of single weights end far from the minimum here."""
    rng = np.random.default_rng(0)
    L = 1 + 0.1 * rng.random((6, 80))
    x = rng.poisson(20 * rng.dirichlet(np.ones(6)) @ L).astype(float)
    w, u, sums = np.ones(6), np.empty(80), L.sum(axis=1)
    kernels.improve_row_in_place(x, L, sums, w, u, 60, 0.0, 1e-10)
    slope = sums - L @ (x / (w @ L))
    assert (slope >= -1e-8 * sums).all() and abs(slope @ w) <= 1e-8 * x.sum()


def test_products_that_cancel_are_mixed_again():
    """The first weight falls to the floor: u is then far below the rounding of what it was."""
    L = np.array([[1.0, 1.0], [1e-3, 0.0]])
    x, w = np.array([1e-9, 0.0]), np.array([1e8, 1e-12])
    u = w @ L
    for _ in range(300):
        kernels.sweep_in_place(x, L, L.sum(axis=1), w, u, 1e-12, 1 / np.sqrt(1e-9))
        np.testing.assert_allclose(u, w @ L, rtol=1e-5)


LARGER = [[1.02, 0.0, 0.0], [0.0, 0.0, 0.62], [0.0, 7.47, 0.0], [0.52, 0.81, 1.02]]
ONE = [[0.0, 0.0, 12.6, 0.0], [0.0, 0.77, 0.0, 0.34], [3.16, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("x", "features"),
    [([size] * 3, LARGER) for size in (2.2e-308, 5e-324, 1e-300)]
    + [([2.2e-308, 0.93, 2.2e-308, 2.2e-308], ONE)],
)
def test_the_smallest_numbers_have_finite_weights(x, features):
    """1 / u overflowed, and infinity less infinity is no number."""
    x, features = np.array(x), np.array(features)
    w = np.full(len(features), 0.3)
    divergence = kernels.improve_row_in_place(
        x, features, features.sum(axis=1), w, np.empty(len(x)), 200, 0.0, 1e-12
    )
    assert np.isfinite(w).all() and np.isfinite(divergence) and w.min() >= 0
    if x[0] > 1e-307:  # the others have no digits
        np.testing.assert_allclose(w @ features, x, rtol=1e-3)
    if x.max() > 0.5:
        np.testing.assert_allclose(w[1], 0.93 / 1.11)
