import numpy as np
import pytest

from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.methods.separable.spa import spa
from provenmf.methods.separable.vertices import average_vertices, barycentric


def noisy_simplex(seed, noise, n=1500, k=4, d=8):
    rng = np.random.default_rng(seed)
    vertices = rng.standard_normal((k, d))
    weights = rng.dirichlet(np.full(k, 0.3), n)
    weights[: 40 * k] = np.eye(k).repeat(40, axis=0)
    errors = noise * rng.uniform(0.5, 2, n)
    rows = weights @ vertices + errors[:, None] * rng.standard_normal((n, d))
    return rows, vertices, errors


def distance(found, vertices):
    lengths = np.linalg.norm(found[:, None] - vertices[None], axis=2)
    return lengths.min(axis=0).max()


@pytest.mark.parametrize("seed", range(5))
def test_vertices_are_closer_to_the_truth_than_anchors(seed):
    rows, vertices, errors = noisy_simplex(seed, 0.05)
    blocks = as_blocks(rows, block_rows=200)
    anchors = spa(blocks, 4).anchors
    found = average_vertices(blocks, anchors, errors)
    assert distance(found.points, vertices) < distance(rows[anchors], vertices) / 2
    assert found.n_members.min() > 20
    precise = found.members / errors[:, None] ** 2  # the vertices are their members' means
    np.testing.assert_allclose(found.points, (precise / precise.sum(axis=0)).T @ rows)


def test_noise_is_measured_where_it_is_not_given():
    rows, vertices, _ = noisy_simplex(7, 0.05)
    anchors = spa(as_blocks(rows), 4).anchors
    found = average_vertices(as_blocks(rows), anchors)
    assert distance(found.points, vertices) < distance(rows[anchors], vertices)


def test_exact_rows_stay_where_they_are():
    rows = np.vstack([np.eye(3), np.full((2, 3), 1 / 3)])
    found = average_vertices(as_blocks(rows), [0, 1, 2], np.zeros(5))
    np.testing.assert_allclose(found.points, np.eye(3), atol=1e-9)
    assert found.n_members.tolist() == [1, 1, 1]


def test_barycentric_coordinates():
    vertices = np.random.default_rng(0).standard_normal((4, 6))
    weights = np.random.default_rng(1).dirichlet(np.ones(4), 10)
    matrix, offset = barycentric(vertices)
    np.testing.assert_allclose(weights @ vertices @ matrix + offset, weights, atol=1e-10)


def test_what_cannot_be_known_is_refused():
    with pytest.raises(InvalidInput, match="give the rows' errors"):
        average_vertices(as_blocks(np.random.default_rng(0).random((9, 2))), [0, 1, 2])
    with pytest.raises(InvalidInput, match="one number"):
        average_vertices(as_blocks(np.eye(3)), [0, 1], [1.0])
    with pytest.raises(InvalidInput, match="one number"):
        average_vertices(as_blocks(np.eye(3)), [0, 1], [1.0, -1.0, 1.0])
