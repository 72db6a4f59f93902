import numpy as np

from provenmf.linalg.left_inverse import mixing_of, symmetric_norm


def test_the_parts_add_up_and_lie_where_they_should():
    rng = np.random.default_rng(0)
    reference, components = rng.random((4, 12)), rng.random((4, 12))
    parts = mixing_of(components, reference)
    np.testing.assert_allclose(np.diag(parts.off_diagonal), 0)
    np.testing.assert_allclose(parts.outside @ reference.T, 0, atol=1e-12)
    rebuilt = (np.diag(parts.diagonal) + parts.off_diagonal) @ reference + parts.outside
    np.testing.assert_allclose(rebuilt, components)


def test_relative_parts_do_not_depend_on_the_scale_of_a_component():
    rng = np.random.default_rng(1)
    reference = rng.random((3, 9))
    components = reference + 0.1 * rng.random((3, 9))
    once = mixing_of(components, reference).relative()
    again = mixing_of(components * np.array([[2.0], [0.5], [7.0]]), reference).relative()
    for a, b in zip(once, again):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_symmetric_norm_is_the_larger_of_row_and_column_sums():
    assert symmetric_norm(np.array([[1.0, -5.0], [0.0, 2.0]])) == 7
    assert symmetric_norm(np.array([[1.0, 5.0], [0.0, -2.0]]).T) == 7
