"""HALS and ANLS in several voices; both share the loop, so most tests run on both."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.nnls import Penalties
from provenmf.methods.alternating.solver import anls, hals
from provenmf.methods.alternating.steps import RowSolver

SOLVERS = [hals, anls]


def planted(n=120, d=60, k=5, noise=0.02, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    weights = rng.random((n, k)) * (rng.random((n, k)) < 0.5)
    components = rng.random((k, d)) * (rng.random((k, d)) < 0.5)
    data = weights @ components + noise * rng.random((n, d)) * (rng.random((n, d)) < 0.5)
    return data.astype(dtype)


def start(n=120, d=60, k=5, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((n, k)), rng.random((k, d))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("init", ["cones", "spa", "random-rows", "random", "nndsvda", "merit"])
def test_error_never_increases_and_is_the_true_one(solver, init):
    data = planted()
    found = solver(as_blocks(data), 5, init=init, max_iter=60)
    errors = found.trace["relative_error"]
    assert np.all(np.diff(errors) <= 0)
    true = np.linalg.norm(data - found.weights.array() @ found.components) / np.linalg.norm(data)
    assert errors[-1] == pytest.approx(true, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("solver", SOLVERS)
def test_dense_and_sparse_stop_together_where_the_fit_is_exact(solver, seed):
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 3, (15, 3)) @ rng.integers(0, 3, (3, 8)).astype(float)
    dense, sparse = (solver(as_blocks(X), 3, max_iter=300) for X in (data, sp.csr_array(data)))
    assert len(dense.trace) == len(sparse.trace)
    assert dense.trace["relative_error"][-1] < 1e-11
    np.testing.assert_allclose(dense.components, sparse.components, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_penalty_that_shrinks_components_at_once_leaves_nothing_to_rounding(solver, seed):
    """A step beyond components that shrank to a tenth was zero, or what rounding left of it."""
    rng = np.random.default_rng(seed)
    data = (rng.random((5, 11)) * (rng.random((5, 11)) < 0.3)).astype(np.float32)
    penalties = Penalties(l2_weights=1e-11, l2_components=5.0)
    double, single = (
        solver(as_blocks(data.astype(dtype)), 4, penalties=penalties, max_iter=14, tol=0)
        for dtype in (np.float64, np.float32)
    )
    np.testing.assert_allclose(double.trace["level"], single.trace["level"], rtol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_sample_first_ends_no_worse(solver):
    data = planted(n=900, d=300, k=4)
    plain = solver(as_blocks(data), 4, init="random", sample_first=False, max_iter=300, tol=1e-6)
    coarse = solver(as_blocks(data), 4, init="random", sample_first=True, max_iter=300, tol=1e-6)
    assert coarse.trace["relative_error"][0] < 1.2 * coarse.trace["relative_error"][-1]
    assert coarse.trace["relative_error"][-1] < 1.05 * plain.trace["relative_error"][-1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_zero_data(solver):
    zero = solver(as_blocks(np.zeros((6, 4))), 2, init="random-rows")
    assert zero.stop_reason == "converged" and not zero.components.any()


@pytest.mark.parametrize(("n", "k"), [(1, 1), (63, 4), (64, 5), (130, 8), (1000, 11)])
def test_sweeps_equal_the_literal_update_of_columns(n, k):
    """Sweeps over tiles of rows are the paper's column updates: W[:, j] = max(0, W[:, j] + ...)."""
    data, (weights, components) = planted(n, 60, k), start(n, 60, k)
    components[0] = 0.0 if k > 1 else 1.0  # a zero component: its column stays as it is
    gram, cross = components @ components.T, data @ components.T
    expected = weights.copy()
    for _ in range(3):
        for j in np.flatnonzero(np.diag(gram)):
            step = (cross[:, j] - expected @ gram[:, j]) / gram[j, j]
            expected[:, j] = np.maximum(expected[:, j] + step, 0.0)
    before = weights.copy()
    np.testing.assert_allclose(RowSolver(3).rows(gram, cross, weights), expected, atol=1e-12)
    np.testing.assert_array_equal(weights, before)


def test_start_of_the_wrong_kind_is_named():
    blocks = as_blocks(planted())
    with pytest.raises(InvalidInput, match="components have shape"):
        hals(blocks, 5, init=np.ones((4, 60)))
    with pytest.raises(InvalidInput, match="weights have shape"):
        hals(blocks, 5, init=(np.ones((3, 5)), np.ones((5, 60))))
    with pytest.raises(InvalidInput, match="negative"):
        hals(blocks, 5, init=-np.ones((5, 60)))
    with pytest.raises(InvalidInput, match="n_components=None"):
        hals(blocks, None, init="random")
