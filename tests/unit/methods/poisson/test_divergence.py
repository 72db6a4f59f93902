"""Divergences and their lower bounds against plain sums and a general optimiser."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from provenmf.methods.poisson.guarantee import excess, least_divergences


def plain_divergences(X, W, C):
    U = W @ C
    logs = np.where(X > 0, X * np.log(np.where(X > 0, X, 1.0) / U), 0.0)
    return (logs - X + U).sum(axis=1)


@pytest.fixture
def problem():
    rng = np.random.default_rng(3)
    W, C = rng.gamma(0.5, 1, (12, 3)), rng.gamma(0.5, 1, (3, 9))
    return rng.poisson(W @ C).astype(float), W, C


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_excess_equals_plain_sums(problem, form):
    X, W, C = problem
    found = excess(form(X), W, C)
    np.testing.assert_allclose(found.rows, plain_divergences(X, W, C), rtol=1e-12)
    np.testing.assert_allclose(found.row_pull, (X / (W @ C)) @ C.T, rtol=1e-12)
    np.testing.assert_allclose(found.column_pull, (X / (W @ C)).T @ W, rtol=1e-12)
    np.testing.assert_allclose(found.column_logs.sum(), found.row_logs.sum(), rtol=1e-12)


def test_lower_bound_is_below_the_best_weights_and_meets_them(problem):
    X, W, C = problem
    found = excess(X, W, C)
    bounds = least_divergences(found.row_logs, X.sum(axis=1), found.row_pull, C.sum(axis=1))
    for row, bound in zip(X, bounds):
        best = minimize(
            lambda w, row=row: plain_divergences(row[None], np.exp(w)[None], C)[0],
            np.zeros(3),
            method="BFGS",
            options={"gtol": 1e-10},
        )
        assert bound <= best.fun + 1e-9
        at_best = excess(row[None], np.exp(best.x)[None], C)
        sharp = least_divergences(
            at_best.row_logs, row.sum(keepdims=True), at_best.row_pull, C.sum(axis=1)
        )
        assert sharp[0] == pytest.approx(best.fun, abs=1e-3 * max(1.0, row.sum()))


def test_a_vanishing_product_makes_the_divergence_infinite():
    X = np.array([[1.0, 2.0]])
    found = excess(X, np.array([[1.0]]), np.array([[1.0, 0.0]]))
    assert np.isinf(found.rows[0])
