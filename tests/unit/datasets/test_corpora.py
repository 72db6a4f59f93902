import numpy as np
import pytest

from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import InvalidInput


def test_truth_is_what_the_docstring_says():
    corpus = topic_corpus(300, 500, 4, random_state=0)
    np.testing.assert_allclose(corpus.topics.sum(axis=1), 1)
    np.testing.assert_allclose(corpus.weights.sum(axis=1), 1)
    assert corpus.counts.shape == (300, 500)
    assert corpus.counts.sum(axis=1).min() >= 2
    for topic, words in enumerate(corpus.anchor_words):
        np.testing.assert_allclose(corpus.topics[topic, words], 0.004)
        assert not np.delete(corpus.topics, topic, axis=0)[:, words].any()


def test_words_follow_topics_and_weights():
    corpus = topic_corpus(4000, 60, 3, anchors_per_topic=2, anchor_probability=0.05, random_state=1)
    lengths = corpus.counts.sum(axis=1)
    expected = (lengths[:, None] * corpus.weights).T @ np.ones(4000) @ corpus.topics
    found = corpus.counts.sum(axis=0)
    assert np.max(np.abs(found - expected) / np.sqrt(expected + 1)) < 4.5
    assert lengths.mean() == pytest.approx(80, abs=1)


def test_correlated_topics_are_correlated_in_pairs():
    corpus = topic_corpus(5000, 100, 4, correlation=0.8, random_state=2)
    found = np.corrcoef(np.log(corpus.weights / corpus.weights[:, :1])[:, 1:].T)
    logarithms = np.log(corpus.weights)
    contrast = np.var(logarithms[:, 0] - logarithms[:, 1]) / np.var(
        logarithms[:, 0] - logarithms[:, 2]
    )
    assert contrast == pytest.approx(1 - 0.8, abs=0.03)
    assert found.shape == (3, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_words": 10, "n_topics": 5},
        {"words_per_document": 1},
        {"anchor_probability": 0.4},
        {"correlation": 2},
    ],
)
def test_impossible_corpora_are_refused(arguments):
    with pytest.raises(InvalidInput, match="must"):
        topic_corpus(**arguments)
