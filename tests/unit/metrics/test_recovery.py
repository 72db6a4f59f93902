import math

import numpy as np
import pytest

from provenmf.metrics.recovery import (
    compare_endmembers,
    correlation_errors,
    mean_removed_spectral_angle,
    relative_approximation,
    success,
    total_correlation_error,
    total_squared_correlation_error,
    unit_distances,
)


def test_correlation_errors_follow_the_definition_of_the_paper():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((4, 9))
    found = truth[[2, 0, 3, 1]] * np.array([[2.0], [-1.0], [0.3], [5.0]])
    found = found + 0.1 * rng.standard_normal((4, 9))
    expected = [min(np.linalg.norm(a - (a @ b) / (b @ b) * b) for b in found) for a in truth]
    np.testing.assert_allclose(correlation_errors(found, truth), expected)
    assert total_correlation_error(found, truth) == pytest.approx(sum(expected))


def test_squared_error_is_the_sum_over_unit_rows():
    truth = np.eye(2)
    found = np.array([[0.0, -4.0], [3.0, 3.0]])
    step = np.sqrt(2 - np.sqrt(2))
    np.testing.assert_allclose(unit_distances(found, truth), [step, 0.0], atol=1e-15)
    assert total_squared_correlation_error(found, truth) == pytest.approx(step**2)
    without_partner = unit_distances(np.array([[1.0, 0.0]]), truth)
    assert without_partner.max() == pytest.approx(np.sqrt(2))


def test_tiny_errors_are_not_lost_to_rounding():
    truth = np.eye(3)
    found = truth.copy()
    found[0, 1] = 1e-12
    assert unit_distances(found, truth)[0] == pytest.approx(1e-12, rel=1e-6)
    assert correlation_errors(found, truth)[0] == pytest.approx(1e-12, rel=1e-6)


def test_success_and_rae():
    assert success([3, 1, 2], np.array([1, 2, 3]))
    assert not success([3, 1], [1, 2, 3]) and not success([1, 2, 3, 4], [1, 2, 3])
    data = np.eye(2)
    assert relative_approximation(data, np.eye(2), data) == 1
    assert relative_approximation(data, np.zeros((2, 1)), np.ones((1, 2))) == 0


def test_mrsa_is_the_angle_of_the_correlation_matched():
    rng = np.random.default_rng(0)
    true = rng.random((3, 8))
    found = (2.5 * true + 7)[[2, 0, 1]]
    assert mean_removed_spectral_angle(found, true) == pytest.approx(0, abs=1e-5)
    noisy = true + rng.random((3, 8))
    angles = [np.arccos(np.corrcoef(a, b)[0, 1]) * 100 / math.pi for a, b in zip(true, noisy)]
    assert mean_removed_spectral_angle(noisy, true) <= np.mean(angles) + 1e-12
    assert mean_removed_spectral_angle(noisy[:1], true[:1]) == pytest.approx(angles[0])
    row = np.arange(4.0)[None]
    for rows, truth, expected in (
        (-row, row, 100),  # opposite
        (np.full((1, 4), 0.1), row, 50),  # constant
        (row, np.vstack([row, -row]), 50),  # one is missing
    ):
        assert mean_removed_spectral_angle(rows, truth) == pytest.approx(expected)


def test_endmembers_are_matched_by_angle():
    true = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 1]])
    abundances = np.random.default_rng(2).dirichlet(np.ones(3), 20)
    order = [2, 0, 1]
    agreement = compare_endmembers(3 * true[order], true, abundances[:, order], abundances)
    np.testing.assert_allclose(agreement.angles, 0, atol=1e-7)
    assert agreement.abundance_rmse == pytest.approx(0)
    assert np.array(order)[agreement.order].tolist() == [0, 1, 2]
    turned = np.array([[1.0, 1, 0], [0, 1, 0], [0, 1, 1]])
    assert compare_endmembers(turned, true).mean_angle == pytest.approx(math.pi / 12)
