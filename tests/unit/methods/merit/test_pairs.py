"""Weights kept as pairs, in one Frank-Wolfe step of MERIT, against the dense formulas."""

import numpy as np
import pytest

from provenmf.methods.merit import kernels


def masses(C, mu):
    return np.exp((C - C.max(axis=0)) / mu).sum(axis=0)


@pytest.mark.parametrize("mu", [1e-5, 1e-2, 0.3])
def test_column_masses(pairs, mu):
    C = pairs.dense()
    found = kernels.column_masses(*pairs.parts, C.max(axis=0), mu)
    np.testing.assert_allclose(found, masses(C, mu), rtol=1e-12)
    assert found[-1] == len(C)


@pytest.mark.parametrize("mu", [1e-5, 1e-2, 0.3])
def test_price(pairs, mu):
    """Scores plus lam * y, and the inner product with the row's own weights."""
    C = pairs.dense()
    fit, lam = np.random.default_rng(6).standard_normal(C.shape), 0.4
    top, mass = C.max(axis=0), masses(C, mu)
    scores = fit + lam * np.exp(-top / mu) / mass
    inner = np.empty(len(C))
    kernels.price_in_place(scores, *pairs.parts, top, mass, lam, mu, inner)
    expected = fit + lam * np.exp((C - top) / mu) / mass
    np.testing.assert_allclose(scores, expected, atol=1e-13)
    np.testing.assert_allclose(inner, np.sum(C * expected, axis=1), atol=1e-13)


@pytest.mark.parametrize("alpha", [0.25, 1.0])
def test_move(pairs, alpha):
    C = pairs.dense()
    vertex = np.random.default_rng(7).integers(0, pairs.size, len(C)).astype(np.int32)
    kernels.move_in_place(*pairs.parts, vertex, alpha)
    expected = (1 - alpha) * C
    expected[np.arange(len(C)), vertex] += alpha
    np.testing.assert_allclose(pairs.dense(), expected, atol=1e-15)
    if alpha == 1:
        assert (pairs.count == 1).all()


def test_mix(pairs):
    atoms, out = np.random.default_rng(2).random((pairs.size, 9)), np.full((14, 9), np.nan)
    kernels.mix_in_place(*pairs.parts, atoms, out)
    np.testing.assert_allclose(out, pairs.dense() @ atoms, atol=1e-15)
