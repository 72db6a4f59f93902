import math

import numpy as np
import pytest

from provenmf.metrics.recovery import (
    mean_removed_spectral_angle,
    relative_approximation,
    success,
)


def test_success_and_recall():
    assert success([3, 1, 2], np.array([1, 2, 3]))
    assert not success([3, 1], [1, 2, 3])
    assert not success([1, 2, 3, 4], [1, 2, 3])


def test_mrsa_is_the_angle_of_the_correlation_matched():
    rng = np.random.default_rng(0)
    true = rng.random((3, 8))
    found = (2.5 * true + 7)[[2, 0, 1]]
    assert mean_removed_spectral_angle(found, true) == pytest.approx(0, abs=1e-5)
    noisy = true + rng.random((3, 8))
    expected = np.mean([np.arccos(np.corrcoef(a, b)[0, 1]) for a, b in zip(true, noisy)])
    assert mean_removed_spectral_angle(noisy, true, unit="radians") <= expected + 1e-12
    one = mean_removed_spectral_angle(noisy[:1], true[:1], unit="radians")
    assert one == pytest.approx(np.arccos(np.corrcoef(noisy[0], true[0])[0, 1]))
    assert mean_removed_spectral_angle(noisy[:1], true[:1]) == pytest.approx(one * 100 / math.pi)


def test_mrsa_of_opposite_constant_and_missing_rows():
    row = np.arange(4.0)[None]
    assert mean_removed_spectral_angle(-row, row) == pytest.approx(100)
    assert mean_removed_spectral_angle(np.full((1, 4), 0.1), row) == pytest.approx(50)
    assert mean_removed_spectral_angle(row, np.vstack([row, -row])) == pytest.approx(50)


def test_rae_and_snr():
    data = np.eye(2)
    assert relative_approximation(data, np.eye(2), data) == 1
    assert relative_approximation(data, np.zeros((2, 1)), np.ones((1, 2))) == 0
