import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.methods.cones.clusters import (
    cluster_order,
    combine_rows,
    gram_products,
    products_with_own_vector,
)


@pytest.fixture(params=[np.asarray, sp.csr_array, np.asfortranarray])
def problem(request):
    rng = np.random.default_rng(0)
    X = rng.random((30, 8)) * (rng.random((30, 8)) < 0.5)
    return X, request.param(X), rng.integers(-1, 4, size=30), rng.standard_normal((4, 8))


def test_products_with_own_vector(problem):
    X, stored, labels, vectors = problem
    expected = [x @ vectors[k] if k >= 0 else 0.0 for x, k in zip(X, labels)]
    np.testing.assert_allclose(products_with_own_vector(stored, labels, vectors), expected)


def test_gram_products(problem):
    X, stored, labels, vectors = problem
    expected = [X[labels == k].T @ (X[labels == k] @ vectors[k]) for k in range(4)]
    np.testing.assert_allclose(gram_products(stored, labels, vectors), expected, atol=1e-14)


def test_combine_rows(problem):
    X, stored, labels, _ = problem
    factors = np.arange(30.0)
    expected = [factors[labels == k] @ X[labels == k] for k in range(4)]
    np.testing.assert_allclose(combine_rows(stored, labels, factors, 4), expected)


def test_order_goes_cluster_after_cluster():
    assert cluster_order(np.array([2, -1, 0, 2, 0])).tolist() == [2, 4, 0, 3]
    assert cluster_order(np.array([-1, -1])).tolist() == []
