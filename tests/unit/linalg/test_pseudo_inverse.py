from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from provenmf.errors import InvalidInput
from provenmf.linalg import left_inverse as l1_simplex, left_inverse as pseudo_inverse
from provenmf.linalg.left_inverse import (
    dependent_features,
    least_infinity_inverse,
    left_inverse,
    mixing_of,
    moore_penrose_inverse,
)


def row_sums_by_linprog(components):
    """The plain programs: b = p − q with p, q ≥ 0, minimise Σ(p + q) subject to C b = e_i."""
    k, d = components.shape
    both = np.hstack([components, -components])
    return np.array(
        [
            linprog(np.ones(2 * d), A_eq=both, b_eq=np.eye(k)[i], method="highs").fun
            for i in range(k)
        ]
    )


def kinds_of_components(rng):
    dense = rng.random((6, 40))
    return {
        "dense": dense,
        "gaussian": rng.standard_normal((6, 40)),
        "sparse": dense * (rng.random(dense.shape) < 0.3),
        "zeros and ones, many ties": (rng.random((7, 30)) < 0.4).astype(float),
        "identity beside repeated columns": np.hstack([np.eye(5)] * 4),
        "square": rng.random((5, 5)) + np.eye(5),
        "scales apart": dense * np.logspace(-8, 8, 6)[:, None],
        "one feature": dense[:1],
    }


@pytest.mark.parametrize("kind", kinds_of_components(np.random.default_rng(0)))
def test_rows_are_as_small_as_general_linear_programming_makes_them(kind):
    components = kinds_of_components(np.random.default_rng(3))[kind]
    found = least_infinity_inverse(components)
    scales = np.abs(components).max(axis=1)
    np.testing.assert_allclose(
        found.rows @ components.T * scales[:, None] / scales, np.eye(len(components)), atol=1e-9
    )
    unit = components / scales[:, None]
    np.testing.assert_allclose(
        np.abs(found.rows).sum(axis=1) * scales, row_sums_by_linprog(unit), rtol=1e-7
    )


@pytest.mark.parametrize("factor", [0.5, 2])
@pytest.mark.parametrize("name", [field.name for field in fields(l1_simplex.SETTINGS)])
def test_half_and_twice_a_setting_give_the_same_sums(name, factor, monkeypatch):
    """None of them decides an answer."""
    components = kinds_of_components(np.random.default_rng(3))["zeros and ones, many ties"]
    before = least_infinity_inverse(components)
    value = getattr(l1_simplex.SETTINGS, name)
    changed = replace(l1_simplex.SETTINGS, **{name: type(value)(factor * value)})
    monkeypatch.setattr(l1_simplex, "SETTINGS", changed)
    after = least_infinity_inverse(components)
    np.testing.assert_allclose(*(np.abs(found.rows).sum(axis=1) for found in (before, after)))


@given(seed=st.integers(0, 10_000), k=st.integers(1, 6), extra=st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_the_lower_bound_is_below_and_close(seed, k, extra):
    rng = np.random.default_rng(seed)
    components = rng.integers(-2, 3, (k, k + extra)).astype(float)
    if dependent_features(components):
        return
    found = least_infinity_inverse(components)
    assert found.lower_bound <= found.infinity_norm * (1 + 1e-12)
    assert found.lower_bound >= found.infinity_norm * (1 - 1e-6)
    assert found.infinity_norm <= moore_penrose_inverse(components).infinity_norm * (1 + 1e-9)


def test_any_start_gives_the_same_sums():
    rng = np.random.default_rng(5)
    before = rng.random((8, 60))
    basis = least_infinity_inverse(before).basis
    for size in (0.0, 1e-6, 0.1, 10.0):
        components = before + size * rng.standard_normal(before.shape)
        warm, cold = left_inverse(components, basis=basis), left_inverse(components)
        np.testing.assert_allclose(np.abs(warm.rows).sum(1), np.abs(cold.rows).sum(1), rtol=1e-7)
    assert left_inverse(before, basis=basis).rounds == 0


def test_a_singular_basis_is_replaced():
    components = np.random.default_rng(6).random((3, 20))
    components[:, 1] = components[:, 0]
    basis = np.tile([0, 1, 2], (3, 1))
    warm, cold = left_inverse(components, basis=basis), left_inverse(components)
    assert warm.infinity_norm == pytest.approx(cold.infinity_norm)


def test_programs_in_chunks_equal_programs_at_once(monkeypatch):
    components = np.random.default_rng(8).random((7, 40))
    expected = least_infinity_inverse(components).rows
    few = replace(l1_simplex.SETTINGS, inverse_bytes=2 * 8 * 49)
    monkeypatch.setattr(l1_simplex, "SETTINGS", few)
    np.testing.assert_allclose(least_infinity_inverse(components).rows, expected, atol=1e-12)


def test_the_general_solver_takes_over_where_rounds_run_out(monkeypatch):
    components = np.random.default_rng(9).random((4, 30))
    expected = least_infinity_inverse(components)
    original = pseudo_inverse.least_l1_solutions
    monkeypatch.setattr(
        pseudo_inverse, "least_l1_solutions", lambda m, basis=None: original(m, max_rounds=0)
    )
    found = least_infinity_inverse(components)
    assert found.infinity_norm == pytest.approx(expected.infinity_norm)
    assert found.lower_bound == pytest.approx(expected.lower_bound)


def test_dependent_features_are_named():
    components = np.random.default_rng(11).random((6, 20))
    assert dependent_features(components) == ()
    components[4] = 2 * components[1] - 3 * components[3]
    assert dependent_features(components) == (1, 3, 4)
    components[0] = 0
    assert dependent_features(components) == (0, 1, 3, 4)
    assert len(dependent_features(components[:, :3])) == 6  # more features than columns
    for invert in (least_infinity_inverse, moore_penrose_inverse):
        with pytest.raises(InvalidInput, match="components 0, 1, 3, 4 are linearly dependent"):
            invert(components)


def far_apart(seed):
    """Components with entries that differ by eighteen orders of magnitude."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    if seed % 3 == 1:
        return rng.choice([1e-9, 1.0, 1e9], (k, 10))
    return rng.choice([0, 1e-9, 1.0, 1e9], (k, 10)) * rng.random((k, 10))


@pytest.mark.parametrize("seed", [778, 808])
def test_a_basis_lost_to_rounding_does_not_end_in_a_failure_of_linear_algebra(seed):
    try:
        found = least_infinity_inverse(far_apart(seed))
    except InvalidInput as error:
        assert "nearly linearly dependent" in str(error)
    else:
        assert np.isfinite(found.rows).all() and found.lower_bound <= found.infinity_norm


@pytest.mark.parametrize("seed", [2960, 2927, 2923, 2920])
def test_entries_far_apart_do_not_go_on_for_ever(seed):
    """Prices cannot be known to 1e-9 there: the simplex method went round 10 000 times."""
    components = far_apart(seed)
    k = len(components)
    found = least_infinity_inverse(components)
    assert found.rounds <= 100 + 20 * k
    scales = np.abs(components).max(axis=1)
    product = (found.rows * scales[:, None]) @ (components / scales[:, None]).T
    assert np.abs(product - np.eye(k)).max() < 1e-5
    assert found.infinity_norm <= found.lower_bound * (1 + 1e-5)


def test_the_parts_add_up_and_lie_where_they_should():
    rng = np.random.default_rng(0)
    reference, components = rng.random((4, 12)), rng.random((4, 12))
    parts = mixing_of(components, reference)
    np.testing.assert_allclose(np.diag(parts.off_diagonal), 0)
    np.testing.assert_allclose(parts.outside @ reference.T, 0, atol=1e-12)
    rebuilt = (np.diag(parts.diagonal) + parts.off_diagonal) @ reference + parts.outside
    np.testing.assert_allclose(rebuilt, components)
