import itertools

import numpy as np
import pytest

from provenmf.datasets.purification import (
    adversarial_noise,
    independent_weights,
    orthogonal_array_weights,
    overlapping_features,
    sample_purification,
    warm_start,
)
from provenmf.errors import InvalidInput
from provenmf.linalg.left_inverse import left_inverse, mixing_of, symmetric_norm


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


def test_a_start_has_the_sizes_asked_for():
    components = overlapping_features(5, 40, random_state=10)
    start = warm_start(components, mixing=0.3, outside=0.2, shrinkage=0.1, random_state=11)
    parts = mixing_of(start, components)
    assert symmetric_norm(parts.off_diagonal) == pytest.approx(0.3)
    np.testing.assert_allclose(np.abs(parts.outside).sum(axis=1), 0.2)
    assert parts.diagonal.min() >= 0.9 and parts.diagonal.max() <= 1


def test_impossible_requests_are_refused():
    for request, name in (
        (lambda: overlapping_features(5, 4), "n_components"),
        (lambda: overlapping_features(2, 4, overlap=1.0), "overlap"),
        (lambda: independent_weights(10, 4, sparsity=5.0), "sparsity"),
        (lambda: independent_weights(10, 4, sparsity=0.0), "sparsity"),
        (lambda: orthogonal_array_weights(3, 9), "levels"),
        (lambda: orthogonal_array_weights(8, 7), "n_components"),
    ):
        with pytest.raises(InvalidInput, match=name):
            request()
