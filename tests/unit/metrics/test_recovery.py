import numpy as np
import pytest

from provenmf.metrics.recovery import (
    correlation_errors,
    total_correlation_error,
    total_squared_correlation_error,
    unit_distances,
)


def literal_correlation_error(found, truth):
    """Li17's definition, with the best factor of each pair found by hand."""
    errors = []
    for a in truth:
        choices = []
        for b in found:
            sigma = (a @ b) / (b @ b)
            choices.append(np.linalg.norm(a - sigma * b))
        errors.append(min(choices))
    return np.array(errors)


def test_correlation_errors_follow_the_definition():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((4, 9))
    found = truth[[2, 0, 3, 1]] * np.array([[2.0], [-1.0], [0.3], [5.0]])
    found = found + 0.1 * rng.standard_normal((4, 9))
    expected = literal_correlation_error(found, truth)
    np.testing.assert_allclose(correlation_errors(found, truth), expected)
    assert total_correlation_error(found, truth) == pytest.approx(expected.sum())


def test_squared_error_is_the_sum_over_unit_rows():
    truth = np.eye(2)
    found = np.array([[0.0, -4.0], [3.0, 3.0]])
    step = np.sqrt(2 - np.sqrt(2))
    np.testing.assert_allclose(unit_distances(found, truth), [step, 0.0], atol=1e-15)
    assert total_squared_correlation_error(found, truth) == pytest.approx(step**2)


def test_a_true_row_without_partner_counts_as_orthogonal():
    assert unit_distances(np.array([[1.0, 0.0]]), np.eye(2)).max() == pytest.approx(np.sqrt(2))


def test_tiny_errors_are_not_lost_to_rounding():
    truth = np.eye(3)
    found = truth.copy()
    found[0, 1] = 1e-12
    assert unit_distances(found, truth)[0] == pytest.approx(1e-12, rel=1e-6)
    assert correlation_errors(found, truth)[0] == pytest.approx(1e-12, rel=1e-6)
