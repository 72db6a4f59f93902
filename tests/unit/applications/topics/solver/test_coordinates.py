"""Coordinates in which topics keep to different documents."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.applications import find_topics
from provenmf.applications.topics.cooccurrence import word_spectrum
from provenmf.applications.topics.coordinates import (
    MORE,
    anchor_spectrum,
    cosines,
    falls_most_after,
    joined,
    span_of,
)
from provenmf.applications.topics.corpus import WordCounts
from provenmf.applications.topics.points import anchors_by_spa, word_points
from provenmf.applications.topics.solver import TopicView, topics_at, topics_from_counts
from provenmf.data import as_blocks
from provenmf.datasets.corpora import topic_corpus
from provenmf.methods.certify import certify
from provenmf.metrics.matching import clustering_accuracy

N_WORDS = 400


def nested_corpus(seed, small=30, large=600):
    """A large class whose documents mix three subjects, and three classes of few documents.

    Words repeat within documents (see `test_one_step.bursty_corpus`).
    """
    rng = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, N_WORDS + 1)
    common /= common.sum()
    parts = np.zeros((6, N_WORDS))
    for part, columns in zip(parts, np.array_split(rng.permutation(np.arange(40, N_WORDS)), 6)):
        part[columns] = rng.dirichlet(np.full(len(columns), 0.5))
    mixtures = [rng.dirichlet(np.full(3, 0.4)) @ parts[:3] for _ in range(large)]
    mixtures += [parts[3 + i] for i in range(3) for _ in range(small)]
    rows = []
    for mixture in mixtures:
        drawn = rng.standard_gamma(50.0 * (common + mixture) / 2) + 1e-12
        rows.append(rng.multinomial(int(rng.integers(40, 90)), drawn / drawn.sum()))
    classes = np.repeat([0, 1, 2, 3], [large, small, small, small])
    return sp.csr_array(np.array(rows, dtype=float)), classes


def accuracy(counts, spectrum, classes):
    words = word_points(spectrum)
    found = topics_at(counts, TopicView(spectrum), words, anchors_by_spa(words), refine=False)
    by_topic = np.asarray((counts.matrix @ np.log(found.topics + 1e-6).T).argmax(axis=1))
    return clustering_accuracy(by_topic, classes)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_subjects_of_a_large_class_stay_together_and_small_classes_apart(seed):
    matrix, classes = nested_corpus(seed)
    counts = WordCounts(matrix)
    wide = word_spectrum(counts, 4, more=MORE)
    assert wide.capped and wide.vectors.shape[1] == 4 + MORE
    assert not falls_most_after(wide.values, 4)
    assert accuracy(counts, wide.leading(4), classes) < 0.8
    assert accuracy(counts, anchor_spectrum(counts, wide, 4), classes) > 0.95


def test_an_answer_with_joined_parts_is_certified_again():
    matrix, classes = nested_corpus(0)
    found = find_topics(matrix, 4)
    assert clustering_accuracy(found.document_weights.argmax(axis=1), classes) > 0.95
    again = certify(matrix, found).measures["relative_error"]
    assert again == pytest.approx(found.certificate.measures["relative_error"], rel=1e-6)


def test_the_coordinates_do_not_depend_on_the_blocks():
    matrix, _ = nested_corpus(2)
    whole = topics_from_counts(matrix, 4)
    parts = topics_from_counts(as_blocks(matrix, block_rows=97), 4)
    np.testing.assert_array_equal(whole.anchors, parts.anchors)
    np.testing.assert_allclose(whole.topics, parts.topics, atol=1e-5)


def test_words_drawn_one_by_one_keep_the_leading_eigenvectors():
    counts = WordCounts(topic_corpus(600, 300, 5, random_state=1).counts)
    expected = word_spectrum(counts, 3)
    found = anchor_spectrum(counts, expected, 3)
    assert not expected.capped
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    np.testing.assert_array_equal(found.values, expected.values)


def test_images_are_those_of_the_vectors_in_any_directions():
    matrix, _ = nested_corpus(0, large=200)
    spectrum = word_spectrum(WordCounts(matrix), 4, more=MORE)
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((4 + MORE, 3)))[0]
    found = spectrum.along(directions)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-6)
    product = found.pairs.scaled_product(found.vectors)
    assert np.abs(product - found.images).max() < 0.03 * spectrum.values[-2]
    np.testing.assert_array_equal(found.values, spectrum.values[:4])


@pytest.mark.parametrize(
    ("values", "k", "expected"),
    [
        ([1.0, 0.5, 0.4, 0.39, 0.38], 2, True),
        ([1.0, 0.5, 0.4, 0.1, 0.09], 2, False),
        ([1.0, 0.5, 0.4, 0.1, np.nan], 2, False),
        ([1.0, 0.5, np.nan], 2, True),
        ([1.0, 0.0, 0.0, 0.0], 2, True),
        ([1.0, 0.5, np.nan], 4, True),  # fewer words than topics
    ],
)
def test_where_eigenvalues_fall_most(values, k, expected):
    assert falls_most_after(np.array(values), k) is expected


def test_columns_that_occur_together_are_joined_whatever_their_sizes():
    rng = np.random.default_rng(0)
    large = rng.dirichlet(np.ones(2), 500)  # two that share their documents
    weights = np.zeros((520, 4))
    weights[:500, [0, 2]] = large
    weights[500:510, 1] = weights[510:, 3] = 1.0
    assert joined(weights, 3) == [[0, 2], [1], [3]]
    assert joined(weights, 4) == [[0], [1], [2], [3]]
    table = cosines(weights)
    expected = weights[:, 0] @ weights[:, 2] / np.prod(np.linalg.norm(weights[:, [0, 2]], axis=0))
    assert table[0, 2] == pytest.approx(expected) and table[1, 3] == 0
    np.testing.assert_array_equal(np.diagonal(table), -1)


def test_a_topic_without_documents_is_like_no_other():
    weights = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert cosines(weights)[0, 1] == 0


def test_the_span_holds_the_mean_vertex_of_each_group():
    vertices = np.random.default_rng(1).standard_normal((4, 4))
    sizes = np.array([0.1, 0.2, 0.3, 0.4])
    basis = span_of(vertices, sizes, [[0, 2], [1], [3]])
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    mean = (0.1 * vertices[0] + 0.3 * vertices[2]) / 0.4
    for point in (mean, vertices[1], vertices[3]):
        np.testing.assert_allclose(basis @ (basis.T @ point), point, atol=1e-12)
