"""The likeliest simplex around points with noise."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import gamma, pbdv
from scipy.stats import multivariate_normal, norm

from provenmf.applications.unmixing import likeliest_simplex as module
from provenmf.applications.unmixing.likeliest_simplex import (
    depths,
    facet_density,
    likeliest_simplex,
    with_vertices,
)

TRUTH = np.array([[0.0, 0.0], [200.0, 20.0], [40.0, 150.0]])


def drawn(seed=0, n=1500, most=1.0, concentration=1.0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(3, concentration), 3 * n)
    weights = weights[weights.max(axis=1) <= most][:n]
    return weights @ TRUTH + rng.standard_normal((len(weights), 2))


def pure(each):
    return np.repeat(TRUTH, each, axis=0) + np.random.default_rng(9).standard_normal((3 * each, 2))


def farthest(found):
    return np.linalg.norm(found[:, None] - TRUTH, axis=2).min(axis=0).max()


def test_depths_are_distances_from_the_facets():
    found = depths(np.array([[1.0, 1.0], [-2.0, 1.0]]), np.array([[0.0, 0.0], [4.0, 0.0], [0, 4]]))
    np.testing.assert_allclose(found, [[np.sqrt(2), 1, 1], [5 / np.sqrt(2), -2, 1]])


@pytest.mark.parametrize(("most", "off"), [(1.0, 3.0), (0.8, 5.0), (0.6, 12.0)])
def test_corners_are_found_where_no_point_is(most, off):
    points = drawn(most=most)
    centre = TRUTH.mean(axis=0)
    start = centre + 0.6 * (TRUTH - centre)
    assert farthest(start) > 40
    assert farthest(likeliest_simplex(points, start).vertices) < off


def test_odd_points_do_not_move_it():
    points = np.vstack([drawn(most=0.8), [[-80.0, -60.0], [400.0, 300.0]] * 5])
    centre = TRUTH.mean(axis=0)
    assert farthest(likeliest_simplex(points, centre + 0.6 * (TRUTH - centre)).vertices) < 5


def test_no_simplex_nearby_is_likelier():
    """The likelihood is written again here, without tricks; 1e-4 a point is far below its noise."""
    points = np.vstack([drawn(seed=1, concentration=0.6), pure(30)])

    def cost(vertices, a, shares):
        heights = 1 / np.linalg.norm(
            np.linalg.inv(np.column_stack([vertices, np.ones(3)]))[:2], axis=0
        )
        far = depths(points, vertices)
        volume = abs(np.linalg.det(np.column_stack([vertices, np.ones(3)]))) / 2
        normalizer = gamma(a.sum()) / gamma(a).prod() / 2
        beside = np.prod([density(far[:, j], a[j]) * heights[j] ** (1 - a[j]) for j in range(3)], 0)
        at = multivariate_normal(np.zeros(2)).pdf
        likelihood = 1e-6 / volume + (1 - shares.sum()) * normalizer * beside / volume
        likelihood += sum(share * at(points - v) for share, v in zip(shares, vertices))
        return -np.log(likelihood).mean()

    found = likeliest_simplex(points, TRUTH)
    least = cost(found.vertices, found.concentrations, found.pure)
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1, 1.0):
        for _ in range(5):
            vertices = found.vertices + size * rng.standard_normal((3, 2))
            assert cost(vertices, found.concentrations, found.pure) > least - 1e-4
            a = np.clip(found.concentrations * np.exp(0.1 * size * rng.standard_normal(3)), 0.1, 1)
            assert cost(found.vertices, a, found.pure) > least - 1e-4
            shares = found.pure * np.exp(size * rng.standard_normal(3))
            assert cost(found.vertices, found.concentrations, shares) > least - 1e-4


def density(distances, a):
    """G_a(d) = φ(d) Γ(a) exp(d² / 4) D_{−a}(−d), a parabolic cylinder function."""
    d = np.minimum(distances, 20.0)
    near = norm.pdf(d) * gamma(a) * np.exp(d**2 / 4) * pbdv(-a, -d)[0]
    far = np.maximum(distances, 20.0)
    return np.where(distances < 20, near, far ** (a - 1) * (1 + (a - 1) * (a - 2) / 2 / far**2))


@pytest.mark.parametrize("a", [0.1, 0.35, 0.8, 1.0])
def test_facet_density_and_its_slopes(a):
    places = np.array([-13.0, -6.03, -1.0, 0.017, 2.5, 15.98, 16.02, 40.0, 3000.0])

    def at(shift=0.0, more=0.0):
        return [v[:, 0] for v in facet_density(places[:, None] + shift, np.array([a + more]))]

    value, slope, by_a = at()
    np.testing.assert_allclose(value[1:], np.log(density(places[1:], a)), atol=1e-4)
    np.testing.assert_allclose(slope, (at(1e-4)[0] - at(-1e-4)[0]) / 2e-4, atol=1e-5)
    np.testing.assert_allclose(by_a, (at(0, 1e-5)[0] - at(0, -1e-5)[0]) / 2e-5, atol=2e-4)
    assert slope[0] == 0 and value[0] == at(5.0)[0][0]  # nothing changes below the table


def test_concentrations_and_pure_points_are_found():
    points = np.vstack([drawn(n=4000, concentration=0.5), pure(80)])
    found = likeliest_simplex(points, TRUTH.mean(axis=0) + 0.9 * (TRUTH - TRUTH.mean(axis=0)))
    np.testing.assert_allclose(found.concentrations, 0.5, atol=0.06)
    np.testing.assert_allclose(found.pure, 80 / 4240, atol=0.005)
    assert farthest(found.vertices) < 0.5  # 80 points alone: .1 in each coordinate
    assert with_vertices(points, TRUTH).cost >= found.cost


def test_the_gradient_is_that_of_the_objective(monkeypatch):
    seen = {}

    def look(objective, start, **options):
        at = start + 0.05 * np.random.default_rng(0).standard_normal(start.shape)
        seen["off"] = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], at)
        return type("Found", (), {"x": start, "fun": 0.0})

    monkeypatch.setattr(module, "minimize", look)
    likeliest_simplex(np.vstack([drawn(n=50), pure(2)]), TRUTH)
    assert seen["off"] < 1e-4


@pytest.mark.parametrize("kind", ["one point", "a line", "three points", "far away", "all odd"])
def test_points_that_say_nothing_give_no_tiny_simplex(kind):
    rng = np.random.default_rng(0)
    points = {
        "one point": np.tile(TRUTH.mean(axis=0), (50, 1)),
        "a line": np.linspace(0, 100, 50)[:, None] * [1.0, 1.0],
        "three points": TRUTH,
        "far away": 1e6 + rng.random((50, 2)),
        "all odd": 1e4 * rng.standard_normal((50, 2)),
    }[kind]
    found = likeliest_simplex(points, TRUTH).vertices
    assert np.isfinite(found).all()
    volume = [np.linalg.det(np.column_stack([v, np.ones(3)])) for v in (TRUTH, found)]
    assert abs(volume[1]) >= 0.5 * abs(volume[0])


def test_a_flat_start_is_returned():
    flat = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    found = likeliest_simplex(drawn(n=50), flat)
    np.testing.assert_array_equal(found.vertices, flat)
    assert found.cost == with_vertices(drawn(n=50), flat).cost == np.inf
