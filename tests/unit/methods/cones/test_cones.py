import numpy as np
import pytest

from provenmf import ConeNMF
from provenmf.data import as_blocks
from provenmf.datasets.cones import equiangular_axes, sample_cones
from provenmf.errors import DegenerateData
from provenmf.methods.cones.solver import cones, nearest_component_encoder


def literal_algorithm_2(X, k, first):
    """Liu17, Algorithms 1 and 2, with full decompositions; returns the product and the clusters."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    chosen = [first]
    while len(chosen) < k:
        chosen.append(int(np.argmin((unit @ unit[chosen].T).max(axis=1))))
    labels = (unit @ unit[chosen].T).argmax(axis=1)
    product = np.zeros_like(X)
    for j in range(k):
        rows = labels == j
        u, s, v = np.linalg.svd(X[rows])
        product[rows] = s[0] * np.outer(np.abs(u[:, 0]), np.abs(v[0]))
    return product, labels


@pytest.fixture(scope="module")
def sample():
    axes = equiangular_axes(6, 40, 1.1, random_state=0)
    return sample_cones(300, axes, angles=0.25, spread="random", random_state=1)


def test_equals_the_literal_algorithm(sample):
    X = sample.data
    solution = cones(as_blocks(X), 6)
    weights = nearest_component_encoder(solution.components, X.dtype)(X)
    product, labels = literal_algorithm_2(X, 6, int(solution.anchors[0]))
    np.testing.assert_array_equal(solution.labels, labels)
    np.testing.assert_allclose(weights @ solution.components, product, atol=1e-8)


def test_number_of_cones_from_the_largest_drop(sample):
    solution = cones(as_blocks(sample.data))
    assert solution.components.shape[0] == 6
    angles = solution.state.farthest_first_angles
    assert angles[5] - angles[6] == pytest.approx((angles[:-1] - angles[1:]).max())


def test_the_number_of_cones_does_not_turn_on_the_last_digits():
    """Falls of π/4 each: single precision took three cones, double precision one."""
    data = np.array([[1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 0.0, 2.0]])
    found = [ConeNMF().fit(data.astype(dtype)).n_components_ for dtype in (np.float64, np.float32)]
    assert found[0] == found[1]
    assert cones(as_blocks(np.repeat(np.eye(4), 3, axis=0))).components.shape[0] == 4
    assert cones(as_blocks(np.ones((5, 3)))).components.shape[0] == 1


def test_fewer_directions_than_components():
    X = np.repeat(np.array([[1.0, 0, 0], [1, 1, 0]]), 4, axis=0) * np.arange(1, 9)[:, None]
    with pytest.warns(DegenerateData, match="2 distinct directions"):
        solution = cones(as_blocks(X), 5)
    assert solution.components.shape == (2, 3)
    assert solution.stop_reason == "all directions found"


def test_zero_rows_and_zero_data():
    X = np.vstack([np.zeros(3), np.eye(3)])
    solution = cones(as_blocks(X), 3)
    assert solution.labels[0] == -1
    assert not nearest_component_encoder(solution.components, X.dtype)(X)[0].any()
    with pytest.warns(DegenerateData, match="no row of X"):
        solution = cones(as_blocks(np.zeros((4, 3))), 2)
    assert (solution.labels == -1).all() and not solution.components.any()


def test_rows_whose_squares_underflow_count_as_zero():
    X = np.vstack([np.eye(3), [[1e-160, 2e-160, 0.0]], [[1e-130, 2e-130, 0.0]]])
    solution = cones(as_blocks(X))
    assert solution.labels.tolist()[3] == -1 and solution.labels[4] >= 0


def test_rounding_does_not_choose_the_first_centroid():
    rng = np.random.default_rng(0)
    rows = rng.random((50, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[30] *= 1.0 + 4e-16
    assert cones(as_blocks(rows), 3).anchors[0] == 0
    rows[30] *= 1.001
    assert cones(as_blocks(rows), 3).anchors[0] == 30
