import numpy as np

from provenmf.linalg.norms import first_largest, orthogonal_part, orthonormal_rows


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
