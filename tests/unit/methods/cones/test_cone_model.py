import numpy as np
import pytest
from scipy.integrate import quad

from provenmf.methods.cones.guarantee import (
    expected_squared_sine,
    theorem_5_bound,
    theorem_5_failure,
    theorem_5_limit,
)


@pytest.mark.parametrize("angle", [1e-6, 0.1, 0.3, 1.0, 1.5])
def test_f_is_the_mean_squared_sine(angle):
    mean = quad(lambda b: np.sin(b) ** 2 / angle, 0, angle)[0]
    assert expected_squared_sine(angle) == pytest.approx(mean, rel=1e-9, abs=1e-16)


def test_limit_of_the_papers_setting():
    assert theorem_5_limit(np.full(50, 0.3), 1 / np.arange(1, 51)) == pytest.approx(
        0.1717, abs=5e-5
    )


def root_d_n(angles, rates, n_rows, rng):
    """Eq. (9), simulated."""
    cone = rng.integers(len(angles), size=n_rows)
    squares = rng.exponential(1 / rates[cone])
    sines = np.sin(rng.uniform(0, angles[cone])) ** 2
    return np.sqrt((squares * sines).sum() / squares.sum())


@pytest.mark.parametrize("n_rows", [20, 200])
def test_failure_probability_is_sound(n_rows):
    rng = np.random.default_rng(0)
    angles, rates = np.array([0.2, 0.3, 0.5]), np.array([1.0, 0.5, 0.2])
    draws = np.array([root_d_n(angles, rates, n_rows, rng) for _ in range(4000)])
    for probability in (0.5, 0.9, 0.99):
        bound = theorem_5_bound(angles, rates, n_rows, probability=probability)
        assert (draws <= bound).mean() >= probability
        assert theorem_5_failure(bound, angles, rates, n_rows) <= 1 - probability
