"""The interval must contain the true angle, computed here with exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from provenmf.methods.cones.enclosing_cones import angle_at_least, angle_at_most


def exact_squared_cosine(x, y):
    fx, fy = [Fraction(float(v)) for v in x], [Fraction(float(v)) for v in y]
    dot = sum(a * b for a, b in zip(fx, fy))
    return dot**2 / (sum(a * a for a in fx) * sum(b * b for b in fy))


@pytest.mark.parametrize("seed", range(30))
def test_interval_contains_the_exact_angle(seed):
    rng = np.random.default_rng(seed)
    x = rng.random(50) ** 3
    y = x + 10.0 ** -rng.integers(0, 16) * rng.random(50)
    cosine = x @ y / (np.linalg.norm(x) * np.linalg.norm(y))
    lower, upper = angle_at_least(cosine, 50), angle_at_most(cosine, 50)
    squared_sine = 1 - exact_squared_cosine(x, y)  # exact, so that small angles are not lost
    angle = math.asin(math.sqrt(squared_sine))
    assert lower <= angle <= upper


def test_angles_of_equal_and_of_orthogonal_vectors():
    assert angle_at_least(1.0, 10) == 0.0
    assert 0 < angle_at_most(1.0, 10) < 2e-7
    assert angle_at_most(0.0, 10) >= math.pi / 2
    assert angle_at_most(-1e-3, 10) >= math.pi / 2  # nonnegative vectors have no larger angle
