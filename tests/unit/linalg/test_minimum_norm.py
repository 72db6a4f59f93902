import numpy as np
import pytest
from scipy.optimize import minimize

from provenmf.methods.cones.enclosing_cones import minimum_norm_weights


def shortest_by_a_general_solver(points):
    n = len(points)
    found = minimize(
        lambda w: np.sum((w @ points) ** 2),
        np.full(n, 1 / n),
        jac=lambda w: 2 * points @ (w @ points),
        bounds=[(0, None)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(n)},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return np.linalg.norm(found.x @ points)


@pytest.mark.parametrize("seed", range(8))
def test_shortest_point_of_the_hull(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((12, 4)) + rng.random(4)
    weights = minimum_norm_weights(points @ points.T)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    shortest = weights @ points
    # Optimality: no point of the hull lies on the near side of the supporting plane.
    assert (points @ shortest).min() == pytest.approx(shortest @ shortest, rel=1e-9)
    assert np.linalg.norm(shortest) == pytest.approx(shortest_by_a_general_solver(points), rel=1e-5)


def test_one_point_and_equal_points():
    np.testing.assert_allclose(minimum_norm_weights(np.array([[4.0]])), [1.0])
    weights = minimum_norm_weights(np.ones((3, 3)))
    assert weights.sum() == pytest.approx(1)
