"""One step of likelihood, and the prior of weights, where words repeat."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.applications.topics import solver
from provenmf.applications.topics.cooccurrence import word_spectrum
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import (
    completion,
    infer_documents,
    likeliest_prior,
    topics_of,
)
from provenmf.applications.topics.refinement import UNSEEN, assigned_shares
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.metrics.topics import match_topics

NONE = np.array([], dtype=int)


def small_corpus(n_documents=40):
    return topic_corpus(n_documents, 60, 3, random_state=2)


def bursty_corpus(n_documents, seed, strength=60.0):
    """Every document has word probabilities of its own around the mixture of its topics.

    They are Dirichlet with the given total (Madsen, Kauchak & Elkan 2005), which is what makes a
    word that occurs once likelier to occur again.
    """
    corpus = topic_corpus(n_documents, 800, 6, word_concentration=0.05, random_state=seed)
    rng = np.random.default_rng(seed)
    rows = []
    for mixture, length in zip(corpus.weights @ corpus.topics, corpus.counts.sum(axis=1)):
        drawn = rng.standard_gamma(strength * mixture) + 1e-12
        rows.append(rng.multinomial(int(length), drawn / drawn.sum()))
    return corpus, sp.csr_array(np.array(rows, dtype=float))


def test_one_step_counts_what_each_occurrence_has_of_each_topic():
    corpus, prior = small_corpus(), np.full(3, 0.1)
    counts = corpus.counts.toarray()
    weights = infer_documents(corpus.counts, corpus.topics, prior)
    expected = np.full((60, 3), UNSEEN)
    for document, word in zip(*np.nonzero(counts)):
        shares = weights[document] * corpus.topics[:, word]
        expected[word] += counts[document, word] * shares / shares.sum()
    found = assigned_shares(WordCounts(corpus.counts), corpus.topics, prior, NONE)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-4)


def test_documents_left_out_count_nothing():
    corpus, prior = small_corpus(), np.full(3, 0.1)
    counts, left_out = corpus.counts, np.array([0, 7, 39])
    others = np.setdiff1d(np.arange(40), left_out)
    found = assigned_shares(WordCounts(counts), corpus.topics, prior, left_out)
    expected = assigned_shares(WordCounts(counts[others]), corpus.topics, prior, NONE)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_one_step_does_not_depend_on_the_blocks():
    corpus, prior = small_corpus(), np.full(3, 0.1)
    whole = assigned_shares(WordCounts(corpus.counts), corpus.topics, prior, NONE)
    blocks = WordCounts(as_blocks(corpus.counts, block_rows=7))
    np.testing.assert_allclose(
        assigned_shares(blocks, corpus.topics, prior, NONE), whole, rtol=1e-5
    )


def test_a_word_that_never_occurs_belongs_to_all_topics_alike():
    corpus = small_corpus()
    counts = corpus.counts.toarray()
    counts[:, 5] = 0
    found = assigned_shares(WordCounts(counts), corpus.topics, np.full(3, 0.1), NONE)
    np.testing.assert_allclose(found[5], 1 / 3)


def test_topics_take_the_step_and_words_are_ranked_by_the_points():
    _, counts = bursty_corpus(1500, seed=4)
    known = WordCounts(counts)
    spectrum = word_spectrum(known, 6)
    words = solver.word_points(spectrum)
    anchors = solver.anchors_by_spa(words)
    read_off, refined = (
        solver.topics_at(known, solver.TopicView(spectrum), words, anchors, refine=refine)
        for refine in (False, True)
    )
    assert refined.refined
    step = assigned_shares(known, read_off.topics, read_off.prior, NONE)
    np.testing.assert_allclose(refined.topics, topics_of(step, known.frequencies), rtol=1e-6)
    np.testing.assert_array_equal(refined.shares, read_off.shares)
    np.testing.assert_allclose(topics_of(read_off.shares, known.frequencies), read_off.topics)


def test_topics_of_bursty_documents_are_closer_to_the_truth_after_one_step():
    corpus, counts = bursty_corpus(1500, seed=4)
    known = WordCounts(counts)
    spectrum = word_spectrum(known, 6)
    assert spectrum.capped
    words = solver.word_points(spectrum)
    anchors = corpus.anchor_words[:, 0]
    read_off, refined = (
        solver.topics_at(known, solver.TopicView(spectrum), words, anchors, refine=refine)
        for refine in (False, True)
    )
    assert refined.refined
    distances = [
        match_topics(found.topics, corpus.topics).mean_distance for found in (read_off, refined)
    ]
    assert distances[1] < distances[0]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_prior_of_bursty_documents_predicts_their_words(seed):
    """The evidence takes repeats for witnesses, so that its prior is too weak."""
    corpus, counts = bursty_corpus(2000, seed)
    known, new = WordCounts(counts[:1000]), counts[1000:]
    by_evidence, by_words = (
        likeliest_prior(known, corpus.topics, np.full(6, 0.1), independent=independent)
        for independent in (True, False)
    )
    assert by_words.sum() > by_evidence.sum()
    likelihoods = [completion(new, corpus.topics, prior) for prior in (by_evidence, by_words)]
    assert likelihoods[0] < likelihoods[1]
