import numpy as np
import pytest
from scipy.special import psi

from provenmf.datasets.corpora import topic_corpus
from provenmf.kernels.topics.documents import (
    digamma_exponential,
    infer_rows_in_place,
    share_out_in_place,
)


@pytest.mark.parametrize("x", [0.01, 0.1, 0.7, 1.0, 3.9, 4.0, 50.0])
def test_exponential_of_digamma(x):
    assert digamma_exponential(x) == pytest.approx(np.exp(psi(x)), rel=1e-6)


def plain_parameters(counts, topics, prior):
    gamma = prior + counts.sum() / len(prior)
    for _ in range(2000):
        shares = np.exp(psi(gamma))[:, None] * topics
        gamma = prior + (counts * shares / shares.sum(axis=0)).sum(axis=1)
    return gamma


def test_documents_equal_the_plain_loop():
    corpus = topic_corpus(30, 600, 6, word_concentration=0.05, zipf=1.0, random_state=0)
    prior = np.linspace(0.1, 0.5, 6)
    words = np.ascontiguousarray(corpus.topics.T)
    found = np.empty((30, 6))
    counts = corpus.counts
    infer_rows_in_place(
        counts.indptr, counts.indices, counts.data, words, prior, 5000, 1e-9, 0, 30, found
    )
    expected = [plain_parameters(row, corpus.topics, prior) for row in counts.toarray()]
    np.testing.assert_allclose(found, expected, atol=0.03)  # 0.02 occurrences count as none


def test_sharing_out_occurrences_equals_the_plain_rounds():
    rng = np.random.default_rng(5)
    words, counts = rng.random((9, 4)), rng.integers(1, 6, 9).astype(float)
    words[2] = 0  # a word that no topic has
    prior, gamma = np.full(4, 0.1), rng.random(4) + 0.5
    expected = gamma.copy()
    for _ in range(7):
        shares = words * np.exp(psi(expected))
        norms = shares.sum(axis=1, keepdims=True)
        expected = prior + counts @ np.divide(
            shares, norms, out=np.zeros_like(shares), where=norms > 0
        )
    share_out_in_place(words, counts, 7, 0.0, prior, gamma)
    np.testing.assert_allclose(gamma, expected, rtol=1e-6)
