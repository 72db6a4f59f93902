import numpy as np
import pytest

from provenmf.applications.topics.kernels import assign_in_place, collapsed_rows_in_place
from provenmf.datasets.corpora import topic_corpus


def plain_rounds(words, counts, prior, rounds):
    """Expected occurrences of the topics, one word after the other."""
    norms = words.sum(axis=1, keepdims=True)
    q = np.divide(words, norms, out=np.zeros_like(words), where=norms > 0)
    for _ in range(rounds):
        for i in range(len(words)):
            held = counts @ q
            new = words[i] * (prior + held - min(counts[i], 1.0) * q[i])
            if new.sum() > 0:
                q[i] = new / new.sum()
    return q, counts @ q


@pytest.mark.parametrize("entries", [[1.0, 4.0, 2.0, 1.0], [0.3, 0.9, 2.5, 1.0]])
def test_rounds_equal_the_plain_ones(call, entries):
    rng = np.random.default_rng(0)
    words, counts, prior = rng.random((4, 3)), np.array(entries), np.array([0.1, 0.2, 0.3])
    words[2] = 0  # a word that no topic has
    q, held = plain_rounds(words, counts, prior, 0)
    call(assign_in_place, words, counts, prior, 5, 0.0, q, held)
    expected = plain_rounds(words, counts, prior, 5)
    np.testing.assert_allclose(q, expected[0], rtol=1e-9)
    np.testing.assert_allclose(held, expected[1], rtol=1e-9)


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_documents_equal_the_plain_loop(precision):
    corpus = topic_corpus(12, 200, 35, word_concentration=0.05, random_state=1)
    counts, prior = corpus.counts, np.linspace(0.05, 0.3, 35)
    found = np.empty((12, 35), precision)
    collapsed_rows_in_place(
        counts.indptr, counts.indices, counts.data.astype(precision),
        np.ascontiguousarray(corpus.topics.T, dtype=precision), prior.astype(precision), 30, 0.0,
        0, 12, found,
    )  # fmt: skip
    for row, out in zip(counts.toarray(), found):
        there = np.flatnonzero(row)
        held = plain_rounds(corpus.topics.T[there], row[there], prior, 30)[1]
        np.testing.assert_allclose(out, prior + held, atol=1e-3)
