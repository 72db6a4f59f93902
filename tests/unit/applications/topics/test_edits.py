"""Topics merged after the fit."""

from functools import partial

import numpy as np
import pytest

from provenmf import load
from provenmf.applications import find_topics as find_and_confirm
from provenmf.applications.topics.corpus import WordCounts, unit_documents
from provenmf.applications.topics.edits import joining_order
from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import InvalidInput
from provenmf.methods.certify import certify

find_topics = partial(find_and_confirm, evidence=False)


@pytest.fixture(scope="module")
def corpus():
    return topic_corpus(600, 120, 4, word_concentration=0.05, random_state=0)


@pytest.fixture(scope="module")
def found(corpus):
    return find_topics(corpus.counts, 4, certify=False)


def assert_consistent(answer, corpus, k):
    assert answer.n_components == k and answer.topics.shape[0] == k
    np.testing.assert_allclose(answer.topics.sum(axis=1), 1)
    np.testing.assert_allclose(answer.document_weights.sum(axis=1), 1)
    fit = answer.factorization
    counts = WordCounts(corpus.counts[:, answer.word_columns])
    matrix = unit_documents(counts).everything()
    error = np.linalg.norm(matrix - fit.weights @ fit.components) / np.linalg.norm(matrix.data)
    assert fit.certificate.measures["relative_error"] == pytest.approx(error, rel=1e-6)
    assert certify(corpus.counts, answer).measures["relative_error"] == pytest.approx(error)
    assert len(answer.npmi) == len(answer.example_documents) == k


def test_a_merged_topic_is_the_mean_by_words(found, corpus):
    merged = found.merge([2, 4])
    assert_consistent(merged, corpus, 3)
    lengths = np.asarray(corpus.counts[:, found.word_columns].sum(axis=1))
    mass = lengths @ found.document_weights
    mean = (mass[1] * found.topics[1] + mass[3] * found.topics[3]) / (mass[1] + mass[3])
    np.testing.assert_allclose(merged.topics[1], mean)
    np.testing.assert_allclose(merged.topics[[0, 2]], found.topics[[0, 2]])
    together = found.document_weights[:, [1, 3]].sum(axis=1)
    assert np.abs(merged.document_weights[:, 1] - together).mean() < 0.05
    assert merged.component_names == ("Topic 1", "Topic 2", "Topic 3")
    assert "Topic 2, Topic 4 were merged" in merged.notes


def test_names_that_were_given_stay(found, corpus):
    merged = found.labelled({3: "sea"}).merge([1, 2])
    assert merged.component_names == ("Topic 1", "sea", "Topic 3")
    assert_consistent(found.reduced_to(2), corpus, 2)


def test_topics_from_a_file_need_their_documents(found, corpus, tmp_path):
    found.save(tmp_path / "t.npz")
    loaded = load(tmp_path / "t.npz")
    assert loaded.corpus is None and loaded == found
    with pytest.raises(InvalidInput, match="documents"):
        loaded.merge([1, 2])
    again = loaded.merge([1, 2], corpus.counts)
    fresh = found.merge([1, 2])
    np.testing.assert_array_equal(again.topics, fresh.topics)
    np.testing.assert_array_equal(again.document_weights, fresh.document_weights)
    assert again.certificate == fresh.certificate and again.notes == fresh.notes
    again.save(tmp_path / "u.npz")
    assert load(tmp_path / "u.npz") == again
    with pytest.raises(InvalidInput, match="give those"):
        loaded.merge([1, 2], corpus.counts[:10])


def test_reducing_merges_what_loses_least():
    rng = np.random.default_rng(1)
    topics, mass = rng.dirichlet(np.full(6, 0.3), size=5), rng.random(5)

    def loss(i, j):
        share = mass[[i, j]] / mass[[i, j]].sum()
        mixed = share @ topics[[i, j]]
        each = [
            float(row[row > 0] @ np.log(row[row > 0] / mixed[row > 0])) for row in topics[[i, j]]
        ]
        return mass[[i, j]].sum() * (share @ each)

    best = min(((i, j) for j in range(5) for i in range(j)), key=lambda pair: loss(*pair))
    order = joining_order(topics, mass)
    assert len(order) == 4 and order[0][:2] == best
    assert order[0][2] == pytest.approx(loss(*best))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda t: t.merge([1]), "at least 2"),
        (lambda t: t.merge([1, 9]), "no topic 9"),
        (lambda t: t.merge([0, 1]), "no topic 0"),
        (lambda t: t.reduced_to(0), "give a number from 1 to 4"),
    ],
)
def test_what_cannot_be_is_refused(found, edit, words):
    with pytest.raises(InvalidInput, match=words):
        edit(found)


def test_word_shares_follow_a_merger(found):
    own = found.word_shares
    assert own.shape == found.topics.shape and own.dtype == np.float32
    assert own.min() >= 0 and own.max() <= 1
    merged = found.merge([2, 4])
    np.testing.assert_allclose(merged.word_shares[1], own[1] + own[3])
    np.testing.assert_array_equal(merged.word_shares[[0, 2]], own[[0, 2]])
