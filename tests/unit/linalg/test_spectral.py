import numpy as np
import pytest

from provenmf.linalg.spectral import dense_eigenpairs, value_of_largest_size


@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_the_value_of_largest_size_is_that_of_the_full_decomposition(turned):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((80, 80))
    matrix = turned * (half + half.T + 30 * np.ones((80, 80)))
    values = np.linalg.eigvalsh(matrix)
    found = value_of_largest_size(lambda v: matrix @ v, rng.standard_normal(80))
    assert found == pytest.approx(values[np.abs(values).argmax()], rel=1e-12)


def test_the_value_of_largest_size_of_few_directions_and_of_nothing():
    assert value_of_largest_size(lambda v: 0.0 * v, np.ones(5)) == 0.0
    assert value_of_largest_size(lambda v: v * [1.0, -3.0, 2.0], np.ones(3)) == pytest.approx(-3.0)
    assert value_of_largest_size(lambda v: 7.0 * v, np.ones(300)) == pytest.approx(7.0)


@pytest.mark.parametrize("size", [50, 72])
def test_equal_eigenvalues_are_not_lost(size):
    """LAPACK's bisection returned none here."""
    values, vectors = dense_eigenpairs(np.eye(size) + 1e-17, 1)
    np.testing.assert_allclose(values, [1.0], rtol=1e-14)
    assert vectors.shape == (size, 1)
