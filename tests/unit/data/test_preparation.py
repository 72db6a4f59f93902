import numpy as np
import pytest
import scipy.sparse as sp

import provenmf.data.preparation as module
from provenmf.data import as_blocks
from provenmf.data.preparation import prepare, prepare_cooccurrence
from provenmf.errors import InvalidInput


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    matrix = rng.random((20, 3)) @ rng.random((3, 8))
    matrix[[4, 11]] = 0
    return matrix


def exact_factors(data, k):
    """A factorization of the prepared data that is exact where their rank is k."""
    left, singular, right = np.linalg.svd(data, full_matrices=False)
    return left[:, :k] * singular[:k], right[:k]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_undo_gives_factors_of_the_original(data, storage):
    ready = prepare(storage(data)).without_zero_rows().with_unit_row_sums().projected(3)
    assert ready.data.shape == (18, 3)
    weights, components, anchors = ready.undo(*exact_factors(ready.data, 3), np.array([0, 4, 17]))
    np.testing.assert_allclose(weights @ components, data, atol=1e-12)
    np.testing.assert_array_equal(anchors, [0, 5, 19])
    assert components.shape == (3, 8)


def test_each_step(data):
    kept = prepare(data).without_zero_rows()
    np.testing.assert_array_equal(kept.data, np.delete(data, [4, 11], axis=0))
    np.testing.assert_allclose(kept.with_unit_row_sums().data.sum(axis=1), 1)
    sparse = prepare(sp.csr_array(data)).without_zero_rows().with_unit_row_sums().data
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), kept.with_unit_row_sums().data)
    assert prepare(data[:3]).without_zero_rows().undoing == ()


@pytest.mark.parametrize("columns", [1, 5000])
def test_projection_keeps_the_leading_part(columns, monkeypatch):
    monkeypatch.setattr(module, "GRAM_COLUMNS", columns)
    data = np.random.default_rng(1).random((30, 9))
    ready = prepare(as_blocks(data, block_rows=7)).projected(4)
    weights, components, _ = ready.undo(ready.data, np.eye(4))
    singular = np.linalg.svd(data, compute_uv=False)
    error = np.linalg.norm(data - weights @ components)
    assert error == pytest.approx(np.sqrt((singular[4:] ** 2).sum()))


def test_rows_that_cannot_be_scaled(data):
    with pytest.raises(InvalidInput, match="2 rows.*zero rows"):
        prepare(data).with_unit_row_sums()
    with pytest.raises(InvalidInput, match="zero rows only"):
        prepare(np.zeros((3, 2))).without_zero_rows()


def test_cooccurrence_is_prepared_as_if_it_had_been_formed():
    rng = np.random.default_rng(2)
    counts = rng.poisson(0.4, (40, 15)).astype(float)
    counts[:, 6] = 0
    formed = counts.T @ counts / 40
    expected = prepare(formed).without_zero_rows().with_unit_row_sums().projected(4)
    ready = prepare_cooccurrence(sp.csr_array(counts), 4)
    np.testing.assert_allclose(ready.data, expected.data, atol=1e-9)
    factors = exact_factors(ready.data, 4)
    for ours, theirs in zip(ready.undo(*factors), expected.undo(*factors), strict=True):
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, atol=1e-8)
    with pytest.raises(InvalidInput, match="all zero"):
        prepare_cooccurrence(np.zeros((3, 4)), 2)
