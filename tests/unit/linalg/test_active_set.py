"""The exact active sets of small quadratic programs against every support there is."""

from itertools import chain, combinations

import numpy as np
import pytest

from provenmf.linalg import nnls as kernels

FLOOR, ROUNDING = 1e-13, 2.3e-16


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
