"""SPA against the textbook version, over all storages, and on awkward data."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.methods.separable.spa import spa


def textbook_spa(data, k):
    """GV14, Algorithm 1, with the projected matrix in full."""
    residual, anchors = data.astype(float).copy(), []
    for _ in range(k):
        anchor = int(np.argmax((residual**2).sum(axis=1)))
        direction = residual[anchor] / np.linalg.norm(residual[anchor])
        residual = residual - np.outer(residual @ direction, direction)
        anchors.append(anchor)
    return anchors


def noisy(rng, n=60, d=12, k=5, noise=0.02):
    weights = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), n - k)])
    return rng.permutation(weights @ rng.random((k, d)) + noise * rng.standard_normal((n, d)))


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_textbook(seed):
    data = noisy(np.random.default_rng(seed))
    found = spa(as_blocks(data), 7)
    assert found.anchors.tolist() == textbook_spa(data, 7)
    np.testing.assert_array_equal(found.components, data[found.anchors])


def test_scaled_rows_are_the_textbook_on_scaled_rows():
    rng = np.random.default_rng(0)
    data = np.abs(noisy(rng)) * rng.uniform(0.1, 10, (60, 1))
    scaled = data / data.sum(axis=1, keepdims=True)
    found = spa(as_blocks(data), 5, scale_rows=True)
    assert found.anchors.tolist() == textbook_spa(scaled, 5)
    np.testing.assert_array_equal(found.components, data[found.anchors])


@pytest.mark.parametrize("block_rows", [1, 7, 59, 60])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_storage_and_block_size_do_not_matter(storage, block_rows):
    rng = np.random.default_rng(1)
    data = noisy(rng, noise=0.0)
    data[data < 0.2] = 0
    data = np.vstack([data, data[::-1]])  # every row twice: all choices are ties
    whole = spa(as_blocks(data), 5)
    parts = spa(as_blocks(storage(data), block_rows=block_rows), 5)
    np.testing.assert_array_equal(parts.anchors, whole.anchors)
    assert max(whole.anchors) < 60


def test_float32_sparse_equals_dense():
    data = noisy(np.random.default_rng(2)).astype(np.float32)
    dense, sparse = spa(as_blocks(data), 5), spa(as_blocks(sp.csr_array(data)), 5)
    np.testing.assert_array_equal(dense.anchors, sparse.anchors)
    assert dense.components.dtype == sparse.components.dtype == np.float32


@pytest.mark.parametrize("k", [1, 3, 6])
def test_the_number_is_found_without_noise(k):
    found = spa(as_blocks(noisy(np.random.default_rng(k), k=k, noise=0.0)))
    assert len(found.anchors) == k
    assert found.state.drop == np.inf


def test_the_number_is_found_with_little_noise():
    found = spa(as_blocks(noisy(np.random.default_rng(0), k=4, noise=1e-4)))
    assert len(found.anchors) == 4
    assert found.state.drop > 10


def test_a_spanned_space_is_no_evidence():
    assert len(spa(as_blocks(np.diag([3.0, 2.0, 1.0]))).anchors) == 3


def test_rows_of_very_different_length():
    data = np.diag([1e8, 1.0, 1e-8])
    assert spa(as_blocks(data), 3).anchors.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "available"),
    [
        (np.ones((6, 4)), 1),
        (np.repeat(np.eye(3), 4, axis=0), 3),
        (np.vstack([np.zeros((3, 5)), np.eye(2, 5)]), 2),
        (np.ones((1, 4)), 1),
        (np.arange(5.0)[:, None], 1),
        (np.zeros((4, 3)), 1),
    ],
    ids=["all equal", "duplicates", "zero rows", "n = 1", "d = 1", "all zero"],
)
def test_fewer_extreme_rows_than_asked_for(data, available):
    wanted = min(available + 1, len(data))
    if wanted > available:
        with pytest.warns(DegenerateData, match="n_components"):
            found = spa(as_blocks(data), wanted)
    else:
        found = spa(as_blocks(data), wanted)
    assert len(found.anchors) == available
    assert len(set(found.anchors.tolist())) == available


def test_more_components_than_rows_are_refused():
    with pytest.raises(InvalidInput, match="n_components=4.*3 rows"):
        spa(as_blocks(np.eye(3)), 4)


def test_callback_ends_the_run_and_keeps_what_was_found():
    rows = []

    def stop_at_two(row):
        rows.append(row)
        return len(rows) == 2

    found = spa(as_blocks(np.diag([3.0, 2.0, 1.0])), None, callback=stop_at_two)
    assert found.stop_reason == "callback"
    assert [row["residual"] for row in rows] == [3.0, 2.0]


@pytest.mark.parametrize("size", [2.2e-308, 5e-324, 1e-200])
def test_scaled_rows_of_the_smallest_numbers_count_as_nothing(size):
    X = np.vstack([np.eye(3), np.full((1, 3), size), np.full((1, 3), 0.3)])
    found = spa(as_blocks(X), 3, scale_rows=True)
    assert sorted(found.anchors) == [0, 1, 2]
