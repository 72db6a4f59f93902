"""Divergences and their lower bounds against plain sums and a general optimiser."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlogy

from provenmf.methods.poisson.guarantee import excess


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
    np.testing.assert_allclose(found.column_pull, (X / (W @ C)).T @ W, rtol=1e-12)
    np.testing.assert_allclose(found.column_logs, xlogy(X, X / (W @ C)).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.log_sizes, abs(xlogy(X, X / (W @ C))).sum(axis=1), rtol=1e-9)
    assert (found.least <= found.rows * (1 + 1e-12)).all() and found.least.sum() > 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("mean", [0.0, -1.0])
def test_a_product_that_is_not_positive_makes_the_divergence_infinite(mean):
    X = np.array([[1.0, 2.0]])
    found = excess(X, np.array([[1.0]]), np.array([[1.0, mean]]))
    assert np.isinf(found.rows[0])
