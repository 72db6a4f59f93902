"""Topics that start from groups of documents."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score, silhouette_score

from provenmf import confirm
from provenmf.applications import find_topics as find_and_confirm
from provenmf.applications.topics.answer import TopicSettings
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.groups import (
    group,
    k_means,
    mutual_information,
    silhouette,
    topic_numbers,
)
from provenmf.applications.topics.solver import (
    count_problem,
    misleads_anchors,
    noise_beside,
    topic_spectrum,
)
from provenmf.datasets.corpora import topic_corpus
from provenmf.errors import InvalidInput
from provenmf.methods.certify import certify
from provenmf.metrics.matching import clustering_accuracy

find_topics = partial(find_and_confirm, evidence=False)

N_WORDS = 500


def raw_corpus(seed, per_class=80, families=6):
    """Five subjects, and families of near-duplicates whose words occur nowhere else."""
    rng = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, N_WORDS + 1)
    subjects = np.zeros((5, N_WORDS))
    for subject, columns in zip(subjects, np.array_split(rng.permutation(np.arange(60, 440)), 5)):
        subject[columns] = rng.dirichlet(np.full(len(columns), 0.5))
    classes = np.repeat(np.arange(5), per_class)
    rows = []
    for subject in subjects[classes]:
        drawn = rng.standard_gamma(40.0 * (common / common.sum() + subject) / 2) + 1e-12
        rows.append(rng.multinomial(int(rng.integers(30, 70)), drawn / drawn.sum()))
    counts = np.array(rows, dtype=float)
    boilerplate = np.arange(N_WORDS - 10 * families, N_WORDS).reshape(families, 10)
    counts[:, boilerplate] = 0
    for words in boilerplate:
        own = rng.choice(len(counts), 8, replace=False)
        counts[np.ix_(own, words)] = 3
    return sp.csr_array(counts), classes


@pytest.mark.parametrize("seed", [0, 1])
def test_families_of_near_duplicates_do_not_become_topics(seed):
    counts, classes = raw_corpus(seed)
    found = find_topics(counts, 5)
    assert found.found_by == "groups of documents"
    assert clustering_accuracy(found.document_weights.argmax(axis=1), classes) > 0.9
    assert any("groups of documents" in note for note in found.notes)
    again = certify(counts, found).measures["relative_error"]
    assert again == pytest.approx(found.certificate.measures["relative_error"], rel=1e-5)


def test_repeated_texts_are_set_aside_and_said():
    """Also of counts: words whose company is always the same eight documents."""
    counts, _ = raw_corpus(0)
    known = WordCounts(counts)
    boilerplate = np.arange(N_WORDS - 60, N_WORDS)
    np.testing.assert_array_equal(np.flatnonzero(known.boilerplate), boilerplate)
    vocabulary = [f"sign{w}" if w in boilerplate else f"word{w}" for w in range(N_WORDS)]
    (note,) = (n for n in find_topics(counts, 5, vocabulary=vocabulary).notes if "company" in n)
    assert note.startswith("60 words (sign") and "set aside in the search" in note
    assert not WordCounts(topic_corpus(1000, 500, 5, random_state=0).counts).boilerplate.any()


def test_boilerplate_is_no_anchor():
    counts = topic_corpus(1000, 500, 5, word_concentration=0.05, random_state=0).counts.toarray()
    lines = np.zeros((1000, 8))
    lines[:90] = 60.0
    known = WordCounts(np.hstack([counts, lines]))
    assert count_problem(known, topic_spectrum(known, 5), 5).candidates.max() < 500


def test_topics_are_numbered_by_size_and_their_documents_are_factorized():
    counts, classes = raw_corpus(0)
    kept = np.r_[np.flatnonzero(classes != 2), np.flatnonzero(classes == 2)[:30]]
    found = find_topics(counts[kept], 5)
    assert np.all(np.diff(found.share) <= 0)
    assert found.anchor_words == ()
    fit = found.factorization
    np.testing.assert_allclose(fit.components, found.topics, rtol=1e-6)
    assert fit.weights.shape == found.document_weights.shape
    merged = found.merge([1, 2])
    assert repr(merged).endswith("method='groups of documents')")
    assert len(confirm(None, merged).certificate.evidence.judgements) == 4


def test_topics_drawn_from_the_model_start_from_anchors():
    counts = topic_corpus(1500, 300, 4, word_concentration=0.05, random_state=0).counts
    spectrum = topic_spectrum(WordCounts(counts), 4)
    assert not misleads_anchors(spectrum, noise_beside(spectrum))
    assert find_topics(counts, 4).settings == TopicSettings(4, "spa")


def test_k_means_finds_groups_apart():
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(4), 25, axis=0) + 0.05 * rng.standard_normal((100, 4))
    labels = k_means(rows.astype(np.float32), 4, 3, rng)
    assert clustering_accuracy(labels, np.repeat(np.arange(4), 25)) == 1.0
    assert k_means(np.ones((6, 3), dtype=np.float32), 3, 2, rng).max() < 3
    assert clustering_accuracy(group([rows.astype(np.float32)] * 2, 4, rng), labels) == 1.0


def test_scores_of_groupings_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((60, 5)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    first, second = rng.integers(4, size=60), rng.integers(3, size=60)
    first[first == 3] = 0
    first[7] = 3  # a group of one
    expected = silhouette_score(rows, first, metric="cosine")
    assert silhouette(rows, first) == pytest.approx(expected, abs=1e-5)
    expected = normalized_mutual_info_score(first, second)
    assert mutual_information(first, second) == pytest.approx(expected)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_large_subject_stays_together_beside_small_ones(seed):
    """k-means alone divides the large one, whose rows vary most."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(4), [600, 30, 30, 30])
    spread = np.where(classes == 0, 0.35, 0.05)[:, None]
    rows = (np.eye(16)[classes] + spread * rng.standard_normal((690, 16))).astype(np.float32)
    assert clustering_accuracy(k_means(rows, 4, 3, rng), classes) < 0.9
    assert clustering_accuracy(group([rows, rows], 4, rng), classes) > 0.98


def test_numbers_of_topics_are_compared_by_held_out_words_and_coherence():
    corpus = topic_corpus(800, 300, 5, word_concentration=0.05, random_state=1)
    found = topic_numbers(corpus.counts, [2, 3, 5, 8])
    assert found.best == 5 and "5 topics: the smallest number" in str(found)
    assert found.to_dict()["numbers"] == [2, 3, 5, 8]
    assert found.coherence[2] == found.coherence.max()
    assert found.held_out[0] < found.held_out[2] - 2 * found.errors[0]
    with pytest.raises(InvalidInput, match="too few to compare"):
        topic_numbers(np.random.default_rng(0).poisson(1.0, (50, 30)))
    with pytest.raises(InvalidInput, match="numbers"):
        topic_numbers(corpus.counts, [1, 2])


@pytest.mark.parametrize(("apart", "taken"), [(0.2, "consensus"), (0.3, "linkage")])
def test_a_large_group_needs_structure(monkeypatch, apart, taken):
    """Slovak package descriptions: one group had .55 of all, at a silhouette of .18."""
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((60, 12)).astype(np.float32)]
    large = np.repeat([0, 0, 0, 0, 1, 2], 10)
    room = "provenmf.applications.topics.groups"
    monkeypatch.setattr(f"{room}.linked", lambda fine, k: large)
    monkeypatch.setattr(f"{room}.silhouette", lambda _, own: apart if own is large else 0.01)
    found = group(views, 3, np.random.default_rng(1))
    assert (found is large) == (taken == "linkage")
