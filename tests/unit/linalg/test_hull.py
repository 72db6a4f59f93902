"""Distances to convex hulls: bounds that hold, against exact answers."""

import numpy as np
import pytest
from scipy.optimize import minimize

from provenmf.linalg.hull import distances_to_hulls, distances_to_other_points


def exact_distance(target, points):
    """Slow and plain: sequential quadratic programming over the weights."""
    k = len(points)
    best = min(
        (
            minimize(
                lambda w: np.sum((w @ points - target) ** 2),
                start,
                jac=lambda w: 2 * points @ (w @ points - target),
                bounds=[(0, 1)] * k,
                constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
                options={"maxiter": 500, "ftol": 1e-14},
            )
            for start in (np.full(k, 1 / k), np.eye(k)[0])
        ),
        key=lambda result: result.fun,
    )
    return np.sqrt(best.fun)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_and_meet(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((12, 4))
    lower, upper = distances_to_other_points(points, tol=1e-6)
    for i, (low, high) in enumerate(zip(lower, upper)):
        exact = exact_distance(points[i], np.delete(points, i, axis=0))
        assert low - 1e-6 <= exact <= high + 1e-6
        assert high - low <= 1e-5 * max(high, 1e-3) or high < 1e-8


def test_square_with_its_middle():
    points = np.array([[0.0, 0.0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]])
    lower, upper = distances_to_other_points(points, tol=1e-9)
    np.testing.assert_allclose(lower[:4], np.sqrt(0.5), rtol=1e-6)
    assert upper[4] < 1e-7
    assert lower[4] == 0


def test_empty_hull_is_infinitely_far():
    lower, upper = distances_to_other_points(np.array([[1.0, 2.0]]))
    assert lower[0] == upper[0] == np.inf


def test_far_from_the_origin_the_bounds_stay_valid():
    points = np.array([[0.0, 0.0], [1, 0], [0, 1], [1, 1]]) + 1e8
    lower, upper = distances_to_other_points(points)
    assert np.all(lower <= np.sqrt(0.5) + 1e-9)
    assert np.all(upper >= np.sqrt(0.5) - 1e-6)


def test_ending_early_keeps_valid_bounds():
    points = np.random.default_rng(1).standard_normal((40, 10))

    def farthest(which, directions):
        along = directions @ points[5:].T
        best = along.argmax(axis=1)
        return along[np.arange(len(which)), best], points[5:][best]

    rough = distances_to_hulls(points[:5], farthest, max_iter=2, tol=1e-9)
    fine = distances_to_hulls(points[:5], farthest, tol=1e-9)
    assert np.all(rough[0] <= fine[1]) and np.all(fine[0] <= rough[1])
    for share in (0.5, 0.9, 1.1):  # ends once the question is answered
        asked = share * fine[0]
        found = distances_to_hulls(points[:5], farthest, tol=1e-9, asked=asked)
        assert np.all((found[0] > asked) == (share < 1)) and np.all(found[0] <= fine[1])
