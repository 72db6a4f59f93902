"""Sufficiently scattered: proved only where it is true, by an independent test of the cone."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls

from provenmf.certificate.rigidity import Entries, are_scattered, is_scattered

ONES = [Fraction(1)] * 6


def circle_is_inside(points, tries=400, seed=0):
    """Whether vectors on the boundary of {eᵀx ≥ √(k−1)‖x‖} are in the cone of the points."""
    k = points.shape[1]
    rng = np.random.default_rng(seed)
    center = np.ones(k) / k
    radius = np.sqrt(1 / (k - 1) - 1 / k)
    axes = [center - np.eye(k)[j] for j in range(k)]
    for direction in [*axes, *rng.standard_normal((tries, k))]:
        side = direction - direction.mean()
        vector = center + radius * side / np.linalg.norm(side)
        if nnls(points.T, vector)[1] > 1e-9:
            return False
    return True


def on_faces(k, share, count, seed):
    """Points at a share of the way from the middle of each face to its corners, and some inside."""
    rng = np.random.default_rng(seed)
    corners = share * np.eye(k)[:, None, :] + (1 - share) * (1 - np.eye(k))[None, :, :] / (k - 1)
    corners = corners[~np.eye(k, dtype=bool)]
    corners[np.isclose(corners, 0)] = 0
    for j, row in enumerate(np.repeat(np.arange(k), k - 1)):
        others = [i for i in range(k) if i != row][j % (k - 1)]
        corners[j] = 0
        corners[j, row] = share
        rest = [i for i in range(k) if i not in (row, others)]
        corners[j, rest] = (1 - share) / max(len(rest), 1)
    return np.vstack([corners, rng.dirichlet(np.ones(k), count)])


@pytest.mark.parametrize("k", [3, 4, 5])
def test_true_only_where_the_cone_contains_the_circle(k):
    answers = set()
    for seed, share in enumerate(np.linspace(0.3, 1.0, 15)):
        points = on_faces(k, share, 10, seed)
        proved = is_scattered(points, ONES[:k])
        inside = circle_is_inside(points)
        assert inside or not proved
        answers.add(proved)
    assert answers == {True, False}


def test_nearly_on_the_face_is_not_on_the_face():
    points = np.vstack([np.eye(3), np.full(3, 1 / 3)])
    assert is_scattered(points, ONES[:3])
    points[0, 1] = 1e-12
    assert not is_scattered(points, ONES[:3])


def test_two_parts_need_both_axes():
    assert is_scattered(np.array([[1.0, 0.0], [0.0, 2.0]]), ONES[:2])
    assert not is_scattered(np.array([[1.0, 1e-300], [0.0, 2.0]]), ONES[:2])


def test_the_scale_is_found():
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(3), rng.random((5, 3))]) * [1e5, 1.0, 1e-3]
    components = on_faces(3, 0.9, 4, 0).T * np.array([[1e-5], [1.0], [1e3]])
    assert are_scattered(Entries(weights, components))


def test_a_facet_that_is_missing_is_noticed(monkeypatch):
    points = np.vstack([np.eye(3), np.full(3, 1 / 3)])

    def without_one(scaled):
        return np.arange(3), np.array([[0, 1], [1, 2]], dtype=np.intc)

    assert is_scattered(points, ONES[:3])
    monkeypatch.setattr("provenmf.certificate.rigidity._hull", without_one)
    assert not is_scattered(points, ONES[:3])
