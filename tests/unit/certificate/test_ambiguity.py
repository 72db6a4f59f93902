"""Other factorizations are factorizations: nonnegative in exact arithmetic, the same product."""

from fractions import Fraction

import numpy as np
import pytest

from provenmf.certificate.ambiguity import (
    angles,
    change_at_most,
    explore,
    nested_supports,
    other_factors,
)
from provenmf.certificate.rigidity import Entries


def exact_inverse(matrix):
    """Gauss and Jordan with fractions."""
    k = len(matrix)
    rows = [
        [Fraction(float(v)) for v in row] + [Fraction(int(i == j)) for j in range(k)]
        for i, row in enumerate(matrix)
    ]
    for column in range(k):
        pivot = next(r for r in range(column, k) if rows[r][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [v / rows[column][column] for v in rows[column]]
        for r in range(k):
            if r != column:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column], strict=True)]
    return [row[k:] for row in rows]


def exact_product(left, right):
    columns = list(zip(*right, strict=True))
    return [
        [
            sum(Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True))
            for column in columns
        ]
        for row in left
    ]


def is_nonnegative(rows):
    return all(value >= 0 for row in rows for value in row)


@pytest.mark.parametrize("k, zeros", [(2, 0.1), (3, 0.1), (3, 0.25), (4, 0.1)])
def test_other_factorizations_are_nonnegative_in_exact_arithmetic(k, zeros):
    found = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        weights = rng.random((12, k)) * (rng.random((12, k)) > zeros)
        components = rng.random((k, 7)) * (rng.random((k, 7)) > zeros)
        entries = Entries(weights, components)
        ambiguity = explore(entries)
        if ambiguity is None:
            continue
        found += 1
        assert is_nonnegative(
            exact_product(entries.weights.tolist(), ambiguity.transition.tolist())
        )
        inverse = exact_inverse(ambiguity.transition)
        assert is_nonnegative(exact_product(inverse, entries.plain.tolist()))
        assert ambiguity.degrees.max() > 0
        assert (ambiguity.degrees >= angles(entries, ambiguity.transition) - 1e-9).all()
    assert found


def test_two_parts_turn_as_far_as_they_can():
    """For two parts the feasible sets are intervals, known in closed form (Lawton 1971)."""
    components = np.array([[3.0, 1.0, 0.0, 1.0], [1.0, 2.0, 2.0, 1.0]])
    weights = np.array([[0.8, 0.2], [0.3, 0.7]])
    found = explore(Entries(weights, components))
    ends = np.linalg.norm(components, axis=1)
    # the first part may turn from the first row to where an entry vanishes, which it is at
    first_row = weights[0] @ components
    cosine = first_row @ components[0] / (np.linalg.norm(first_row) * ends[0])
    assert found.degrees[0] == pytest.approx(np.degrees(np.arccos(cosine)), rel=0.05)
    # the second away from the first until an entry vanishes, or to the second row
    second = components[1] - components[0] / 3
    row = weights[1] @ components
    far = max(
        np.degrees(np.arccos(v @ components[1] / (np.linalg.norm(v) * ends[1])))
        for v in (second, row)
    )
    assert found.degrees[1] == pytest.approx(far, rel=0.05)


def test_nested_supports_can_always_be_mixed():
    components = np.array([[1.0, 2.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 3.0]])
    weights = np.vstack([np.eye(3), np.ones(3)])
    entries = Entries(weights, components)
    of_components, of_weights = nested_supports(entries)
    assert of_components.tolist() == [
        [False, True, False],
        [False, False, False],
        [False, True, False],
    ]
    assert not of_weights.any()
    found = explore(entries)
    assert found.degrees[1] == 0 and found.degrees[0] > 1 and found.degrees[2] > 1


@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0), (1e8, 1.0, 1e-8)])
def test_other_factors_have_the_same_product(sizes):
    rng = np.random.default_rng(0)
    weights = rng.random((12, 3)) * (rng.random((12, 3)) > 0.1) / np.array(sizes)
    components = rng.random((3, 7)) * (rng.random((3, 7)) > 0.1) * np.array(sizes)[:, None]
    others, parts = other_factors(weights, components)
    product = weights @ components
    assert np.linalg.norm(others @ parts - product) <= 1e-12 * np.linalg.norm(product)
    assert others.min() >= 0 and parts.min() >= 0
    turned = parts / np.linalg.norm(parts, axis=1, keepdims=True)
    before = components / np.linalg.norm(components, axis=1, keepdims=True)
    assert np.abs(turned - before).max() > 1e-3


# The most that components can change: bands hold every other factorization.


def sums_of_one(rows):
    return rows / rows.sum(axis=1, keepdims=True)


def changes(components, others):
    """Half the sum of absolute differences of each component to each of the others."""
    left, right = sums_of_one(components), sums_of_one(others)
    return np.abs(left[:, None] - right[None]).sum(axis=2) / 2


def two_parts(seed):
    rng = np.random.default_rng(seed)
    return rng.random((20, 2)) + 0.05, rng.random((2, 9)) + 0.05


def closed_form(weights, components):
    """The largest change of each of two components, from the ratios that stay nonnegative."""
    found = []
    for i in (0, 1):
        here, other = components[i], components[1 - i]
        away = here - (here / other).min() * other
        towards = here + (weights[:, 1 - i] / weights[:, i]).min() * other
        found.append(changes(here[None], np.vstack([away, towards])).max())
    return np.array(found)


@pytest.mark.parametrize("seed", range(3))
def test_two_components_have_their_feasible_bands(seed):
    weights, components = two_parts(seed)
    bound = change_at_most(Entries(weights, components))
    exact = closed_form(weights, components)
    assert (bound >= exact * (1 - 1e-12)).all()
    np.testing.assert_allclose(bound, exact, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [3, 4])
def test_other_factorizations_stay_inside(seed, k):
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.eye(k) + 0.05, rng.dirichlet(np.full(k, 0.3), 40) + 0.01])
    components = rng.random((k, 12)) * (rng.random((k, 12)) > 0.3) + 0.02
    bound = change_at_most(Entries(weights, components))
    others = other_factors(weights, components)
    if bound is None or others is None:
        pytest.skip("no bands or no other parts")
    moved = np.diag(changes(components, others[1]))
    assert (moved <= bound).all() and moved.max() > 0


def test_components_that_cannot_be_told_apart_have_no_bands():
    """No row says which new component belongs to which old one."""
    weights = np.tile([[1.0, 1.0, 1.0]], (5, 1)) + 0.01 * np.random.default_rng(0).random((5, 3))
    components = np.random.default_rng(1).random((3, 8)) + 0.5
    assert change_at_most(Entries(weights, components)) is None
