"""FastGradient: its projection against bisection, its iterates against a literal loop."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import TooLarge
from provenmf.methods.separable.fast_gradient import (
    FIRST_MOMENTUM,
    fast_gradient,
    next_momentum,
    project_capped_rows_in_place,
)


def nearest_by_bisection(row, i, sizes):
    """The projection of one row from the sign of the derivative of the distance in t."""
    if sizes[i] == 0:
        return np.zeros_like(row)
    caps = sizes / sizes[i]
    low, high = 0.0, 1.0

    def clipped(t):
        out = np.clip(row, 0, caps * t)
        out[i] = t
        return out

    for _ in range(60):
        t = (low + high) / 2
        capped = row > caps * t
        capped[i] = False
        slope = t - row[i] + (caps[capped] * (caps[capped] * t - row[capped])).sum()
        low, high = (low, t) if slope > 0 else (t, high)
    return clipped((low + high) / 2)


def literal_fast_gradient(data, mu, prices, iterations):
    """GL18, Algorithm 1, in the paper's orientation, with the Gram matrix in full."""
    M = data.T
    n = M.shape[1]
    X, Y, alpha, restarted = np.zeros((n, n)), np.zeros((n, n)), FIRST_MOMENTUM, False
    gram = M.T @ M
    value = 0.5 * np.sum(M**2)
    sizes = np.abs(M).sum(axis=0)
    for _ in range(iterations):
        moved = Y - (gram @ Y - gram + mu * np.diag(prices)) / np.linalg.norm(M, 2) ** 2
        following = np.array([nearest_by_bisection(moved[i], i, sizes) for i in range(n)])
        now = 0.5 * np.sum((M - M @ following) ** 2) + mu * prices @ np.diag(following)
        beta, after = next_momentum(alpha)
        if now > value and not restarted:
            Y, alpha, restarted = following.copy(), FIRST_MOMENTUM, True
        else:
            Y, alpha, restarted = following + beta * (following - X), after, False
        X, value = following, now
    return X, value


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_projection_is_the_nearest_point(scale):
    rng = np.random.default_rng(0)
    sizes = rng.uniform(0.1, 3, 12)
    sizes[3] = 0
    before = scale * rng.standard_normal((12, 12))
    after = before.copy()
    project_capped_rows_in_place(after, sizes)
    expected = [nearest_by_bisection(before[i], i, sizes) for i in range(12)]
    np.testing.assert_allclose(after, expected, atol=1e-12 * max(scale, 1))


@pytest.mark.parametrize("d", [8, 30], ids=["tall", "wide"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_iterates_equal_the_literal_loop(storage, d):
    data = dirichlet_mixtures(20, d, 3, snr=15, random_state=0).data
    prices = 1 + 0.01 * (np.random.default_rng(7).random(20) - 0.5)
    usage, value = literal_fast_gradient(data, 0.3, prices, 40)
    found = fast_gradient(
        as_blocks(storage(data)), 3, mu=0.3, max_iter=40, tol=0, rng=np.random.default_rng(7)
    )
    np.testing.assert_allclose(found.state.diagonal, np.diag(usage), atol=1e-8)
    assert found.trace["objective"][-1] == pytest.approx(value, rel=1e-9)


def test_anchors_under_noise_where_spa_fails():
    sample = dirichlet_mixtures(100, 50, 30, snr=12, random_state=3)
    found = fast_gradient(as_blocks(sample.data), 30, rng=np.random.default_rng(0))
    assert set(found.anchors.tolist()) == set(sample.anchors.tolist())


def test_more_rays_than_dimensions():
    angles = 2 * np.pi * np.arange(5) / 5
    rays = np.column_stack([np.cos(angles), np.sin(angles), np.full(5, 1.2)])
    inside = np.random.default_rng(0).dirichlet(np.ones(5), 30) @ rays
    found = fast_gradient(as_blocks(np.vstack([rays, inside]) + 1), 5, max_iter=2000, tol=0)
    assert sorted(found.anchors.tolist()) == [0, 1, 2, 3, 4]


def test_too_many_rows_are_refused_with_the_size_needed():
    data = sp.csr_array((100_000, 3))
    with pytest.raises(TooLarge, match=r"320\.0 GB"):
        fast_gradient(as_blocks(data), 2)
