import numpy as np
import pytest

from provenmf.datasets.separable import dirichlet_mixtures, middle_points

GENERATORS = [
    lambda **options: middle_points(5, 12, **options),
    lambda **options: dirichlet_mixtures(40, 12, 5, **options),
]


@pytest.mark.parametrize("generate", GENERATORS)
def test_the_truth_explains_the_data(generate):
    sample = generate(snr=10, random_state=0)
    np.testing.assert_allclose(
        sample.data, sample.weights @ sample.components + sample.extras["noise"], atol=1e-14
    )
    np.testing.assert_array_equal(sample.weights[sample.anchors], np.eye(5))
    np.testing.assert_allclose(sample.weights.sum(axis=1), 1)
    assert sample.weights.min() >= 0


def signal_to_noise(clean, noise):
    return 10 * np.log10((clean**2).sum() / (noise**2).sum())


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
    assert signal_to_noise(
        sample.weights @ sample.components, sample.extras["noise"]
    ) == pytest.approx(12)
    np.testing.assert_allclose(sample.components.sum(axis=1), 1)


def test_dirichlet_noise_has_the_variance_of_the_snr():
    sample = dirichlet_mixtures(2000, 50, 10, snr=7, random_state=0)
    clean = sample.weights @ sample.components
    assert signal_to_noise(clean, sample.extras["noise"]) == pytest.approx(7, abs=0.1)
    assert np.abs(sample.extras["noise"][sample.anchors]).min() > 0
    assert not np.array_equal(sample.anchors, np.arange(10))
