"""Topics refined by crossed weights of documents."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import psi
from scipy.stats import gamma

from provenmf.applications import find_topics as find_and_confirm
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.inference import infer_documents
from provenmf.applications.topics.refinement import (
    SETTINGS,
    UNSEEN,
    assigned_shares,
    dirichlet_strength,
    folds_of,
    refined_shares,
    shrunk_towards,
    weights_beside,
)
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.metrics.topics import match_topics

find_topics = partial(find_and_confirm, evidence=False)


def a_corpus(n_documents=1500, n_words=4000):
    settings = {"word_concentration": 0.02, "zipf": 1.0, "random_state": 1}
    return topic_corpus(n_documents, n_words, 12, **settings)


def test_refined_topics_are_closer_to_the_truth(monkeypatch):
    corpus, distances = a_corpus(), []
    for least in (10**9, 1000):
        changed = type(SETTINGS)(least_documents=least)
        monkeypatch.setattr("provenmf.applications.topics.solver.REFINEMENT", changed)
        found = find_topics(corpus.counts, 12, certify=False)
        topics = np.zeros_like(corpus.topics)
        topics[:, found.word_columns] = found.topics
        distances.append(match_topics(topics, corpus.topics).mean_distance)
    assert distances[1] < 0.9 * distances[0]


def test_weights_beside_a_word_do_not_know_it():
    corpus = a_corpus(20)
    counts, prior = corpus.counts, np.full(12, 0.1)
    folds = folds_of(counts, np.arange(20))
    weights = weights_beside(corpus.topics.astype(np.float32), prior, counts, np.arange(20))
    for document in (0, 17):
        entries = slice(counts.indptr[document], counts.indptr[document + 1])
        for fold in range(SETTINGS.folds):
            others = np.zeros((1, 4000))
            kept = folds[entries] != fold
            others[0, counts.indices[entries][kept]] = counts.data[entries][kept]
            expected = infer_documents(sp.csr_array(others), corpus.topics, prior)
            np.testing.assert_allclose(weights[document, fold], expected[0], atol=1e-6)


def test_folds_are_even_hashes_that_do_not_depend_on_the_blocks():
    counts = a_corpus(300).counts
    folds = folds_of(counts, np.arange(300))
    share = np.bincount(folds, minlength=8) / len(folds)
    np.testing.assert_allclose(share, 1 / 8, atol=4 * np.sqrt(7 / 64 / len(folds)))
    part = folds_of(counts[100:200], np.arange(100, 200))
    np.testing.assert_array_equal(part, folds[counts.indptr[100] : counts.indptr[200]])


@pytest.mark.parametrize("block_rows", [80, 33])
def test_shares_equal_the_plain_rounds(block_rows):
    """The update of the module's docstring, word by word; no word is known by its point."""
    corpus = a_corpus(80, 150)
    dense, prior = corpus.counts.toarray(), np.full(12, 0.1)
    known = WordCounts(as_blocks(corpus.counts, block_rows=block_rows))
    frequencies = dense.sum(axis=0) / dense.sum()
    folds = sp.csr_array(
        (folds_of(corpus.counts, np.arange(80)), corpus.counts.indices, corpus.counts.indptr),
        shape=dense.shape,
    ).toarray()
    topics = corpus.topics.astype(np.float32)
    weights = weights_beside(topics, prior, corpus.counts, np.arange(80)).astype(float)
    sums = np.einsum("d,dfk->k", dense.sum(axis=1), weights)
    mean = sums / sums.sum()
    a = dirichlet_strength(corpus.topics, mean, frequencies)
    c = 1 / (1 + 4 / dense.sum(axis=1).mean())  # twelve topics
    z = (c * weights + (1 - c) * mean) / (a + dense.sum() * mean)
    first = corpus.topics.T * mean + 0.1 * frequencies[:, None] * mean
    shapes = a * frequencies[:, None] + dense.sum(axis=0)[:, None] * (
        first / first.sum(axis=1, keepdims=True)
    )
    for _ in range(SETTINGS.rounds):
        new = np.repeat(a * frequencies[:, None], 12, axis=1)
        for document, word in zip(*np.nonzero(dense)):
            q = np.exp(psi(shapes[word])) * z[document, folds[document, word]]
            new[word] += dense[document, word] * q / q.sum()
        change, shapes = np.abs(new - shapes).sum(), new
        if change <= SETTINGS.accuracy * dense.sum():
            break
    expected = gamma.median(np.maximum(shapes, 1e-9))
    expected /= np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)
    unknown = np.full(150, np.inf)
    found = refined_shares(known, corpus.topics, prior, np.full((150, 12), 1 / 12), unknown)
    seen = dense.sum(axis=0) > 0
    np.testing.assert_allclose(found[seen], expected[seen], atol=2e-3)


def test_well_known_words_stay_and_others_are_refined():
    rng = np.random.default_rng(3)
    shares, refined = rng.dirichlet(np.ones(4), 50), rng.dirichlet(np.ones(4), 50)
    variances = np.full(50, 1e-8)
    variances[40:] = np.inf
    found = shrunk_towards(refined, shares, variances, np.full(50, 0.02))
    np.testing.assert_allclose(found[:40], shares[:40], atol=1e-5)
    np.testing.assert_array_equal(found[40:], refined[40:])
    all_noise = shrunk_towards(refined, shares, np.full(50, 10.0), np.full(50, 0.02))
    np.testing.assert_array_equal(all_noise, refined)


@pytest.mark.parametrize("block_rows", [40, 7])
def test_one_step_counts_what_each_occurrence_has_of_each_topic(block_rows):
    corpus, prior = topic_corpus(40, 60, 3, random_state=2), np.full(3, 0.1)
    counts, left_out = corpus.counts.toarray(), np.array([0, 7, 39])
    counts[:, 5] = 0
    weights = infer_documents(sp.csr_array(counts), corpus.topics, prior)
    weights[left_out] = 0
    expected = np.full((60, 3), UNSEEN)
    for document, word in zip(*np.nonzero(counts)):
        shares = weights[document] * corpus.topics[:, word]
        expected[word] += counts[document, word] * shares / max(shares.sum(), 1e-300)
    known = WordCounts(as_blocks(sp.csr_array(counts), block_rows=block_rows))
    found = assigned_shares(known, corpus.topics, prior, left_out)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-4)
