"""Likelihood of points in a simplex against plain sums and differences."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from provenmf.applications.unmixing import likeliest_simplex as kernels
from provenmf.applications.unmixing.likeliest_simplex import FIRST, NODES, STEP, density_tables


def looked_up(d, a):
    return kernels.facet_density(d, a, density_tables(np.array([a]))[0], FIRST, STEP)


def plain(d, a):
    """G_a(d) with t = s^(1/a), which takes the pole away."""
    width = (max(d, 0.0) + 9.0) ** a
    peak = [max(d, 0.0) ** a] if d > 0 else None
    return quad(lambda s: norm.pdf(s ** (1 / a) - d) / a, 0, width, points=peak, limit=400)[0]


@pytest.mark.parametrize("a", [0.1, 0.35, 0.8, 1.0])
@pytest.mark.parametrize("d", [-6.03, -1.0, 0.017, 2.5, 15.98, 16.02, 40.0, 3000.0])
def test_facet_density(d, a):
    value, slope, by_a = looked_up(d, a)
    if d < 100:
        assert value == pytest.approx(np.log(plain(d, a)), abs=1e-4)
    else:
        assert value == pytest.approx((a - 1) * np.log(d), abs=1e-4)
    near = looked_up(d + 1e-4, a)[0], looked_up(d - 1e-4, a)[0]
    assert slope == pytest.approx((near[0] - near[1]) / 2e-4, abs=1e-5)
    near = looked_up(d, a + 1e-5)[0], looked_up(d, a - 1e-5)[0]
    assert by_a == pytest.approx((near[0] - near[1]) / 2e-5, abs=2e-4)


def test_far_outside_nothing_changes():
    assert looked_up(FIRST - 5.0, 0.5)[:2] == (looked_up(FIRST, 0.5)[0], 0.0)
    assert FIRST + STEP * (NODES - 1) == pytest.approx(16.0)


def test_weigh_points():
    rng = np.random.default_rng(0)
    a = np.array([0.3, 0.7, 1.0])
    distances, squares = rng.uniform(-4, 30, (40, 3)), rng.uniform(0, 30, (40, 3))
    tables, log_mixed, log_odd = density_tables(a), -1.3, np.log(1e-6)
    log_pure = np.array([-2.0, -3.0, -1.0])
    found = [[kernels.facet_density(d, *each, FIRST, STEP) for d, *each in zip(row, a, tables)]
             for row in distances]  # fmt: skip
    value, slope, by_a = np.moveaxis(np.array(found), 2, 0)
    inside = np.exp(log_mixed + value.sum(axis=1))
    at = np.exp(log_pure - squares / 2)
    likelihood = inside + at.sum(axis=1) + 1e-6
    share = (inside / likelihood)[:, None]
    pulls, pure = distances.copy(), squares.copy()
    total, mixed, moments, changes = kernels.weigh_points_in_place(
        pulls, pure, a, tables, FIRST, STEP, log_mixed, log_pure, log_odd
    )
    assert total == pytest.approx(np.log(likelihood).sum())
    assert mixed == pytest.approx(share.sum())
    np.testing.assert_allclose(pulls, share * slope, atol=1e-14)
    np.testing.assert_allclose(pure, at / likelihood[:, None])
    np.testing.assert_allclose(moments, (share * slope * distances).sum(axis=0))
    np.testing.assert_allclose(changes, (share * by_a).sum(axis=0))
