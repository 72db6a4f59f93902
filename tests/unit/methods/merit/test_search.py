"""MERIT's search for the best vertex of every row against all scores in double precision."""

import numpy as np
import pytest

from provenmf.methods.merit import kernels


def test_product():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, 33))
    assert kernels.product(left, right) == pytest.approx(left @ right, rel=1e-12)


def test_in_support():
    index = np.array([5, 2, 8, 3], dtype=np.int32)
    assert kernels.in_support(index, 3, 8)
    assert not kernels.in_support(index, 3, 3)  # beyond the stored pairs
    assert not kernels.in_support(index, 0, 5)


@pytest.mark.parametrize("d", [1, 4, 7])  # four terms at a time, and the rest
def test_fill_scores_and_least(d):
    rng = np.random.default_rng(d)
    residual = rng.standard_normal(d).astype(np.float32)
    atoms, unused = rng.standard_normal((d, 40)).astype(np.float32), np.ones(40, dtype=np.float32)
    scores = np.full(30, -99, dtype=np.float32)
    kernels.fill_scores(residual, atoms, unused, 12, 25, scores)
    np.testing.assert_allclose(scores[:25], 1 + residual @ atoms[:, 12:37], atol=1e-5)
    assert (scores[25:] == -99).all()
    assert kernels.least(scores, 25) == scores[:25].min()


@pytest.mark.parametrize("mu", [1e-5, 0.1])
def test_search(pairs, mu):
    """The lowest of all scores <x_n, r_l> + lam y_nl, and the lowest index among equals."""
    rng = np.random.default_rng(9)
    size, lam = 600, 0.2  # three strips of columns
    atoms = rng.random((size, 5))
    atoms[300:] = atoms[:300]  # ties
    C = np.zeros((len(pairs.count), size))
    C[:, : pairs.size] = pairs.dense()
    residual = rng.standard_normal((len(C), 5))
    top = C.max(axis=0)
    mass = np.exp((C - top) / mu).sum(axis=0)
    unused = lam * np.exp(-top / mu) / mass
    n = len(C)
    vertex, lowest, inner = np.empty(n, dtype=np.int32), np.empty(n), np.empty(n)
    kernels.search_in_place(
        residual, atoms, atoms.T.astype(np.float32), unused, *pairs.parts, top, mass, lam, mu,
        np.full(n, 1e-5), vertex, lowest, inner,
    )  # fmt: skip
    scores = residual @ atoms.T + lam * np.exp((C - top) / mu) / mass
    np.testing.assert_allclose(lowest, scores.min(axis=1), atol=1e-13)
    np.testing.assert_allclose(scores[np.arange(n), vertex], lowest, atol=1e-13)
    np.testing.assert_allclose(inner, np.sum(C * scores, axis=1), atol=1e-13)
    unused_columns = np.arange(pairs.size, 300)
    for row in np.flatnonzero(
        np.isin(vertex, np.concatenate([unused_columns, unused_columns + 300]))
    ):
        assert vertex[row] < 300
