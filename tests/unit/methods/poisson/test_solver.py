"""Poisson NMF: monotone, dense equals sparse, at least as good as multiplicative updates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import NMF

from provenmf import PoissonNMF
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.methods.poisson.counts import as_counts, weights_encoder
from provenmf.methods.poisson.guarantee import excess
from provenmf.methods.poisson.solver import poisson_nmf


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(1)
    means = rng.gamma(0.3, 1, (80, 4)) @ rng.gamma(0.3, 1, (4, 50)) * 3
    X = rng.poisson(means).astype(float)
    X[5], X[:, 9] = 0, 0
    return X


def divergence(X, W, C):
    return excess(X, np.asarray(W, dtype=float), np.asarray(C, dtype=float)).rows.sum()


@pytest.mark.parametrize("seed", range(5))
def test_entries_of_very_different_size_are_fitted(seed):
    """One component is known in closed form; the fit used to stop at the start, as converged."""
    X = 10.0 ** np.random.default_rng(seed).uniform(-95, 59, (8, 6))
    components = poisson_nmf(as_blocks(X), 1).components
    product = weights_encoder(components, np.dtype(float))(X) @ components
    best = np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()
    assert np.abs(product - best).max() <= 1e-3 * best.max()


@pytest.mark.parametrize("init", ["cones", "random", "nndsvda", "spa"])
def test_the_divergence_never_rises(counts, init):
    solution = poisson_nmf(as_blocks(counts), 4, init=init)
    assert (np.diff(solution.trace["divergence"]) <= 0).all()
    assert (solution.components >= 0).all()


def test_at_least_as_good_as_scikit_learn_from_the_same_start(counts):
    rng = np.random.default_rng(0)
    W, C = rng.random((80, 4)), rng.random((4, 50))
    peer = NMF(4, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=300, tol=0)
    their_weights = peer.fit_transform(counts, W=W.copy(), H=C.copy())
    solution = poisson_nmf(as_blocks(counts), init=(W, C), tol=1e-7)
    ours = weights_encoder(solution.components, np.dtype(float))(counts)
    theirs = divergence(counts, their_weights + 1e-12, peer.components_ + 1e-12)
    assert divergence(counts, ours, solution.components) <= theirs * (1 + 1e-3)


def test_counts_that_no_component_explains_are_left_out():
    C = np.array([[1.0, 1.0, 0.0]])
    weights = weights_encoder(C, np.dtype(float))(np.array([[2.0, 4.0, 7.0]]))
    np.testing.assert_allclose(weights, [[3.0]])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("density", [0.2, 1.0])
def test_blocks_give_the_answer_of_memory(counts, store, density, monkeypatch):
    """Sums over blocks, one coordinate a pass, are the sweep over the columns."""
    rng = np.random.default_rng(0)
    X = counts * (rng.random(counts.shape) < density)
    blocks = as_blocks(store(X), block_rows=23)
    options = {"max_iter": 12, "tol": 0.0, "init": "random"}
    near = poisson_nmf(blocks, 4, **options)
    monkeypatch.setattr("provenmf.methods.poisson.counts.held", lambda blocks: False)
    far = poisson_nmf(blocks, 4, **options)
    np.testing.assert_allclose(far.trace["divergence"], near.trace["divergence"], rtol=1e-10)
    np.testing.assert_allclose(far.components, near.components, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("share", [0.3, 0.5, 1.0])
def test_the_numbers_decide_the_arithmetic_not_the_storage(share):
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, (20, 12)) * (rng.random((20, 12)) < share) + np.outer(
        np.ones(20), [1.0] + [0] * 11
    )
    dense, sparse = (as_counts(form(X)) for form in (np.asarray, sp.csr_array))
    assert sp.issparse(dense) == sp.issparse(sparse) == (np.count_nonzero(X) < 0.4 * X.size)


def test_an_exact_fit_ends_the_run():
    X = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 6.0))
    found = [poisson_nmf(as_blocks(form(X)), 2, tol=0.0) for form in (np.asarray, sp.csr_array)]
    assert len(found[0].trace) == len(found[1].trace) < 100


def test_rounding_of_long_sums_ends_the_run():
    """The divergence, zero but for rounding, never fell again: it went on for 2000 iterations."""
    fitted = PoissonNMF(1).fit(np.full((100_000, 2), 0.7))
    assert fitted.n_iter_ < 20
    assert "The component is unique" in fitted.certificate_.verdict


def test_more_starts_leave_a_local_minimum():
    improved = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.poisson(rng.gamma(0.3, 9, (60, 30))).astype(float)  # many local minima
        one, more = (
            poisson_nmf(as_blocks(X), 6, n_init=n, rng=np.random.default_rng(seed)) for n in (1, 4)
        )
        ends = [found.trace["divergence"][-1] for found in (one, more)]
        assert ends[1] <= 1.02 * ends[0]
        if more.notes:
            assert ends[1] < ends[0]
        improved += bool(more.notes)
    assert improved


def test_entries_that_cannot_be_divided_by_are_refused():
    counts = np.random.default_rng(0).random((3, 5))
    counts[:, 2] = 5e-324
    with pytest.raises(InvalidInput, match="below 1e-300"):
        poisson_nmf(as_blocks(counts), 1, rng=np.random.default_rng(0))


@pytest.mark.parametrize("unit", [1e-200, 1e-318])
def test_the_unit_of_given_components_is_of_no_consequence(unit):
    """Weights of components this small overflowed."""
    rng = np.random.default_rng(0)
    counts, given = as_blocks(rng.poisson(20.0, (12, 6)).astype(float)), rng.random((2, 6)) + 1.0
    with np.errstate(over="raise"):
        found = poisson_nmf(counts, init=given * unit, max_iter=3)
    np.testing.assert_allclose(
        found.components.mean(),
        poisson_nmf(counts, init=given, max_iter=3).components.mean(),
        rtol=1e-3,
    )
