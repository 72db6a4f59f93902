"""Corpora, cubes and networks with their truth, and the real data that come with Python."""

import sys

import numpy as np
import pytest

from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.cubes import mixed_cube
from provenmf.datasets.networks import mixed_membership_network
from provenmf.datasets.real import digits, standard_library_docstrings
from provenmf.errors import InvalidInput


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda: topic_corpus(n_words=10, n_topics=5), "n_words=10 must"),
        (lambda: topic_corpus(words_per_document=1), "words_per_document=1 must"),
        (lambda: mixed_cube(10, 10, 10, 11), "n_endmembers=11"),
        (lambda: mixed_cube(10, 10, 10, 4, pure_share=-0.1), "pure_share"),
        (lambda: mixed_cube(10, 10, 10, 4, most=0.2), "most=0.2 must be more"),
        (lambda: mixed_cube(10, 10, 10, 2, most=0.5001, concentration=0.01), "too rare"),
        (lambda: mixed_membership_network(90, 3, mean_degree=90), "mean_degree=90"),
        (lambda: mixed_membership_network(2, 3, mean_degree=1), "n_nodes=2"),
    ],
)
def test_impossible_requests_are_named(ask, named):
    with pytest.raises(InvalidInput, match=named):
        ask()


def test_a_corpus_has_its_anchor_words_and_its_words_follow_topics_and_weights():
    corpus = topic_corpus(4000, 60, 3, anchors_per_topic=2, random_state=1)
    for shares in (corpus.topics, corpus.weights):
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    lengths = corpus.counts.sum(axis=1)
    assert lengths.min() >= 2 and lengths.mean() == pytest.approx(80, abs=1)
    expected = (lengths[:, None] * corpus.weights).T @ np.ones(4000) @ corpus.topics
    found = corpus.counts.sum(axis=0)
    assert np.max(np.abs(found - expected) / np.sqrt(expected + 1)) < 4.5
    for topic, words in enumerate(corpus.anchor_words):
        np.testing.assert_allclose(corpus.topics[topic, words], 0.004)
        assert not np.delete(corpus.topics, topic, axis=0)[:, words].any()


def test_a_cube_is_its_mixture_plus_noise_of_the_stated_size():
    made = mixed_cube(50, 40, 30, 3, snr=20.0, random_state=0)
    signal = made.abundances @ made.endmembers
    left = made.cube.reshape(2000, 30) - signal
    np.testing.assert_allclose(left.std(axis=0), made.noise, rtol=0.1)
    assert 10 * np.log10((signal**2).sum() / (left**2).sum()) == pytest.approx(20, abs=0.2)
    assert 2 < made.noise.max() / made.noise.min() <= 10
    np.testing.assert_allclose(made.abundances.sum(axis=1), 1)
    assert made.endmembers.min() > 0 and made.endmembers.max() < 1


def test_pure_pixels_are_as_many_as_asked_for():
    made = mixed_cube(20, 20, 30, 3, pure_share=0.1, random_state=1)
    assert np.count_nonzero(made.abundances.max(axis=1) == 1) == 40
    none = mixed_cube(20, 20, 30, 3, pure_share=0.0, most=0.8, random_state=1)
    assert none.abundances.max() <= 0.8


def test_a_network_is_simple_with_the_degrees_and_the_contrast_asked_for():
    network = mixed_membership_network(
        4000, 3, mean_degree=40.0, contrast=30.0, pure_share=1.0, random_state=0
    )
    adjacency = network.adjacency
    assert (adjacency != adjacency.T).nnz == 0 and adjacency.diagonal().sum() == 0
    assert set(np.unique(adjacency.data)) == {1.0}
    assert adjacency.sum() / 4000 == pytest.approx(40.0, rel=0.05)
    labels = network.memberships.argmax(axis=1)
    between = np.array(
        [[adjacency[labels == a][:, labels == b].sum() for b in range(3)] for a in range(3)]
    )
    inside, outside = np.diag(between).mean(), between[~np.eye(3, dtype=bool)].mean()
    assert inside / outside == pytest.approx(30.0, rel=0.15)


def test_memberships_sum_to_one_and_pure_nodes_are_pure():
    network = mixed_membership_network(90, 3, pure_share=0.3, random_state=1)
    np.testing.assert_allclose(network.memberships.sum(axis=1), 1)
    assert len(network.pure_nodes) == 27
    assert (network.memberships[network.pure_nodes].max(axis=1) == 1).all()


def test_docstrings_are_one_document_an_object_and_nothing_runs(tmp_path):
    words = " ".join(f"word{i}" for i in range(30))
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text(f'"""Module {words}"""\n')
    (tmp_path / "package" / "module.py").write_text(
        f'class A:\n    """Class {words}"""\n    def f(self):\n        """Method {words}"""\n'
        f'    def g(self):\n        """Short."""\n\nraise RuntimeError("must not run")\n'
    )
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "t.py").write_text(f'"""Test {words}"""\n')
    (tmp_path / "broken.py").write_text("def (:\n")
    texts, names = standard_library_docstrings(tmp_path)
    assert names == ["package", "package.module.A", "package.module.A.f"]
    assert [text.split()[0] for text in texts] == ["Module", "Class", "Method"]
    assert "package" not in sys.modules
    with pytest.raises(InvalidInput, match="without its sources"):
        standard_library_docstrings(tmp_path / "nothing")


def test_digits_are_images_between_zero_and_one():
    images, labels = digits()
    assert images.shape == (1797, 8, 8)
    assert images.min() == 0 and images.max() == 1
    assert np.unique(labels).tolist() == list(range(10))
