"""Products with the rows of clusters and their leading singular vectors, against numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.methods.cones.kernels import (
    leading_directions,
)


def leading_by_svd(X):
    return np.abs(np.linalg.svd(X)[2][0])


@pytest.fixture
def clustered():
    rng = np.random.default_rng(0)
    X = rng.random((120, 15)) * (rng.random((120, 15)) < 0.6) + 0.01 * (rng.random((120, 15)) < 0.1)
    return X, rng.integers(-1, 5, size=120)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("block_rows", [None, 11])
def test_equals_the_svd(clustered, store, block_rows):
    X, labels = clustered
    blocks = as_blocks(store(X), block_rows=block_rows)
    vectors, residuals = leading_directions(blocks, labels, 5, tol=1e-10, max_passes=200)
    assert residuals.max() <= 1e-10
    for k in range(5):
        np.testing.assert_allclose(vectors[k], leading_by_svd(X[labels == k]), atol=1e-8)


def test_slowly_converging_clusters_restart():
    # Nearly equal leading singular values: eight Lanczos steps are not enough.
    rng = np.random.default_rng(1)
    X = np.eye(60) + 1e-3 * rng.random((60, 60))
    labels = np.zeros(60, dtype=np.intp)
    vectors, residuals = leading_directions(as_blocks(X), labels, 1, tol=1e-9, max_passes=500)
    assert residuals[0] <= 1e-9
    energy = np.linalg.norm(X @ vectors[0])
    assert energy == pytest.approx(np.linalg.svd(X, compute_uv=False)[0], rel=1e-12)


def test_one_row_and_no_row():
    X = np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 5.0]])
    labels = np.array([0, 2, 2])
    vectors, residuals = leading_directions(as_blocks(X), labels, 3, tol=1e-12, max_passes=50)
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]], atol=1e-12)
    assert (residuals <= 1e-12).all()


def test_disjoint_rows_in_one_cluster_find_the_stronger_part():
    # The leading vector is orthogonal to the first row: the start must not miss it.
    X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.1], [0.0, 2.0, 0.0]])
    labels = np.zeros(3, dtype=np.intp)
    vectors, _ = leading_directions(as_blocks(X), labels, 1, tol=1e-12, max_passes=100)
    np.testing.assert_allclose(vectors[0], leading_by_svd(X), atol=1e-9)


def test_exhausted_clusters_are_not_spoilt_by_slow_ones():
    # Rank one and rank sixty together: the first waits for dozens of steps.
    rng = np.random.default_rng(2)
    direction = rng.random(60)
    X = np.vstack([np.outer(rng.random(9), direction), np.eye(60) + 0.01 * rng.random((60, 60))])
    labels = np.repeat([0, 1], [9, 60])
    vectors, _ = leading_directions(as_blocks(X), labels, 2, tol=1e-11, max_passes=400)
    np.testing.assert_allclose(vectors[0], direction / np.linalg.norm(direction), atol=1e-12)
