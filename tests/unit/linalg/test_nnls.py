"""Batched constrained least squares against scipy's nnls, a search over supports, and KKT."""

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls

from provenmf.errors import InvalidInput
from provenmf.linalg.nnls import nonnegative_least_squares, simplex_least_squares

SOLVERS = [nonnegative_least_squares, simplex_least_squares]


def problem(rng, n, k, d, kind):
    components = rng.random((k, d))
    if kind == "signed":
        components = rng.standard_normal((k, d))
    elif kind == "duplicates":
        components[k // 2 :] = components[: k - k // 2]
    elif kind == "zero":
        components[0] = 0.0
    elif kind == "scaled":
        components *= 10.0 ** rng.integers(-6, 7, size=(k, 1))
    elif kind == "flat":
        components = components[:, :2] @ rng.random((2, d))
    data = rng.random((n, k)) * (rng.random((n, k)) < 0.5) @ components
    return data + 0.3 * np.abs(components).mean() * rng.standard_normal((n, d)), components


def objective(weights, gram, cross):
    return 0.5 * np.einsum("ni,ij,nj->n", weights, gram, weights) - (weights * cross).sum(axis=1)


def best_over_supports(gram, row, sum_to_one):
    """Least objective over all supports: the optimum of the sign-free problem on each."""
    k = len(gram)
    best = np.inf if sum_to_one else 0.0
    for size in range(1, k + 1):
        for support in itertools.combinations(range(k), size):
            columns = list(support)
            system, right = gram[np.ix_(columns, columns)], row[columns]
            if sum_to_one:
                edge = np.ones((size, 1))
                system = np.block([[system, edge], [edge.T, np.zeros((1, 1))]])
                right = np.append(right, 1.0)
            weights = np.linalg.lstsq(system, right, rcond=1e-12)[0][:size]
            if weights.min() < -1e-9 or (sum_to_one and abs(weights.sum() - 1) > 1e-9):
                continue
            value = 0.5 * weights @ gram[np.ix_(columns, columns)] @ weights
            best = min(best, value - weights @ row[columns])
    return best


@pytest.mark.parametrize("kind", ["plain", "signed", "zero", "scaled"])
def test_equals_scipy_nnls(kind):
    data, components = problem(np.random.default_rng(0), 60, 12, 30, kind)
    weights = nonnegative_least_squares(components @ components.T, data @ components.T)
    expected = np.array([nnls(components.T, row)[0] for row in data])
    lengths = np.linalg.norm(components, axis=1)
    np.testing.assert_allclose(weights * lengths, expected * lengths, atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "signed", "duplicates", "zero", "flat"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_reaches_the_best_support(solver, kind):
    data, components = problem(np.random.default_rng(1), 20, 5, 7, kind)
    gram, cross = components @ components.T, data @ components.T
    weights = solver(gram, cross)
    sum_to_one = solver is simplex_least_squares
    best = [best_over_supports(gram, row, sum_to_one) for row in cross]
    np.testing.assert_allclose(objective(weights, gram, cross), best, rtol=1e-8, atol=1e-8)
    assert weights.min() >= 0.0
    if sum_to_one:
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "signed", "duplicates", "zero", "flat"])
@pytest.mark.parametrize("k", [1, 2, 17, 60])
@pytest.mark.parametrize("solver", SOLVERS)
def test_optimality_conditions(solver, kind, k):
    """Pivoting cycles on rows of the 60 plain components, which are then solved by descent."""
    data, components = problem(np.random.default_rng(k), 200, k, 40, kind)
    gram, cross = components @ components.T, data @ components.T
    weights = solver(gram, cross)
    descent = cross - weights @ gram
    if solver is simplex_least_squares:
        descent -= (weights * descent).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    scale = np.abs(cross).max()
    assert weights.min() >= 0.0
    assert descent.max() <= 1e-6 * scale
    assert np.abs(descent * weights).max() <= 1e-6 * scale * max(1.0, weights.max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_are_independent_and_start_does_not_matter(solver):
    rng = np.random.default_rng(3)
    data, components = problem(rng, 300, 15, 40, "plain")
    gram, cross = components @ components.T, data @ components.T
    weights = solver(gram, cross)
    order = rng.permutation(len(cross))
    np.testing.assert_allclose(solver(gram, cross[order]), weights[order], atol=1e-12)
    for start in (weights, np.zeros_like(weights), rng.random(weights.shape) - 0.5):
        np.testing.assert_allclose(solver(gram, cross, start=start), weights, atol=1e-11)


def test_simplex_does_not_change_when_everything_is_moved():
    data, components = problem(np.random.default_rng(6), 100, 8, 10, "plain")
    expected = simplex_least_squares(components @ components.T, data @ components.T)
    moved, rows = components + 100.0, data + 100.0
    weights = simplex_least_squares(moved @ moved.T, rows @ moved.T)
    np.testing.assert_allclose(weights, expected, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_identical_and_zero_components_give_finite_weights(solver):
    for gram in (np.zeros((4, 4)), np.ones((4, 4)), 1e-300 * np.ones((4, 4))):
        weights = solver(gram, gram[:3])
        assert np.isfinite(weights).all() and weights.min() >= 0.0
    assert solver(np.eye(3), np.zeros((0, 3))).shape == (0, 3)


def test_simplex_weights_sum_to_one_even_where_the_gram_matrix_is_all_rounding():
    data, components = problem(np.random.default_rng(9), 50, 30, 22, "plain")
    moved, rows = (components + 1000).astype(np.float32), (data + 1000).astype(np.float32)
    weights = simplex_least_squares(moved @ moved.T, rows @ moved.T)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
    assert weights.min() >= 0.0


def test_simplex_weights_of_large_components_that_differ_by_rounding():
    """Centring left negative numbers only, whose scale was negative."""
    for seed in range(20):
        noise = np.random.default_rng(seed).integers(-2, 3, (5, 5)) * np.finfo(float).eps
        gram = 2.8e27 * (1.0 + noise + noise.T)
        found = simplex_least_squares(gram, np.full((3, 5), 2.8e27))
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert found.min() >= 0


@pytest.mark.parametrize("d", [1, 2, 3])
def test_simplex_objective_in_single_precision_with_many_dependent_points(d):
    data, components = problem(np.random.default_rng(d), 50, 25, d, "signed")
    gram = (components @ components.T).astype(np.float32)
    cross = (data @ components.T).astype(np.float32)
    single = simplex_least_squares(gram, cross).astype(np.float64)
    double = simplex_least_squares(gram.astype(np.float64), cross.astype(np.float64))
    gap = objective(single, gram, cross) - objective(double, gram, cross)
    assert np.abs(gap).max() < 1e-5 * np.abs(cross).max()


@pytest.mark.parametrize("times", [1e10, 1e16, 1e17, 1e30])
def test_simplex_weights_of_rows_far_away_sum_to_one(times):
    rng = np.random.default_rng(0)
    components, data = rng.random((4, 6)), times * rng.random((50, 6))
    weights = simplex_least_squares(components @ components.T, data @ components.T)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    best = (data @ components.T).argmax(axis=1)  # so far away only the direction counts
    assert np.array_equal(weights.argmax(axis=1), best)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_components_that_overflow_are_refused_in_one_line():
    gram = np.array([[1.0, np.inf], [np.inf, np.inf]])
    for solve in (nonnegative_least_squares, simplex_least_squares):
        with pytest.raises(InvalidInput, match="double precision"):
            solve(gram, np.ones((3, 2)))
