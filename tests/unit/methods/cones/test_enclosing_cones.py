import math
from fractions import Fraction

import numpy as np
import pytest

from provenmf.data import as_blocks
from provenmf.methods.cones.enclosing_cones import angle_at_least, angle_at_most, smallest_cones


def cones_of(X, labels=None, k=1, **options):
    labels = np.zeros(len(X), dtype=np.intp) if labels is None else labels
    return smallest_cones(as_blocks(X), labels, np.linalg.norm(X, axis=1), k, **options)


def widest_angle(X, axis):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return np.arccos(np.clip(unit @ axis, -1, 1)).max()


@pytest.mark.parametrize("seed", range(5))
def test_no_random_axis_does_better(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((60, 4)) + 0.3
    found = cones_of(X, tol=1e-9)
    assert widest_angle(X, found.axes[0]) <= found.angles[0]
    assert found.angles[0] - found.least_angles[0] <= 1e-9
    tries = found.axes[0] + 10.0 ** rng.uniform(-6, -1, (2000, 1)) * rng.standard_normal((2000, 4))
    tries /= np.linalg.norm(tries, axis=1, keepdims=True)
    assert min(widest_angle(X, axis) for axis in tries) >= found.least_angles[0]


def test_several_clusters_and_rows_of_none():
    rng = np.random.default_rng(0)
    X = rng.random((90, 30)) ** 2
    X[::10] = 0
    labels = np.where(np.arange(90) % 10 == 0, -1, np.arange(90) % 3)
    found = cones_of(X, labels, 4)
    for k in range(3):
        alone = cones_of(X[labels == k])
        assert found.angles[k] == pytest.approx(alone.angles[0], abs=2e-6)
        assert widest_angle(X[labels == k], found.axes[k]) <= found.angles[k]
    assert found.angles[3] == 0 and not found.axes[3].any()


# The interval must contain the true angle, computed here with exact fractions.


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
