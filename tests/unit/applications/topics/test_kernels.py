import numpy as np
import pytest
from scipy.special import psi

from provenmf.applications.topics.inference import (
    digamma_exponential,
    infer_rows_in_place,
)
from provenmf.datasets.corpora import topic_corpus


@pytest.mark.parametrize("x", [0.01, 0.1, 0.7, 1.0, 3.9, 4.0, 50.0])
def test_exponential_of_digamma(call, x):
    assert call(digamma_exponential, x) == pytest.approx(np.exp(psi(x)), rel=1e-6)


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
        counts.indptr, counts.indices, counts.data, words, prior,
        5000, 1e-9, 0, 30, found,
    )  # fmt: skip
    expected = [plain_parameters(row, corpus.topics, prior) for row in counts.toarray()]
    np.testing.assert_allclose(found, expected, atol=0.03)  # 0.02 occurrences count as none


def test_single_precision_equals_double_and_a_document_without_mass_gets_the_prior():
    corpus = topic_corpus(40, 300, 35, word_concentration=0.05, random_state=1)
    counts, prior = corpus.counts, np.full(35, 0.1)
    words = np.ascontiguousarray(corpus.topics.T)
    counts.data[: counts.indptr[1]] = 1e-4  # less than a topic needs to be kept
    found = np.empty((2, 40, 35))
    for out, precision in zip(found, (np.float64, np.float32)):
        infer_rows_in_place(
            counts.indptr, counts.indices, counts.data.astype(precision), words.astype(precision),
            prior, 100, 3e-3, 0, 40, out,
        )  # fmt: skip
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found[:, 0], np.broadcast_to(prior, (2, 35)))
