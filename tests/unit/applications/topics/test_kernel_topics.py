import numpy as np
import pytest
from scipy.special import psi

from provenmf.applications.topics.kernels import (
    digamma_exponential,
    gathered,
    infer_rows_in_place,
    narrowed_in_place,
    padded,
    share_out_in_place,
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
        counts.indptr, counts.indices, counts.data, words, prior[None], np.full((1, 6), 1 / 6),
        5000, 1e-9, 0, 30, found,
    )  # fmt: skip
    expected = [plain_parameters(row, corpus.topics, prior) for row in counts.toarray()]
    np.testing.assert_allclose(found, expected, atol=0.03)  # 0.02 occurrences count as none


def test_sharing_out_occurrences_equals_the_plain_rounds(call):
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
    call(share_out_in_place, words, counts, 7, 0.0, prior, gamma)
    np.testing.assert_allclose(gamma, expected, rtol=1e-6)


def test_single_precision_equals_double_and_a_document_without_mass_gets_the_prior():
    corpus = topic_corpus(40, 300, 35, word_concentration=0.05, random_state=1)
    counts, prior = corpus.counts, np.full(35, 0.1)
    words = np.ascontiguousarray(corpus.topics.T)
    counts.data[: counts.indptr[1]] = 1e-4  # less than a topic needs to be kept
    found = np.empty((2, 40, 35))
    for out, precision in zip(found, (np.float64, np.float32)):
        infer_rows_in_place(
            counts.indptr, counts.indices, counts.data.astype(precision), words.astype(precision),
            prior[None], np.full((1, 35), 1 / 35), 100, 3e-3, 0, 40, out,
        )  # fmt: skip
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found[:, 0], np.broadcast_to(prior, (2, 35)))


def test_every_document_may_have_a_prior_and_a_start_of_its_own():
    corpus = topic_corpus(8, 300, 5, word_concentration=0.05, random_state=3)
    counts, words = corpus.counts, np.ascontiguousarray(corpus.topics.T)
    rng = np.random.default_rng(4)
    priors, starts = rng.random((8, 5)) + 0.1, rng.dirichlet(np.ones(5), 8)
    together, alone = np.empty((8, 5)), np.empty((8, 5))
    rest = 50, 1e-6
    infer_rows_in_place(
        counts.indptr, counts.indices, counts.data, words, priors, starts, *rest, 0, 8, together
    )
    for row in range(8):
        own = slice(row, row + 1)
        infer_rows_in_place(
            counts.indptr, counts.indices, counts.data, words, priors[own], starts[own], *rest,
            row, row + 1, alone,
        )  # fmt: skip
    np.testing.assert_array_equal(together, alone)


def test_chosen_columns_move_to_the_front_of_the_store(call):
    rng = np.random.default_rng(2)
    words, rows = rng.random((20, 40)), np.array([3, 0, 19, 3])
    store = np.full(4 * 64 + 5, np.nan)
    part = call(gathered, words, rows, store)
    assert part.shape == (4, call(padded, 40)) == (4, 64)
    np.testing.assert_array_equal(part, np.pad(words[rows], ((0, 0), (0, 24))))
    for topics in (np.arange(0, 40, 3), np.arange(40)):
        part = call(gathered, words, rows, store)
        narrow = call(narrowed_in_place, part, topics, store)
        expected = np.pad(words[rows][:, topics], ((0, 0), (0, -len(topics) % 32)))
        np.testing.assert_array_equal(narrow, expected)
