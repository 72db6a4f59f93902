"""Topics from counts on corpora whose topics are known."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import psi
from scipy.stats import gamma

from provenmf import SPA
from provenmf.applications.topics.cooccurrence import (
    number_of_topics,
    redrawn,
    word_spectrum,
)
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import (
    digamma_exponential,
    evidence_bound,
    infer_documents,
    infer_rows_in_place,
    likeliest_prior,
    median_shares,
    refined_shares,
    shared_out,
)
from provenmf.applications.topics.solver import (
    count_problem,
    topic_spectrum,
    topics_at,
    word_points,
)
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.metrics.topics import match_topics


def corpus_of(n_documents, seed=0, **options):
    settings = {"word_concentration": 0.05, "zipf": 1.0, **options}
    return topic_corpus(n_documents, 600, 6, random_state=seed, **settings)


def found_in(corpus):
    counts = WordCounts(corpus.counts)
    problem = count_problem(counts, topic_spectrum(counts, 6), 6)
    anchors = problem.candidates[SPA(6, certify=False).fit(problem.points).anchors_]
    return topics_at(counts, problem, anchors)


@pytest.mark.parametrize("options", [{}, {"anchors_per_topic": 0}])
def test_topics_approach_the_truth_as_documents_grow(options):
    errors = []
    for n_documents in (500, 8000):
        corpus = corpus_of(n_documents, **options)
        found = found_in(corpus)
        match = match_topics(found.topics, corpus.topics)
        errors.append(match.mean_distance)
    # A sixteenth of the variance; half of that gain is asked for on the logarithmic scale.
    assert errors[1] < errors[0] / 2
    assert errors[1] < 0.15
    weights = infer_documents(corpus.counts, found.topics, found.prior)
    assert match.weight_distance(weights, corpus.weights) < 0.25


@pytest.mark.parametrize("total", [0.5, 4.0])
def test_the_prior_of_weights_is_found(total):
    corpus = corpus_of(2500, concentration=total / 6)
    for wrong in (0.1, 20.0):
        start = np.full(6, wrong / 6)
        found = likeliest_prior(WordCounts(corpus.counts), corpus.topics, start, independent=True)
        np.testing.assert_allclose(found, total / 6, rtol=0.35)


def test_the_bound_of_a_document_of_one_word_is_its_probability():
    topics = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    one_word = sp.csr_array(np.array([[1.0, 0.0, 0.0]]))
    prior = np.array([0.3, 0.6])
    # Only the first topic has the word: the posterior is Dirichlet, and the bound is exact.
    assert evidence_bound(one_word, topics, prior) == pytest.approx(np.log(0.5 / 3), rel=1e-5)


@pytest.mark.parametrize(
    ("values", "number"),
    [([1, 0.05], 1), ([1, 0.4, 0.05], 2), ([1, 0.3, 0.29, 0.11, 0.1], 3), ([1, 0.4, 0.3], 3)],
)
def test_the_number_is_where_eigenvalues_fall_most(values, number):
    assert number_of_topics(np.array(values, dtype=float), 0.1) == number
    above = np.array([9.0, 4.0, 3.9, 2.0, 1.9, 1.8])  # the end of the search is no fall
    assert number_of_topics(above, 0.1, following=1.75) == 3


def test_redrawn_words_keep_lengths_and_on_average_frequencies():
    counts = corpus_of(2000).counts
    drawn = redrawn(WordCounts(counts))
    np.testing.assert_array_equal(drawn.lengths, counts.sum(axis=1))
    expected, found = np.asarray(counts.sum(axis=0)), drawn.occurrences
    often = expected > 20
    assert np.mean((found - expected)[often] ** 2 / expected[often]) == pytest.approx(1, abs=0.2)
    assert found.sum() == expected.sum()
    assert (sp.csr_array(drawn.matrix) != counts).nnz > 0
    parts = redrawn(WordCounts(as_blocks(counts, block_rows=700)))
    assert (sp.csr_array(parts.matrix) != sp.csr_array(drawn.matrix)).nnz == 0


def test_standard_errors_of_words_are_right_on_average():
    """Halves of a corpus: the words' points differ by as much as their errors say."""
    corpus = corpus_of(6000)
    spectrum = word_spectrum(WordCounts(corpus.counts), 6)
    points = word_points(spectrum)
    q = formed_points(corpus.counts[::2], spectrum) - formed_points(corpus.counts[1::2], spectrum)
    frequent = points.n_documents > 30
    # The two halves have twice the variance of the whole each.
    ratio = (q[frequent] ** 2).sum(axis=1) / (4 * 6 * points.errors[frequent] ** 2)
    assert np.mean(ratio) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("n_words", [12, 24, 50])
def test_as_many_eigenpairs_as_words(n_words):
    """Random columns of all of the space were dependent in single precision, and one was lost."""
    rng = np.random.default_rng(n_words)
    spectrum = word_spectrum(WordCounts(sp.csr_array(1.0 * (rng.random((150, n_words)) < 0.3))), 5)
    whole = spectrum.widened(n_words - 5)
    np.testing.assert_allclose(whole.vectors.T @ whole.vectors, np.eye(n_words), atol=1e-5)


def formed_points(counts, spectrum):
    """Mean contexts of words in some of the documents, by the definition."""
    dense = counts.toarray()
    lengths = dense.sum(axis=1)
    scale = 1 / (lengths * (lengths - 1))
    q = (dense * scale[:, None]).T @ dense - np.diag(dense.T @ scale)
    sums = np.maximum(q.sum(axis=1, keepdims=True), 1e-12)
    return q / sums @ (spectrum.pairs.scales[:, None] * spectrum.vectors)


@pytest.mark.parametrize("x", [0.01, 0.1, 0.7, 1.0, 3.9, 4.0, 50.0])
def test_exponential_of_digamma(call, x):
    assert call(digamma_exponential, x) == pytest.approx(np.exp(psi(x)), rel=1e-6)


def plain_shares(counts, topics, prior):
    """Expected occurrences (k, words) of a document's words; with the prior, its parameters."""
    gamma = prior + counts.sum() / len(prior)
    for _ in range(2000):
        shares = np.exp(psi(gamma))[:, None] * topics
        shared = counts * shares / shares.sum(axis=0)
        gamma = prior + shared.sum(axis=1)
    return shared


def test_documents_equal_the_plain_loop():
    corpus = topic_corpus(30, 600, 6, word_concentration=0.05, zipf=1.0, random_state=0)
    prior = np.linspace(0.1, 0.5, 6)
    words = np.ascontiguousarray(corpus.topics.T)
    found, sums = np.empty((30, 6)), np.zeros((600, 6))
    counts = corpus.counts
    infer_rows_in_place(
        counts.indptr, counts.indices, counts.data, words, prior,
        5000, 1e-9, 0, 30, found, sums,
    )  # fmt: skip
    expected = np.array([plain_shares(row, corpus.topics, prior) for row in counts.toarray()])
    np.testing.assert_allclose(found, prior + expected.sum(axis=2), atol=1e-5)
    np.testing.assert_allclose(sums, expected.sum(axis=0).T, atol=1e-4)
    for rows in (30, 7):
        known = WordCounts(as_blocks(counts, block_rows=rows))
        shared = known.blocks.map_reduce(partial(shared_out, corpus.topics, prior))
        assert np.abs(shared - expected.sum(axis=0).T).sum() < 0.01 * counts.sum()


@pytest.mark.parametrize("n_documents", [300, 1500])
def test_refined_topics_are_closer_to_the_truth(n_documents, monkeypatch):
    before = []

    def refined(counts, topics):
        before.append(topics)
        return refined_shares(counts, topics)

    monkeypatch.setattr("provenmf.applications.topics.solver.refined_shares", refined)
    corpus = corpus_of(n_documents)
    after = match_topics(found_in(corpus).topics, corpus.topics)
    assert after.mean_distance < 0.9 * match_topics(before[0], corpus.topics).mean_distance


def test_shares_are_medians():
    shapes = np.array([[5.0, 0.3, 0.02], [1e-12, 1e-12, 1e-12]])
    expected = gamma.median(shapes[0])
    found = median_shares(shapes)
    np.testing.assert_allclose(found[0], expected / expected.sum())
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_single_precision_equals_double():
    corpus = topic_corpus(40, 300, 35, word_concentration=0.05, random_state=1)
    counts, prior = corpus.counts, np.full(35, 0.1)
    words = np.ascontiguousarray(corpus.topics.T)
    found = np.empty((2, 40, 35))
    for out, precision in zip(found, (np.float64, np.float32)):
        infer_rows_in_place(
            counts.indptr, counts.indices, counts.data.astype(precision), words.astype(precision),
            prior, 100, 3e-3, 0, 40, out, np.zeros((0, 1), precision),
        )  # fmt: skip
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3, atol=1e-4)
