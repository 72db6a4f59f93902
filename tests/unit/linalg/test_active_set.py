"""The exact active sets of small quadratic programs against every support there is."""

from itertools import chain, combinations

import numpy as np
import pytest

from provenmf.linalg import nnls as kernels

FLOOR, ROUNDING = 1e-13, 2.3e-16


def problem(seed, k=5, d=8):
    rng = np.random.default_rng(seed)
    components = rng.standard_normal((k, d))
    return components @ components.T, components @ rng.standard_normal(d) * 2


def factor(gram, columns):
    """Cholesky factor as the kernels keep it: the diagonal holds reciprocals."""
    lower = np.zeros(gram.shape)
    size = len(columns)
    lower[:size, :size] = np.linalg.cholesky(gram[np.ix_(columns, columns)])
    lower[np.arange(size), np.arange(size)] = 1 / np.diag(lower)[:size]
    return lower


def best_weights(gram, row, sum_to_one):
    """The feasible minimiser over all supports: its linear system, its signs, its objective."""
    k = len(row)
    supports = chain.from_iterable(combinations(range(k), r) for r in range(sum_to_one, k + 1))
    best, lowest = None, np.inf
    for support in map(list, supports):
        weights = np.zeros(k)
        inverse = np.linalg.inv(gram[np.ix_(support, support)]) if support else np.zeros((0, 0))
        weights[support] = inverse @ row[support]
        if sum_to_one:
            shift = (1 - weights.sum()) / inverse.sum()
            weights[support] += shift * inverse.sum(axis=1)
        value = 0.5 * weights @ gram @ weights - weights @ row
        if weights.min() >= -1e-12 and value < lowest:
            best, lowest = weights, value
    return best


def scratch(k):
    return np.empty((k, k)), np.empty(k, dtype=np.int64), np.empty((4, k))


def test_append_column(call):
    gram, _ = problem(0)
    lower, order, _ = scratch(5)
    for size, column in enumerate([3, 0, 4]):
        assert call(kernels.append_column_in_place, gram, order, size, column, lower, FLOOR)
    np.testing.assert_array_equal(order[:3], [3, 0, 4])
    expected = factor(gram, [3, 0, 4])
    np.testing.assert_allclose(np.tril(lower[:3, :3]), expected[:3, :3], atol=1e-12)


def test_append_column_refuses_a_dependent_one(call):
    components = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    gram = components @ components.T
    lower, order, _ = scratch(3)
    added = [
        call(kernels.append_column_in_place, gram, order, j, j, lower, FLOOR) for j in range(3)
    ]
    assert added == [True, True, False]


@pytest.mark.parametrize("gone", [[0], [1, 3], [0, 1, 2, 3], []])
def test_drop_positions(call, gone):
    gram, _ = problem(1)
    columns = np.array([2, 4, 0, 1])
    lower, order, _ = factor(gram, columns), np.append(columns, 9), None
    dropped = np.isin(np.arange(5), gone)
    size = call(kernels.drop_positions_in_place, gram, order, 4, dropped, lower, FLOOR)
    kept = columns[~dropped[:4]]
    assert size == len(kept)
    np.testing.assert_array_equal(order[:size], kept)
    expected = factor(gram, kept)[:size, :size]
    np.testing.assert_allclose(np.tril(lower[:size, :size]), expected, atol=1e-12)


def test_solve_with_factor(call):
    gram, row = problem(2)
    columns = [1, 4, 2]
    right = np.append(row[columns], 7.0)
    call(kernels.solve_with_factor_in_place, factor(gram, columns), 3, right)
    expected = np.linalg.solve(gram[np.ix_(columns, columns)], row[columns])
    np.testing.assert_allclose(right, [*expected, 7.0], atol=1e-11)


@pytest.mark.parametrize("sum_to_one", [False, True])
def test_solve_on_support(call, sum_to_one):
    """The stationary point of the Lagrangian on the support, and its multiplier."""
    gram, row = problem(3)
    columns = np.array([0, 3, 1])
    solution, ones = np.empty(5), np.empty(5)
    multiplier = call(
        kernels.solve_on_support_in_place,
        factor(gram, columns),
        3,
        columns,
        row,
        sum_to_one,
        solution,
        ones,
    )
    system = np.zeros((4, 4))
    system[:3, :3] = gram[np.ix_(columns, columns)]
    system[:3, 3] = system[3, :3] = 1
    right = np.append(row[columns], 1)
    if sum_to_one:
        *expected, negative = np.linalg.solve(system, right)
        assert multiplier == pytest.approx(-negative, abs=1e-11)
    else:
        expected = np.linalg.solve(system[:3, :3], right[:3])
        assert multiplier == 0
    np.testing.assert_allclose(solution[:3], expected, atol=1e-11)


def test_descent(call):
    gram, row = problem(4)
    columns, solution, descent = np.array([2, 0]), np.array([0.5, -1.5, 9.0]), np.empty(5)
    zero = call(kernels.descent_in_place, gram, row, -0.25, columns, 2, solution, ROUNDING, descent)
    weights = np.zeros(5)
    weights[columns] = solution[:2]
    np.testing.assert_allclose(descent, row - 0.25 - gram @ weights, atol=1e-12)
    assert zero == pytest.approx(8 * ROUNDING * (np.abs(row).max() + 2.25))


def test_best_vertex(call):
    for seed in range(10):
        gram, row = problem(seed)
        assert call(kernels.best_vertex, gram, row) == np.argmin(0.5 * np.diag(gram) - row)


@pytest.mark.parametrize("sum_to_one", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_pivot_row(call, seed, sum_to_one):
    """From any guess: the minimiser, or an honest -1."""
    gram, row = problem(seed)
    expected = best_weights(gram, row, sum_to_one)
    solved = 0
    for guess in range(1, 32, 5):
        lower, order, work = scratch(5)
        positive = np.array([bool(guess >> j & 1) for j in range(5)])
        size = call(
            kernels.pivot_row_in_place,
            gram,
            row,
            positive,
            sum_to_one,
            FLOOR,
            ROUNDING,
            lower,
            order,
            work,
        )
        if size >= 0:
            weights = np.zeros(5)
            weights[order[:size]] = work[0, :size]
            np.testing.assert_allclose(weights, expected, atol=1e-10)
            solved += 1
    assert solved >= 5


@pytest.mark.parametrize("sum_to_one", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_descend_row(call, seed, sum_to_one):
    """The rarely used fallback solves every row by itself."""
    gram, row = problem(seed)
    lower, order, work = scratch(5)
    weights = np.full(5, np.nan)
    call(
        kernels.descend_row_in_place,
        gram,
        row,
        weights,
        sum_to_one,
        FLOOR,
        ROUNDING,
        lower,
        order,
        work,
    )
    np.testing.assert_allclose(weights, best_weights(gram, row, sum_to_one), atol=1e-10)


def many_rows():
    rng = np.random.default_rng(6)
    components = rng.standard_normal((5, 8))
    gram, cross = components @ components.T, 2 * rng.standard_normal((60, 8)) @ components.T
    return gram, cross, np.maximum(rng.standard_normal((60, 5)), 0)


@pytest.mark.parametrize("sum_to_one", [False, True])
def test_solve_rows(sum_to_one):
    gram, cross, weights = many_rows()
    hard = kernels.solve_rows_in_place(gram, cross, weights, sum_to_one, FLOOR, ROUNDING)
    assert 0 <= hard < 10  # pivoting nearly always ends by itself
    expected = [best_weights(gram, row, sum_to_one) for row in cross]
    np.testing.assert_allclose(weights, expected, atol=1e-10)


@pytest.mark.parametrize("sum_to_one", [False, True])
def test_pivot_rows_marks_what_it_leaves_as_it_was(sum_to_one):
    gram, cross, weights = many_rows()
    before, hard = weights.copy(), np.ones(60, dtype=bool)
    count = kernels.pivot_rows_in_place(gram, cross, weights, sum_to_one, FLOOR, ROUNDING, hard)
    expected = np.array([best_weights(gram, row, sum_to_one) for row in cross])
    assert count == hard.sum() < 10
    np.testing.assert_allclose(weights[~hard], expected[~hard], atol=1e-10)
    np.testing.assert_array_equal(weights[hard], before[hard])


@pytest.mark.parametrize("sum_to_one", [False, True])
def test_descend_rows_solves_the_marked_rows_only(sum_to_one):
    gram, cross, weights = many_rows()
    before, hard = weights.copy(), np.arange(60) % 2 == 0
    kernels.descend_rows_in_place(gram, cross, weights, sum_to_one, FLOOR, ROUNDING, hard)
    expected = np.array([best_weights(gram, row, sum_to_one) for row in cross])
    np.testing.assert_allclose(weights[hard], expected[hard], atol=1e-10)
    np.testing.assert_array_equal(weights[~hard], before[~hard])
