"""FastAnchorWords against a plain version with full projections."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.errors import DegenerateData
from provenmf.methods.separable.fast_anchor import fast_anchor


def distance_to_affine_span(points, chosen):
    """Distance of every point to the affine span of the chosen ones, by least squares."""
    origin, edges = chosen[0], (chosen[1:] - chosen[0]).T
    moved = (points - origin).T
    if edges.shape[1]:
        moved = moved - edges @ np.linalg.lstsq(edges, moved, rcond=None)[0]
    return np.linalg.norm(moved, axis=0)


def plain_fast_anchor(points, k, refine):
    anchors = [int(np.argmax(np.linalg.norm(points, axis=1)))]
    for _ in range(k - 1):
        anchors.append(int(np.argmax(distance_to_affine_span(points, points[anchors]))))
    for i in range(k if refine else 0):
        others = anchors[:i] + anchors[i + 1 :]
        anchors[i] = int(np.argmax(distance_to_affine_span(points, points[others])))
    return anchors


def noisy(seed, n=50, d=10, k=5, noise=0.05):
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), n - k)])
    return rng.permutation(weights @ rng.random((k, d)) + noise * rng.standard_normal((n, d)))


def hard(seed):
    return noisy(seed, n=80, d=20, k=8, noise=0.3)


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_plain_version(seed, refine):
    data = hard(seed)
    found = fast_anchor(as_blocks(data), 8, refine=refine)
    assert found.anchors.tolist() == plain_fast_anchor(data, 8, refine)


def test_refinement_changes_something_somewhere():
    changed = [
        plain_fast_anchor(hard(seed), 8, True) != plain_fast_anchor(hard(seed), 8, False)
        for seed in range(6)
    ]
    assert any(changed)


@pytest.mark.parametrize("block_rows", [1, 13, 100])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_storage_and_block_size_do_not_matter(storage, block_rows):
    data = np.abs(noisy(0, noise=0.0))
    data[data < 0.2] = 0
    data = np.vstack([data, data[::-1]])
    whole = fast_anchor(as_blocks(data), 5)
    parts = fast_anchor(as_blocks(storage(data), block_rows=block_rows), 5)
    np.testing.assert_array_equal(parts.anchors, whole.anchors)
    assert max(whole.anchors) < 50


def test_scaled_rows():
    rng = np.random.default_rng(3)
    data = np.abs(noisy(3)) * rng.uniform(0.1, 10, (50, 1))
    scaled = data / data.sum(axis=1, keepdims=True)
    found = fast_anchor(as_blocks(data), 5, scale_rows=True)
    assert found.anchors.tolist() == plain_fast_anchor(scaled, 5, True)


def test_rows_without_mass_are_never_chosen():
    data = np.vstack([np.zeros((2, 4)), np.eye(3, 4), np.full((1, 4), 0.2)])
    found = fast_anchor(as_blocks(data), 3, scale_rows=True)
    assert sorted(found.anchors.tolist()) == [2, 3, 4]


def test_moving_all_rows_keeps_the_later_choices():
    data = noisy(1)
    k = 5
    first = fast_anchor(as_blocks(data), k, refine=True).anchors
    moved = fast_anchor(as_blocks(data + data[first[0]]), k, refine=True).anchors
    assert set(first.tolist()) == set(moved.tolist())


def test_random_projection_finds_well_separated_anchors():
    rng = np.random.default_rng(4)
    data = np.vstack([np.eye(4, 200) * 5, rng.dirichlet(np.ones(4), 60) @ np.eye(4, 200) * 5])
    found = fast_anchor(as_blocks(sp.csr_array(data)), 4, n_projections=60, rng=rng)
    assert sorted(found.anchors.tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("k", [2, 4])
def test_the_number_is_found_without_noise(k):
    found = fast_anchor(as_blocks(noisy(k, k=k, noise=0.0)))
    assert len(found.anchors) == k
    assert found.state.drop == np.inf


def test_one_more_anchor_than_columns():
    found = fast_anchor(as_blocks(np.array([[0.2], [1.0], [0.7], [0.1]])))
    assert found.anchors.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("data", "available"),
    [
        (np.ones((6, 4)), 1),
        (np.repeat(np.eye(3), 4, axis=0), 3),
        (np.ones((1, 4)), 1),
        (np.arange(5.0)[:, None], 2),
        (np.zeros((4, 3)), 1),
    ],
    ids=["all equal", "duplicates", "n = 1", "d = 1", "all zero"],
)
def test_fewer_extreme_rows_than_asked_for(data, available):
    if len(data) == 1:
        assert fast_anchor(as_blocks(data), 1).anchors.tolist() == [0]
        return
    with pytest.warns(DegenerateData, match="n_components"):
        found = fast_anchor(as_blocks(data), available + 1)
    assert len(set(found.anchors.tolist())) == len(found.anchors) == available
