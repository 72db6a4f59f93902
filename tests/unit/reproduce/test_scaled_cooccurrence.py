import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.reproduce.merit_real import Cooccurrence


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    matrix = rng.poisson(0.3, (30, 12)).astype(float)
    matrix[:, 5] = 0  # a word that never occurs
    return matrix


@pytest.fixture
def formed(counts):
    return counts.T @ counts / 30


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_everything_equals_the_formed_matrix(counts, formed, storage):
    operator = Cooccurrence(storage(counts))
    assert operator.shape == (12, 12)
    right = np.random.default_rng(1).random((12, 3))
    np.testing.assert_allclose(operator @ right, formed @ right)
    np.testing.assert_allclose(operator.row_sums(), formed.sum(axis=1))
    np.testing.assert_allclose(operator.rows([3, 0]), formed[[3, 0]])


@pytest.mark.parametrize("k", [2, 4])
def test_scaled_projection_is_the_best_of_its_rank(counts, formed, k):
    sums = formed.sum(axis=1)
    scaled = np.divide(formed, sums[:, None], out=np.zeros_like(formed), where=sums[:, None] > 0)
    coordinates, directions = Cooccurrence(sp.csr_array(counts)).scaled_projection(k)
    np.testing.assert_allclose(directions @ directions.T, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(coordinates, scaled @ directions.T, atol=1e-12)
    singular = np.linalg.svd(scaled, compute_uv=False)
    error = np.linalg.norm(scaled - coordinates @ directions)
    assert error == pytest.approx(np.sqrt((singular[k:] ** 2).sum()), rel=1e-8)
