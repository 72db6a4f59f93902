"""Data of the four papers: what is drawn is what the docstrings say."""

import itertools

import numpy as np
import pytest

from provenmf.datasets.and_descent import (
    sample_dirichlet,
    sample_fresh_covariance,
    sample_logistic_normal,
    sample_sparse_binary,
    start_nearby,
    topic_components,
)
from provenmf.datasets.cones import equiangular_axes, sample_cones
from provenmf.datasets.purification import (
    adversarial_noise,
    independent_weights,
    orthogonal_array_weights,
    overlapping_features,
    sample_purification,
    warm_start,
)
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.errors import InvalidInput
from provenmf.linalg.left_inverse import left_inverse, mixing_of, symmetric_norm

TOPICS = topic_components(8, 40, random_state=0)


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda: topic_components(8, 8), "n_columns=8 must exceed"),
        (lambda: sample_sparse_binary(10, TOPICS, n_ones=9), "n_ones=9"),
        (lambda: equiangular_axes(3, 10, 2), "angle=2"),
        (lambda: equiangular_axes(3, 3, 1.0), "n_columns=3"),
        (lambda: sample_cones(10, np.eye(3), angles=1.6), "angles=1.6"),
        (lambda: overlapping_features(5, 4), "n_components"),
        (lambda: overlapping_features(2, 4, overlap=1.0), "overlap"),
        (lambda: independent_weights(10, 4, sparsity=5.0), "sparsity"),
        (lambda: orthogonal_array_weights(3, 9), "levels"),
        (lambda: orthogonal_array_weights(8, 7), "n_components"),
    ],
)
def test_impossible_requests_are_named(ask, named):
    with pytest.raises(InvalidInput, match=named):
        ask()


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


def test_sparse_binary_rows_have_as_many_ones_as_asked():
    sample = sample_sparse_binary(100, TOPICS, n_ones=3, random_state=0)
    assert set(np.unique(sample.weights)) == {0.0, 1.0}
    assert (sample.weights.sum(axis=1) == 3).all()


def test_noise_and_starts_have_the_size_asked_for():
    sample = sample_dirichlet(200, TOPICS, noise_level=0.5, random_state=0)
    noise = sample.data - sample.weights @ TOPICS
    assert np.sqrt((noise**2).sum(axis=1).mean()) == pytest.approx(0.5, rel=0.05)
    inside = start_nearby(TOPICS, in_span=1.0, random_state=0)
    coordinates = np.linalg.lstsq(TOPICS.T, inside.T, rcond=None)[0]
    np.testing.assert_allclose(TOPICS.T @ coordinates, inside.T, atol=1e-12)
    assert np.abs(coordinates - np.eye(8)).max() <= 0.5 / np.sqrt(8)
    outside = start_nearby(TOPICS, in_span=0.0, out_of_span=2.0, random_state=0)
    lengths = np.linalg.norm(outside - TOPICS, axis=1) / np.linalg.norm(TOPICS, axis=1)
    np.testing.assert_allclose(lengths, 2.0, rtol=0.35)


@pytest.mark.parametrize("angle", [0.1, 1.21, np.pi / 2])
@pytest.mark.parametrize("shape", [(2, 3), (10, 100)])
def test_axes_are_nonnegative_and_equiangular(angle, shape):
    axes = equiangular_axes(*shape, angle, random_state=0)
    assert axes.shape == shape and axes.min() >= 0
    expected = np.cos(angle) + (1 - np.cos(angle)) * np.eye(shape[0])
    np.testing.assert_allclose(axes @ axes.T, expected)


@pytest.mark.parametrize("spread", ["plane", "random"])
def test_rows_of_cones_have_the_angles_and_lengths_of_the_model(spread):
    axes, limits = equiangular_axes(2, 30, 1.2, random_state=0), np.array([0.1, 0.3])
    sample = sample_cones(
        20_000, axes, angles=limits, rates=[2.0, 0.5], spread=spread, random_state=2
    )
    assert sample.data.min() >= 0
    squares = (sample.data**2).sum(axis=1)
    cosines = np.einsum("ij,ij->i", sample.data, axes[sample.labels]) / np.sqrt(squares)
    beta = np.arccos(np.clip(cosines, -1, 1))
    assert (beta <= limits[sample.labels] + 1e-7).all()
    if spread == "plane":  # entries set to zero lower the others' angles
        shares = np.quantile(beta / limits[sample.labels], [0.25, 0.5, 0.75])
        np.testing.assert_allclose(shares, [0.25, 0.5, 0.75], atol=0.02)
    for k, mean in ((0, 0.5), (1, 2.0)):
        assert squares[sample.labels == k].mean() == pytest.approx(mean, rel=0.05)
        assert squares[sample.labels == k].std() == pytest.approx(mean, rel=0.05)
    np.testing.assert_allclose(sample.weights @ axes + sample.extras["deviation"], sample.data)
    assert ((sample.weights > 0).sum(axis=1) == 1).all()


@pytest.mark.parametrize("values, second", [("binary", 1.0), ("uniform", 1 / 3)])
def test_moments_of_the_weights_are_those_of_the_model(values, second):
    sparsity = np.array([1.0, 2.0, 3.0])
    weights = independent_weights(200_000, 3, sparsity=sparsity, values=values, random_state=1)
    assert weights.min() >= 0 and weights.max() <= 1
    np.testing.assert_allclose((weights**2).mean(axis=0), second * sparsity / 3, atol=0.01)
    assert np.abs(np.corrcoef(weights[:, :2].T)[0, 1]) < 0.02


def test_an_orthogonal_array_is_independent_to_its_strength():
    weights = orthogonal_array_weights(5, 7, hits=2, strength=3)
    assert weights.shape == (343, 5)
    for size in (1, 2, 3):
        for columns in itertools.combinations(range(5), size):
            product = weights[:, columns].prod(axis=1).mean()
            assert product == pytest.approx((2 / 7) ** size, abs=1e-14)


def test_the_adversary_keeps_within_its_budget_and_no_noise_of_that_size_does_worse():
    rng = np.random.default_rng(2)
    sample = sample_purification(50, 30, 4, random_state=3)
    noise = adversarial_noise(sample.weights, sample.components, 0.1, random_state=4)
    assert np.abs(noise).max() <= 0.1 + 1e-15
    partners = np.roll(left_inverse(sample.components).rows, -1, axis=0)

    def damage(noise):
        return np.einsum("ij,ij->i", sample.weights, noise @ partners.T)

    for _ in range(100):
        other = rng.uniform(-0.1, 0.1, noise.shape)
        assert (damage(noise) >= damage(other) - 1e-12).all()
        assert (damage(noise) >= damage(0.1 * np.sign(other)) - 1e-12).all()


def test_a_warm_start_has_the_sizes_asked_for():
    components = overlapping_features(5, 40, random_state=10)
    start = warm_start(components, mixing=0.3, outside=0.2, shrinkage=0.1, random_state=11)
    parts = mixing_of(start, components)
    assert symmetric_norm(parts.off_diagonal) == pytest.approx(0.3)
    np.testing.assert_allclose(np.abs(parts.outside).sum(axis=1), 0.2)
    assert parts.diagonal.min() >= 0.9 and parts.diagonal.max() <= 1


@pytest.mark.parametrize(
    "sample",
    [middle_points(6, 20, snr=12, random_state=1), dirichlet_mixtures(900, 20, 6, snr=12)],
)
def test_separable_data_have_their_anchors_and_the_noise_asked_for(sample):
    clean, noise = sample.weights @ sample.components, sample.extras["noise"]
    np.testing.assert_allclose(sample.data, clean + noise, atol=1e-14)
    np.testing.assert_array_equal(sample.weights[sample.anchors], np.eye(6))
    np.testing.assert_allclose(sample.weights.sum(axis=1), 1)
    assert sample.weights.min() >= 0
    found = 10 * np.log10((clean**2).sum() / (noise**2).sum())
    assert found == pytest.approx(12, abs=0.2)


def test_middle_points_are_middles_pushed_outwards():
    sample = middle_points(6, 20, snr=12, random_state=1)
    assert sample.data.shape == (6 + 15, 20)
    others = np.setdiff1d(np.arange(21), sample.anchors)
    assert set(np.unique(sample.weights[others])) == {0.0, 0.5}
    assert len(np.unique(sample.weights, axis=0)) == 21
    np.testing.assert_array_equal(sample.extras["noise"][sample.anchors], 0)
    outwards = (sample.weights @ sample.components - sample.components.mean(axis=0))[others]
    ratio = sample.extras["noise"][others] / outwards
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert ratio[0, 0] > 0
    np.testing.assert_allclose(sample.components.sum(axis=1), 1)
