"""The number of topics by held-out words."""

import numpy as np
import pytest

from provenmf.applications.topics.number import topic_numbers
from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import InvalidInput


def test_the_number_of_topics_of_the_model_is_found_with_its_coherence():
    corpus = topic_corpus(800, 300, 5, word_concentration=0.05, random_state=1)
    found = topic_numbers(corpus.counts, [2, 3, 5, 8])
    assert found.best == 5 and "5, the smallest of 2, 3, 5, 8" in found.note()
    assert found.coherence[2] == found.coherence.max()
    assert found.held_out[0] < found.held_out[2] - 2 * found.errors[0]
    table = found.table()
    assert table["chosen"].tolist() == [False, False, True, False]


def test_too_few_documents_or_impossible_numbers_are_refused():
    with pytest.raises(InvalidInput, match="too few to compare"):
        topic_numbers(np.random.default_rng(0).poisson(1.0, (50, 30)))
    counts = topic_corpus(200, 100, 2, random_state=0).counts
    with pytest.raises(InvalidInput, match="numbers"):
        topic_numbers(counts, [1, 2])
