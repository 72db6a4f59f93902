import math

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.errors import InvalidInput
from provenmf.metrics.topics import (
    coherences,
    match_topics,
    npmi_coherence,
    relevance,
    similarity_count,
    top_words,
    topic_coherence,
)


def test_topics_are_matched_by_their_distance():
    truth = np.random.default_rng(0).dirichlet(np.ones(6), 3)
    match = match_topics(truth[[2, 0, 1]], truth)
    assert match.mean_distance == pytest.approx(0)
    assert match.found_rows.tolist() == [1, 2, 0]
    weights = np.random.default_rng(1).dirichlet(np.ones(3), 5)
    assert match.weight_distance(weights[:, [2, 0, 1]], weights) == pytest.approx(0)


def test_missing_topics_count_two_and_their_weights_too():
    truth = np.eye(3)
    match = match_topics(truth[:2], truth)
    assert match.distances.tolist() == [0, 0, 2]
    assert match.weight_distance([[1.0, 0.0]], [[0.5, 0.0, 0.5]]) == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match="cannot be matched"):
        match_topics(np.eye(2), np.eye(3))


def test_npmi_equals_the_plain_formula():
    counts = np.random.default_rng(2).poisson(0.7, (40, 5))
    here = counts > 0
    expected = []
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        both = np.mean(here[:, a] & here[:, b])
        ratio = both / (here[:, a].mean() * here[:, b].mean())
        expected.append(math.log(ratio) / -math.log(both))
    assert npmi_coherence([[0, 1, 2]], counts)[0] == pytest.approx(np.mean(expected))


def plain_cv(topic, windows):
    """c_v from its definition, over sets of words."""

    def share(*words):
        return sum(all(word in window for word in words) for window in windows) / len(windows)

    def npmi(a, b):
        both = share(a, b) + 1e-12
        return math.log(both / (share(a) * share(b))) / -math.log(both)

    own = np.array([[npmi(a, b) for b in topic] for a in topic])
    whole = own.sum(axis=0)
    return np.mean([row @ whole / np.linalg.norm(row) / np.linalg.norm(whole) for row in own])


def test_cv_equals_the_plain_formula():
    rng = np.random.default_rng(3)
    texts = [rng.integers(8, size=length).tolist() for length in (2, 3, 5, 9, 30)]
    topics = [[0, 1, 2], [5, 3, 7]]
    counts = np.array([np.bincount(text, minlength=8) for text in texts])
    expected = [plain_cv(topic, [set(text) for text in texts]) for topic in topics]
    assert coherences(topics, counts)["cv"] == pytest.approx(expected)
    assert coherences([[0, 1]], np.array([[1, 1], [2, 1]]))["cv"] == pytest.approx(1)
    with pytest.raises(InvalidInput, match="word 1 occurs in no document"):
        coherences([[0, 1]], [[1, 0]])


def test_coherence_of_the_paper_equals_the_plain_loop():
    counts, words = np.random.default_rng(0).poisson(0.5, (30, 12)), [3, 1, 5, 0]
    here, expected = counts > 0, 0.0
    for later in range(1, 4):
        for earlier in range(later):
            both = np.sum(here[:, words[later]] & here[:, words[earlier]])
            expected += math.log((both + 0.01) / here[:, words[earlier]].sum())
    assert topic_coherence([words], counts) == pytest.approx([expected])
    assert topic_coherence([words], sp.csr_array(counts)) == pytest.approx([expected])


def test_shared_and_top_words():
    words = [[0, 1, 2], [2, 1, 5], [1, 8]]  # lists may be of different lengths
    assert similarity_count(words) == 4
    assert top_words([[0.1, 0.5, 0.5, 0.2]], 3).tolist() == [[1, 2, 3]]


def test_relevance_mixes_probability_and_ratio():
    topics, overall = np.array([[0.5, 0.3, 0.2, 0.0]]), np.array([0.6, 0.3, 0.05, 0.05])
    assert np.argsort(-relevance(topics, overall, mix=1.0)[0]).tolist() == [0, 1, 2, 3]
    assert np.argsort(-relevance(topics, overall, mix=0.0)[0]).tolist() == [2, 1, 0, 3]
    assert relevance(topics, overall)[0, 3] == -np.inf
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        relevance(topics, overall, mix=2)
    plain = relevance(topics, overall, mix=0.1)
    found = relevance(topics, overall, mix=0.1, documents=[[100, 4, 1, 0]])
    assert (plain[0, :3] - found[0, :3]) == pytest.approx([0.2, 1.0, 2.0])
    assert found[0, 3] == -np.inf and plain[0].argmax() == 2 and found[0].argmax() == 0
