import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.applications.topics.cooccurrence import WordPairs, leading_eigenpairs_of
from provenmf.applications.topics.corpus import WordCounts


def formed(counts, weights, own):
    """Q by its definition, document by document."""
    total = np.zeros((counts.shape[1],) * 2)
    for row, weight in zip(counts, weights):
        pairs = row.sum() ** 2 - own(row).sum()
        if pairs > 0:
            total += weight / pairs * (np.outer(row, row) - np.diag(own(row)))
    return total


@pytest.fixture
def counts():
    matrix = np.random.default_rng(0).poisson(0.4, (40, 12)).astype(float)
    matrix[:, 5] = 0  # never occurs
    matrix[3] = 0  # no words
    matrix[4] = np.eye(12)[2]  # one word
    return matrix


@pytest.mark.parametrize("whole", [True, False])
def test_everything_equals_the_formed_matrix(counts, whole):
    rng = np.random.default_rng(1)
    data = counts if whole else counts * rng.uniform(0.5, 1.5, counts.shape)
    weights = rng.uniform(0.5, 2, 40)
    own = (lambda row: row) if whole else (lambda row: row**2)
    pairs = WordPairs(WordCounts(sp.csr_array(data)), weights)
    total = sum(w for w, row in zip(weights, data) if row.sum() ** 2 > own(row).sum() + 1e-9)
    q = formed(data, weights / total, own)
    np.testing.assert_allclose(pairs.row_sums, q.sum(axis=1), atol=1e-6)
    sums = q.sum(axis=1)
    scales = np.where(sums > 0, 1 / np.sqrt(sums + sums[sums > 0].mean()), 0)
    scaled = scales[:, None] * q * scales
    right = rng.standard_normal((12, 3))
    np.testing.assert_allclose(pairs.scaled_product(right), scaled @ right, atol=1e-5)
    assert pairs.trace() == pytest.approx(np.trace(scaled), abs=1e-5)


def test_contexts_of_words_are_sums_over_documents(counts):
    """Written out document by document."""
    pairs = WordPairs(WordCounts(sp.csr_array(counts)), np.linspace(0.5, 1, 40))
    right = np.random.default_rng(4).standard_normal((12, 3))
    sums, plain = np.zeros((12, 5)), np.zeros(12)
    for row, per_pair in zip(counts, pairs.per_pair):
        shares = row * row.sum() * per_pair
        context = row @ (pairs.scales[:, None] * right) / max(row.sum() - 1, 1)
        sums += np.outer(shares**2, [*context, context @ context, 1])
        plain += shares
    found, found_plain = pairs.contexts_of_words(right)
    np.testing.assert_allclose(found, sums, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found_plain, plain, rtol=1e-5)


def test_block_lanczos_finds_the_leading_eigenpairs():
    rng = np.random.default_rng(2)
    orthogonal = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = np.concatenate([[1, 0.3, 0.29, 0.2], np.linspace(0.1, -0.15, 56)])
    matrix = (orthogonal * values) @ orthogonal.T
    found = leading_eigenpairs_of(
        lambda right: matrix @ right, rng.standard_normal((60, 6)), 4, tol=1e-6
    )
    assert found.converged
    np.testing.assert_allclose(found.values[:4], values[:4], atol=1e-9)
    np.testing.assert_allclose(np.abs(found.vectors[:4] @ orthogonal[:, :4]), np.eye(4), atol=1e-5)
    np.testing.assert_allclose(
        found.errors,
        np.linalg.norm(matrix @ found.vectors.T - found.vectors.T * found.values, axis=0),
        atol=1e-12,
    )
