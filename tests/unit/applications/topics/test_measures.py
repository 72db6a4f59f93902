"""Top words: by their company and by their documents."""

from functools import partial

import numpy as np
import pytest

from provenmf import load
from provenmf.applications import find_topics as find_and_confirm
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.find import pooled_shares
from provenmf.applications.topics.inference import topics_of
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.metrics.topics import relevance, top_words

find_topics = partial(find_and_confirm, evidence=False)


@pytest.fixture(scope="module")
def corpus():
    return topic_corpus(300, 90, 3, word_concentration=0.05, random_state=5)


def test_pooled_shares_are_the_mean_of_company_and_documents(corpus):
    rng = np.random.default_rng(0)
    by_points, weights = rng.dirichlet(np.ones(3), 90), rng.dirichlet(np.ones(3), 300)
    counts = corpus.counts.toarray()
    counts[:, 7] = 0
    there = counts > 0
    expected = np.zeros((3, 90))
    for word in np.flatnonzero(there.any(axis=0)):
        expected[:, word] = np.sqrt(by_points[word] * weights[there[:, word]].mean(axis=0))
    for given in (counts, as_blocks(counts, block_rows=70)):
        found = pooled_shares(by_points, weights, WordCounts(given))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_top_words_are_ranked_by_word_shares(corpus, tmp_path):
    found = find_topics(corpus.counts, 3, certify=False)
    shares, frequency = found.word_shares.astype(float), found.word_frequency
    scores = relevance(
        topics_of(shares.T, frequency), frequency, mix=0.1, documents=shares * found.word_documents
    )
    np.testing.assert_array_equal(found.top_columns(8), top_words(scores, 8))
    found.save(tmp_path / "topics.npz")
    again = load(tmp_path / "topics.npz")
    np.testing.assert_array_equal(again.word_shares, found.word_shares)
    assert again.word_shares.dtype == np.float32
    assert again.top_words(8) == found.top_words(8)


def test_topics_that_are_not_from_counts_rank_words_by_their_topics(corpus):
    found = find_topics(corpus.counts, 3, certify=False, random_state=0, method="hals")
    assert found.word_shares is None
    joint = found.topics * found.share[:, None]
    documents = joint / np.maximum(joint.sum(axis=0), 1e-300) * found.word_documents
    scores = relevance(found.topics, found.word_frequency, mix=0.1, documents=documents)
    np.testing.assert_array_equal(found.top_columns(3), top_words(scores, 3))
