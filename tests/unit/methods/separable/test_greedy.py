"""SPA, FastAnchor and XRAY against plain versions with full matrices, in every storage."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from provenmf.data import as_blocks
from provenmf.errors import DegenerateData
from provenmf.methods.separable.spa import fast_anchor, spa
from provenmf.methods.separable.xray import xray

METHODS = {"spa": spa, "fast_anchor": fast_anchor, "xray": xray}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def plain_spa(data, k):
    """GV14, Algorithm 1, with the projected matrix in full."""
    residual, anchors = data.astype(float).copy(), []
    for _ in range(k):
        anchor = int(np.argmax((residual**2).sum(axis=1)))
        direction = residual[anchor] / np.linalg.norm(residual[anchor])
        residual = residual - np.outer(residual @ direction, direction)
        anchors.append(anchor)
    return anchors


def distance_to_affine_span(points, chosen):
    """Distance of every point to the affine span of the chosen ones, by least squares."""
    origin, edges = chosen[0], (chosen[1:] - chosen[0]).T
    moved = (points - origin).T
    if edges.shape[1]:
        moved = moved - edges @ np.linalg.lstsq(edges, moved, rcond=None)[0]
    return np.linalg.norm(moved, axis=0)


def plain_fast_anchor(points, k, refine=True):
    """Arora13, Algorithm 4."""
    anchors = [int(np.argmax(np.linalg.norm(points, axis=1)))]
    for _ in range(k - 1):
        anchors.append(int(np.argmax(distance_to_affine_span(points, points[anchors]))))
    for i in range(k if refine else 0):
        others = anchors[:i] + anchors[i + 1 :]
        anchors[i] = int(np.argmax(distance_to_affine_span(points, points[others])))
    return anchors


def plain_xray(data, k):
    """Kumar13, Algorithm 1, "max", p all ones."""
    anchors, residual = [], data.copy()
    for _ in range(k):
        exterior = residual[np.argmax(np.linalg.norm(residual, axis=1))]
        anchors.append(int(np.argmax(data @ exterior / data.sum(axis=1))))
        weights = np.array([nnls(data[anchors].T, row)[0] for row in data])
        residual = data - weights @ data[anchors]
    return anchors


PLAIN = {spa: plain_spa, fast_anchor: plain_fast_anchor, xray: plain_xray}


def noisy(seed, n=60, d=12, k=5, noise=0.05):
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), n - k)])
    data = weights @ rng.random((k, d)) + noise * rng.standard_normal((n, d))
    return rng.permutation(np.abs(data))


@every_method
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_plain_version(method, seed):
    data = noisy(seed, n=80, d=20, k=8, noise=0.3)
    found = method(as_blocks(data), 8)
    assert found.anchors.tolist() == PLAIN[method](data, 8)
    np.testing.assert_array_equal(found.components, data[found.anchors])


def test_refinement_is_a_second_round():
    changed = []
    for seed in range(6):
        data = noisy(seed, n=80, d=20, k=8, noise=0.3)
        once = fast_anchor(as_blocks(data), 8, refine=False).anchors.tolist()
        assert once == plain_fast_anchor(data, 8, refine=False)
        changed.append(once != plain_fast_anchor(data, 8))
    assert any(changed)


@pytest.mark.parametrize("method", [spa, fast_anchor])
def test_scaled_rows_are_the_plain_version_on_scaled_rows(method):
    data = noisy(0) * np.random.default_rng(0).uniform(0.1, 10, (60, 1))
    data = np.vstack([data, np.zeros((1, 12)), np.full((1, 12), 5e-324)])  # these count as nothing
    scaled = data / np.maximum(data.sum(axis=1, keepdims=True), 1e-100)
    found = method(as_blocks(data), 5, scale_rows=True)
    assert found.anchors.tolist() == PLAIN[method](scaled[:60], 5)
    np.testing.assert_array_equal(found.components, data[found.anchors])


@every_method
@pytest.mark.parametrize("block_rows", [1, 13, 200])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_storage_and_block_size_do_not_matter(method, storage, block_rows):
    data = noisy(1, noise=0.0)
    data[data < 0.2] = 0
    data = np.vstack([data, data[::-1]])  # every row twice: all choices are ties
    whole = method(as_blocks(data), 5)
    parts = method(as_blocks(storage(data), block_rows=block_rows), 5)
    np.testing.assert_array_equal(parts.anchors, whole.anchors)
    assert max(whole.anchors) < 60
    single = method(as_blocks(storage(data.astype(np.float32))), 5)
    assert single.components.dtype == np.float32


@every_method
@pytest.mark.parametrize("k", [2, 4, 6])
def test_the_number_is_found(method, k):
    exact = method(as_blocks(noisy(k, k=k, noise=0.0)))
    assert len(exact.anchors) == k and exact.state.drop == np.inf
    if method is not xray:  # where noise makes a ray of many rows
        near = method(as_blocks(noisy(k, k=k, noise=1e-4)))
        assert len(near.anchors) == k and near.state.drop > 10


def test_xray_finds_rays_of_any_length_and_more_of_them_than_columns():
    data = noisy(3, noise=0.0) * np.random.default_rng(0).uniform(0.2, 5, (60, 1))
    anchors = xray(as_blocks(data), 5).anchors
    weights = np.array([nnls(data[anchors].T, row)[0] for row in data])
    np.testing.assert_allclose(weights @ data[anchors], data, atol=1e-9)
    angles = 2 * np.pi * np.arange(5) / 5
    rays = np.column_stack([np.cos(angles), np.sin(angles), np.full(5, 1.2)]) + 1
    inside = np.random.default_rng(0).dirichlet(np.ones(5), 30) @ rays
    assert sorted(xray(as_blocks(np.vstack([inside, rays]))).anchors) == [30, 31, 32, 33, 34]


def test_spanned_spaces_and_rows_of_very_different_length():
    assert spa(as_blocks(np.diag([1e8, 1.0, 1e-8])), 3).anchors.tolist() == [0, 1, 2]
    assert len(spa(as_blocks(np.diag([3.0, 2.0, 1.0]))).anchors) == 3  # no drop
    line = np.array([[0.2], [1.0], [0.7], [0.1]])  # one more anchor than columns
    assert fast_anchor(as_blocks(line)).anchors.tolist() == [1, 3]


@every_method
@pytest.mark.parametrize(
    ("data", "available"),
    [
        (np.ones((6, 4)), 1),
        (np.repeat(np.eye(3), 4, axis=0), 3),
        (np.zeros((4, 3)), 1),
    ],
    ids=["all equal", "duplicates", "all zero"],
)
def test_fewer_extreme_rows_than_asked_for(method, data, available):
    with pytest.warns(DegenerateData, match="n_components"):
        found = method(as_blocks(data), available + 1)
    assert len(set(found.anchors.tolist())) == len(found.anchors) == available
    assert method(as_blocks(data[:1]), 1).anchors.tolist() == [0]
