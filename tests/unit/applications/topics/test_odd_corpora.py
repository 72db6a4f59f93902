"""Corpora that no topic model is made for: refused in words, or answered with a note."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.applications import find_topics as find_and_confirm
from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import InvalidInput

find_topics = partial(find_and_confirm, evidence=False)

rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.3, (1200, 50)).astype(float)  # enough documents to refine the topics


def with_word_in_every_document():
    counts = COUNTS.copy()
    counts[:, 0] = 5
    return counts


def with_documents_of_one_word():
    counts = COUNTS.copy()
    counts[:600] = np.eye(50)[rng.integers(50, size=600)]
    return counts


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        (with_documents_of_one_word(), "600 documents have only one word"),
        (with_word_in_every_document(), "in all documents left out"),
        (COUNTS * rng.random(COUNTS.shape), "have fractions, so they are not word counts"),
        (COUNTS * 1e6, "counts at most 3 occurrences of a word in a document"),
        (np.vstack([COUNTS, np.zeros((300, 50))]), "300 documents have no words left"),
    ],
)
def test_answered_with_a_note(counts, note):
    found = find_topics(sp.csr_array(counts), 3, certify=False)
    assert any(note in each for each in found.notes)
    np.testing.assert_allclose(found.topics.sum(axis=1), 1)
    sums = found.document_weights.sum(axis=1)
    np.testing.assert_allclose(sums[sums > 0], 1)


@pytest.mark.parametrize(
    ("counts", "number", "message"),
    [
        (np.eye(30)[rng.integers(30, size=1500)], 3, "no document has two counted words"),
        (np.tile(COUNTS[0] + 1, (1500, 1)), 3, "no word occurs in two documents but not in all"),
        (np.tile(COUNTS[0] + 1, (1500, 1)), None, "no word occurs in two documents"),
        (COUNTS[:4], 6, "n_topics=6 must be at least 1 and at most the 4 documents"),
        (COUNTS / np.maximum(COUNTS.sum(axis=1, keepdims=True), 1), 3, "give word counts"),
        (COUNTS - 0.1, 3, "negative"),
    ],
)
def test_refused_in_words(counts, number, message):
    with pytest.raises(InvalidInput, match=message):
        find_topics(sp.csr_array(counts), number)


def test_noise_has_no_number_of_topics():
    with pytest.raises(InvalidInput, match="do not determine"):
        find_topics(COUNTS[:60], None, method="hals")


def test_topics_that_do_not_stand_out_from_the_noise_are_said():
    """Eigenvalues of topics fall with their number; those of noise fall with more documents."""
    corpus = topic_corpus(1000, 500, 5, random_state=0)
    told = "too small to distinguish 40 topics"
    assert any(told in note for note in find_topics(corpus.counts, 40, certify=False).notes)
    for number in (3, 5):
        notes = find_topics(corpus.counts, number, certify=False).notes
        assert not any("too small to distinguish" in note for note in notes)
