"""Products with the rows of each cluster against masks and matrix products."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.methods.cones import kernels


@pytest.fixture
def problem():
    """Rows, a visiting order that leaves three of them out, their clusters, a vector for each."""
    rng = np.random.default_rng(0)
    block = rng.random((25, 6)) * (rng.random((25, 6)) < 0.6)
    return block, rng.permutation(25)[:22], rng.integers(0, 4, 25), rng.standard_normal((4, 6))


def members(order, labels, cluster):
    return np.array([i for i in order if labels[i] == cluster])


def test_add_gram_products(problem):
    block, order, labels, vectors = problem
    sums = np.ones((4, 6))
    kernels.add_gram_products(block, order, labels, vectors, sums)
    for k in range(4):
        rows = block[members(order, labels, k)]
        np.testing.assert_allclose(sums[k], 1 + rows.T @ (rows @ vectors[k]), atol=1e-13)


def test_add_sparse_gram_products(problem):
    block, order, labels, vectors = problem
    stored = sp.csr_array(block)
    sums, dense = np.ones((4, 6)), np.ones((4, 6))
    kernels.add_sparse_gram_products(
        stored.indptr, stored.indices, stored.data, order, labels, vectors, sums
    )
    for k in range(4):
        rows = block[members(order, labels, k)]
        dense[k] += rows.T @ (rows @ vectors[k])
    np.testing.assert_allclose(sums, dense, atol=1e-13)


def test_fill_products_with_own_vector(problem):
    block, order, labels, vectors = problem
    products = np.full(25, -7.0)
    kernels.fill_products_with_own_vector(block, order, labels, vectors, products)
    for i in range(25):
        expected = block[i] @ vectors[labels[i]] if i in order else -7.0
        assert products[i] == pytest.approx(expected, abs=1e-13)


def test_add_scaled_rows(problem):
    block, order, labels, _ = problem
    factors, sums = np.arange(25.0), np.ones((4, 6))
    kernels.add_scaled_rows(block, order, labels, factors, sums)
    for k in range(4):
        chosen = members(order, labels, k)
        np.testing.assert_allclose(sums[k], 1 + factors[chosen] @ block[chosen], atol=1e-12)
