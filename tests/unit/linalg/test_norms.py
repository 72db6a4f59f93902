"""Sums, norms and scales of rows: sparse equals dense, zeros stay, cancellation loses nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.linalg.norms import (
    first_largest,
    orthogonal_part,
    orthonormal_rows,
    row_sums,
    squared_residual_rows,
    unit_rows,
)


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


def test_unit_rows_keep_zero_rows():
    rows = np.array([[3, 4], [0, 0]], dtype=np.float32)
    scaled = unit_rows(rows)
    np.testing.assert_allclose(scaled, [[0.6, 0.8], [0, 0]])
    assert scaled.dtype == np.float64 and rows[0, 0] == 3


def test_orthogonal_part_of_a_nearly_dependent_vector():
    rng = np.random.default_rng(0)
    basis = orthonormal_rows(rng.standard_normal((4, 9)))
    outside = orthogonal_part(rng.standard_normal(9), basis)
    vector = 1e6 * basis.sum(axis=0) + 1e-3 * outside
    part = orthogonal_part(vector, basis)
    np.testing.assert_allclose(basis @ part, 0, atol=1e-13)
    np.testing.assert_allclose(part, 1e-3 * outside, atol=1e-8)


def test_orthonormal_rows_of_a_deficient_matrix():
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((5, 2)) @ rng.standard_normal((2, 7))
    basis = orthonormal_rows(matrix)
    assert basis.shape == (2, 7)
    np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(matrix @ basis.T @ basis, matrix, atol=1e-12)
    assert orthonormal_rows(np.zeros((3, 4))).shape == (0, 4)


def test_first_largest_prefers_the_lowest_within_the_slack():
    scores = np.array([0.5, 1.0 - 1e-14, 1.0, 1.0])
    assert first_largest(scores, 1e-12) == 1
    assert first_largest(scores, 0.0) == 2


DENSE = np.array([[0.0, 2.0, -1.0], [0.0, 0.0, 0.0]])
SPARSE = sp.csr_array(DENSE)


def test_row_sums_are_in_double_precision():
    for block in (DENSE.astype(np.float32), SPARSE.astype(np.float32)):
        sums = row_sums(block)
        np.testing.assert_array_equal(sums, [1, 0])
        assert sums.dtype == np.float64
