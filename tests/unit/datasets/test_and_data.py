import numpy as np
import pytest

from provenmf.datasets.and_descent import (
    load_topics,
    sample_dirichlet,
    sample_fresh_covariance,
    sample_logistic_normal,
    sample_sparse_binary,
    start_nearby,
    topic_components,
)
from provenmf.errors import InvalidInput, UnreadableFile

TOPICS = topic_components(8, 40, random_state=0)


@pytest.mark.parametrize(
    "sample", [sample_dirichlet, sample_fresh_covariance, sample_logistic_normal]
)
def test_topic_samples_are_exact_mixtures_and_repeat(sample):
    one, two = sample(50, TOPICS, random_state=3), sample(50, TOPICS, random_state=3)
    np.testing.assert_array_equal(one.data, two.data)
    np.testing.assert_allclose(one.data, one.weights @ one.components)
    np.testing.assert_allclose(one.weights.sum(axis=1), 1.0)
    assert (one.weights >= 0).all() and one.noise_level == 0


def test_topics_are_distributions_with_anchor_words():
    np.testing.assert_allclose(TOPICS.sum(axis=1), 1.0)
    assert (np.count_nonzero(TOPICS[:, :8], axis=0) == 1).all()
    with pytest.raises(InvalidInput, match="n_columns=8 must exceed"):
        topic_components(8, 8)


def test_sparse_binary_rows_have_as_many_ones_as_asked():
    sample = sample_sparse_binary(100, TOPICS, n_ones=3, random_state=0)
    assert set(np.unique(sample.weights)) == {0.0, 1.0}
    assert (sample.weights.sum(axis=1) == 3).all()
    with pytest.raises(InvalidInput, match="n_ones=9"):
        sample_sparse_binary(10, TOPICS, n_ones=9)


def test_rows_of_noise_have_the_length_asked_for():
    sample = sample_dirichlet(200, TOPICS, noise_level=0.5, random_state=0)
    noise = sample.data - sample.weights @ TOPICS
    assert np.sqrt((noise**2).sum(axis=1).mean()) == pytest.approx(0.5, rel=0.05)


def test_starts_lie_at_the_distance_asked_for():
    inside = start_nearby(TOPICS, in_span=1.0, random_state=0)
    coordinates = np.linalg.lstsq(TOPICS.T, inside.T, rcond=None)[0]
    np.testing.assert_allclose(TOPICS.T @ coordinates, inside.T, atol=1e-12)
    assert np.abs(coordinates - np.eye(8)).max() <= 0.5 / np.sqrt(8)
    outside = start_nearby(TOPICS, in_span=0.0, out_of_span=2.0, random_state=0)
    lengths = np.linalg.norm(outside - TOPICS, axis=1) / np.linalg.norm(TOPICS, axis=1)
    np.testing.assert_allclose(lengths, 2.0, rtol=0.35)


def test_topics_from_a_file(tmp_path):
    np.savez(tmp_path / "topics.npz", A=TOPICS.T)
    np.testing.assert_array_equal(load_topics(tmp_path / "topics.npz"), TOPICS)
    np.savez(tmp_path / "other.npz", B=TOPICS)
    with pytest.raises(UnreadableFile, match="word-topic"):
        load_topics(tmp_path / "other.npz")
