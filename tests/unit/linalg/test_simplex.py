"""Projection onto the simplex against the quadratic program it solves."""

import numpy as np
import pytest

from provenmf.linalg.nnls import simplex_least_squares
from provenmf.linalg.simplex import project_to_simplex


def test_equals_simplex_least_squares_with_the_identity():
    rows = np.random.default_rng(0).standard_normal((200, 9))
    expected = simplex_least_squares(np.eye(9), rows)
    np.testing.assert_allclose(project_to_simplex(rows), expected, atol=1e-12)


def test_points_of_the_simplex_stay():
    points = np.random.default_rng(1).dirichlet(np.ones(5), size=20)
    np.testing.assert_allclose(project_to_simplex(points), points, atol=1e-14)


def test_one_vector_and_extreme_values():
    np.testing.assert_array_equal(project_to_simplex(np.array([3.0, 0.0])), [1.0, 0.0])
    np.testing.assert_array_equal(project_to_simplex(np.array([7.0])), [1.0])
    huge = np.array([[1e300, -1e300, 0.0], [-1e300, -1e300, -1e300]])
    np.testing.assert_allclose(project_to_simplex(huge), [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keeps_precision_and_argument(dtype):
    rows = np.array([[0.2, 0.5, -1.0]], dtype=dtype)
    before = rows.copy()
    assert project_to_simplex(rows).dtype == dtype
    np.testing.assert_array_equal(rows, before)
