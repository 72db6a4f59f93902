"""XRAY against the plain algorithm with the residual matrix in full."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

import provenmf.methods.separable.xray as module
from provenmf.data import as_blocks
from provenmf.errors import DegenerateData
from provenmf.methods.separable.xray import xray


def plain_xray(data, k, variant, rng=None):
    """Kumar13, Algorithm 1, p all ones."""
    anchors, residual = [], data.copy()
    for _ in range(k):
        lengths = np.linalg.norm(residual, axis=1)
        products = residual @ data.T  # (i, j): r_i · x_j
        if variant == "greedy":
            scores = np.linalg.norm(np.maximum(products, 0), axis=0) / np.linalg.norm(data, axis=1)
        else:
            if variant == "max":
                exterior = int(np.argmax(lengths))
            elif variant == "dist":
                exterior = int(np.argmax(np.linalg.norm(np.maximum(products, 0), axis=1)))
            else:
                exterior = int(rng.choice(np.flatnonzero(lengths > 1e-7)))
            scores = products[exterior] / data.sum(axis=1)
        anchors.append(int(np.argmax(scores)))
        weights = np.array([nnls(data[anchors].T, row)[0] for row in data])
        residual = data - weights @ data[anchors]
    return anchors


def conic(seed, n=40, d=9, k=4, noise=0.02):
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), n - k)])
    data = weights @ rng.random((k, d)) * rng.uniform(0.2, 5, (n, 1))
    return rng.permutation(np.abs(data + noise * rng.standard_normal((n, d))))


@pytest.mark.parametrize("variant", ["max", "dist", "greedy"])
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_plain_version(variant, seed):
    data = conic(seed)
    found = xray(as_blocks(data), 5, variant=variant)
    assert found.anchors.tolist() == plain_xray(data, 5, variant)


@pytest.mark.parametrize("variant", ["max", "dist", "greedy", "rand"])
def test_storage_blocks_and_chunks_do_not_matter(variant, monkeypatch):
    data = conic(0, noise=0.0)
    data[data < 0.3] = 0
    data = np.vstack([data, 2 * data[::-1]])
    options = {"variant": variant}
    whole = xray(as_blocks(data), 4, rng=np.random.default_rng(0), **options)
    monkeypatch.setattr(module, "PAIR_ROWS", 7)
    for storage in (np.asarray, sp.csr_array):
        blocks = as_blocks(storage(data), block_rows=11)
        parts = xray(blocks, 4, rng=np.random.default_rng(0), **options)
        np.testing.assert_array_equal(parts.anchors, whole.anchors)


@pytest.mark.parametrize("variant", ["max", "dist", "rand"])
def test_rays_of_a_cone_are_found_whatever_their_length(variant):
    for seed in range(5):
        data = conic(seed, noise=0.0)
        found = xray(as_blocks(data), 4, variant=variant, rng=np.random.default_rng(seed))
        weights = np.array([nnls(data[found.anchors].T, row)[0] for row in data])
        np.testing.assert_allclose(weights @ data[found.anchors], data, atol=1e-9)


def test_the_number_is_found_without_noise():
    found = xray(as_blocks(conic(1, noise=0.0)))
    assert len(found.anchors) == 4
    assert found.state.drop == np.inf


def test_more_rays_than_columns_are_found():
    angles = 2 * np.pi * np.arange(5) / 5
    rays = np.column_stack([np.cos(angles), np.sin(angles), np.full(5, 1.2)]) + 1
    inside = np.random.default_rng(0).dirichlet(np.ones(5), 30) @ rays
    found = xray(as_blocks(np.vstack([inside, rays])))
    assert sorted(found.anchors.tolist()) == [30, 31, 32, 33, 34]


def test_rows_without_mass_are_never_chosen():
    data = np.vstack([np.zeros((2, 4)), np.eye(3, 4)])
    for variant in ("max", "dist", "greedy", "rand"):
        found = xray(as_blocks(data), 3, variant=variant, rng=np.random.default_rng(0))
        assert sorted(found.anchors.tolist()) == [2, 3, 4]


@pytest.mark.parametrize("variant", ["max", "greedy"])
@pytest.mark.parametrize(
    ("data", "available"),
    [
        (np.ones((6, 4)), 1),
        (np.repeat(np.eye(3), 4, axis=0), 3),
        (np.arange(5.0)[:, None], 1),
        (np.zeros((4, 3)), 1),
    ],
    ids=["all equal", "duplicates", "d = 1", "all zero"],
)
def test_fewer_rays_than_asked_for(data, available, variant):
    with pytest.warns(DegenerateData, match="n_components"):
        found = xray(as_blocks(data), available + 1, variant=variant)
    assert len(set(found.anchors.tolist())) == len(found.anchors) == available
