"""The smallest singular value is never overrated, whatever the matrix, and nearly met."""

import numpy as np
import pytest

from provenmf.certificate.singular_values import (
    amplification_of,
    has_independent_rows,
    least_stretch,
)


def smallest(rows, of_differences):
    k = len(rows)
    if of_differences:
        across = np.linalg.qr(np.vstack([np.eye(k - 1), -np.ones(k - 1)]))[0]
        rows = across.T @ rows
    return np.linalg.svd(rows, compute_uv=False)[-1]


@pytest.mark.parametrize("of_differences", [False, True])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("seed", range(20))
def test_bound_is_safe_and_tight(seed, scale, of_differences):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    rows = rng.standard_normal((k, k + int(rng.integers(0, 20))))
    amplified = amplification_of(scale * rows, of_differences=of_differences)
    found = 1 / amplified.all_weights / scale
    exact = smallest(rows, of_differences)
    assert 0.999999 * exact <= found <= exact * (1 + 1e-12)


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-9, 1e-15, 0.0])
def test_nearly_dependent_rows(distance):
    rng = np.random.default_rng(0)
    rows = rng.random((3, 12))
    rows[2] = rows[0] + rows[1] + distance * rng.random(12)
    exact, found = smallest(rows, False), least_stretch(rows)
    assert found <= exact + 1e-16
    assert found >= 0.9 * exact or distance < 1e-6


def test_rows_of_very_different_length():
    rng = np.random.default_rng(0)
    rows = rng.random((3, 12)) * np.array([[1.0], [1e-9], [1e7]])
    rotated = np.linalg.qr(rows.T)[1].T
    assert least_stretch(rows) <= smallest(rotated, False) * (1 + 1e-6)
    assert least_stretch(rows) > 1e-10


def test_zero_rows_too_many_rows_and_numbers_that_are_none():
    assert least_stretch(np.zeros((2, 3))) == 0
    assert least_stretch(np.ones((4, 3))) == 0
    assert least_stretch(np.array([[1.0, np.nan]])) == 0


def test_independent_rows_are_counted():
    rows = np.vstack([np.eye(3, 5), np.ones((2, 5)), np.eye(3, 5)[0] + np.eye(3, 5)[1]])
    assert has_independent_rows(rows, 0) and has_independent_rows(rows, 4)
    assert not has_independent_rows(rows, 5)


@pytest.mark.parametrize("of_differences", [False, True])
def test_each_weight_has_a_bound_of_its_own(of_differences):
    """|v_j| over ‖vA‖ ≤ 1 is one over the distance of row j to the span of the others."""
    rows = np.random.default_rng(0).random((4, 9)) * [[1], [10], [0.1], [1]]
    found = amplification_of(rows, of_differences=of_differences).by_component
    for j in range(4):
        others = np.delete(rows, j, axis=0)
        origin = others[0] if of_differences else np.zeros(9)
        edges = (others[1:] if of_differences else others) - origin
        away = rows[j] - origin
        away = away - np.linalg.lstsq(edges.T, away, rcond=None)[0] @ edges
        exact = 1 / np.linalg.norm(away)
        assert exact <= found[j] * (1 + 1e-12) <= exact * (1 + 1e-9)
