"""The projection of FastGradient against a search over the number of capped entries."""

import numpy as np
import pytest

from provenmf.methods.separable.kernels import project_capped_rows_in_place


def nearest(row, i, sizes):
    """The best of the candidates for t = v_i: the zero of g for each number of capped entries."""
    if sizes[i] == 0:
        return np.zeros_like(row)
    caps = sizes / sizes[i]
    others = np.delete(np.arange(len(row)), i)
    order = others[np.argsort(-row[others] / np.maximum(caps[others], 1e-300))]
    candidates = [0.0, 1.0]
    for count in range(len(order) + 1):
        capped = order[:count]
        t = (row[i] + caps[capped] @ row[capped]) / (1 + caps[capped] @ caps[capped])
        candidates.append(np.clip(t, 0, 1))
    points = [np.clip(row, 0, caps * t) for t in candidates]
    for point, t in zip(points, candidates):
        point[i] = t
    return min(points, key=lambda point: np.sum((point - row) ** 2))


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(5))
def test_project_capped_rows(seed, scale):
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.1, 3, 12)
    sizes[3] = 0
    before = scale * rng.standard_normal((12, 12))
    after = before.copy()
    project_capped_rows_in_place(after, sizes)
    expected = np.array([nearest(before[i], i, sizes) for i in range(12)])
    np.testing.assert_allclose(after, expected, atol=1e-12)


def test_projection_is_nearest_among_feasible_points():
    rng = np.random.default_rng(0)
    sizes = rng.uniform(0.5, 2, 8)
    before = rng.standard_normal((8, 8))
    after = before.copy()
    project_capped_rows_in_place(after, sizes)
    again = after.copy()
    project_capped_rows_in_place(again, sizes)
    np.testing.assert_allclose(again, after, atol=1e-14)
    for _ in range(300):
        other = after + 0.1 * rng.standard_normal((8, 8))
        project_capped_rows_in_place(other, sizes)
        assert np.sum((before - after) * (other - after)) <= 1e-10  # obtuse angle: the nearest
