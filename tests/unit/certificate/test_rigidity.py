"""Rigidity agrees with exhaustive linear programs, and its distance is never too large."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from provenmf.certificate import rigidity
from provenmf.certificate.rigidity import Entries, balanced_factors, search


def sparse_factors(seed, k=3, n=12, d=9, zeros=0.35):
    rng = np.random.default_rng(seed)
    weights = rng.random((n, k)) * (rng.random((n, k)) > zeros)
    components = rng.random((k, d)) * (rng.random((k, d)) > zeros)
    return weights, components


def is_rigid(weights, components):
    """Largest and smallest value of every T_ij under all conditions, one program each."""
    k = len(components)
    conditions = []
    for row, j in zip(*np.nonzero(weights == 0), strict=True):
        condition = np.zeros((k, k))
        condition[:, j] = weights[row]
        conditions.append(condition)
    for i, column in zip(*np.nonzero(components == 0), strict=True):
        condition = np.zeros((k, k))
        condition[i] = -components[:, column]
        conditions.append(condition)
    if not conditions:
        return False
    matrix = np.array(conditions).reshape(len(conditions), -1)
    bounds = [(0, 0) if i == j else (-1, 1) for i in range(k) for j in range(k)]
    for unknown in range(k * k):
        for sign in (1, -1):
            goal = np.zeros(k * k)
            goal[unknown] = sign
            found = linprog(goal, A_ub=-matrix, b_ub=np.zeros(len(matrix)), bounds=bounds)
            if found.fun < -1e-7:
                return False
    return True


@pytest.mark.parametrize("zeros", [0.15, 0.25, 0.35])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_agrees_with_all_programs(k, zeros):
    answers = set()
    for seed in range(6):
        weights, components = sparse_factors(seed, k, zeros=zeros)
        if (weights.max(axis=0) == 0).any() or (components.max(axis=1) == 0).any():
            continue
        entries = Entries(weights, components)
        found = search(entries)
        expected = is_rigid(weights, components)
        assert (found.reach is not None) == expected
        assert (found.direction is not None) == (not expected)
        answers.add(expected)
    assert answers


@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1e300, 1e-300), (1e-200, 1e250)])
def test_scaling_by_powers_of_two_keeps_every_digit(sizes):
    rng = np.random.default_rng(0)
    weights, components = sizes[0] * rng.random((6, 3)), sizes[1] * rng.random((3, 5))
    weights[4] = weights[0, 1] = components[2, 3] = 0
    scaled = balanced_factors(weights, components)
    assert ((scaled.components.max(axis=1) >= 0.5) & (scaled.components.max(axis=1) < 1)).all()
    assert scaled.component_columns.max() < 1 and scaled.weight_rows.max() < 1
    exact = [np.vectorize(Fraction)(a) for a in (weights, components, *scaled)]
    products = exact[0][:, :, None] * exact[1][None], exact[4][:, :, None] * exact[3][None]
    for given, found in zip(*products):  # one factor for each row of the weights
        assert len({f / g for g, f in zip(given.ravel(), found.ravel()) if g}) <= 1
        assert all(f == 0 for g, f in zip(given.ravel(), found.ravel()) if not g)


def test_a_part_of_the_entries_gives_the_same_answer(monkeypatch):
    monkeypatch.setattr(rigidity, "AT_ONCE", 5)
    for seed in range(5):
        weights, components = sparse_factors(seed, 3, n=40, d=30, zeros=0.1)
        entries = Entries(weights, components)
        found = search(entries)
        assert (found.reach is not None) == is_rigid(weights, components)


def two_triangles():
    """Two factorizations of one product: the triangles of every other vertex of a hexagon.

    Rows are the corners of their intersection, columns the edges of the hexagon; entries are
    distances. Each triangle is a set of parts with the same product.
    """
    angles = np.arange(6) * np.pi / 3
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    normals = np.column_stack([np.cos(angles + np.pi / 6), np.sin(angles + np.pi / 6)])
    core = normals / np.sqrt(3)
    factors = []
    for triangle in (corners[::2], corners[1::2]):
        system = np.vstack([triangle.T, np.ones(3)])
        weights = np.linalg.solve(system, np.vstack([core.T, np.ones(6)])).T
        components = np.cos(np.pi / 6) - triangle @ normals.T
        weights[np.abs(weights) < 1e-9] = 0
        components[np.abs(components) < 1e-9] = 0
        factors.append((weights, components))
    return factors


def test_another_factorization_is_at_least_as_far_as_claimed():
    (weights, components), (others, other_components) = two_triangles()
    np.testing.assert_allclose(weights @ components, others @ other_components, atol=1e-12)
    entries = Entries(weights, components)
    found = search(entries)
    transition = np.linalg.lstsq(
        entries.weights,
        others * entries.weights.sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True),
        rcond=None,
    )[0]
    distances = []
    for order in permutations(range(3)):
        ordered = transition[:, order]
        if (np.diag(ordered) > 0).all():
            distances.append(np.linalg.norm(ordered / np.diag(ordered) - np.eye(3)))
    assert 0 < found.reach < min(distances)
