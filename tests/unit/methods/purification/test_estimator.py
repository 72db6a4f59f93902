import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import Purification
from provenmf.datasets.purification import sample_purification, warm_start
from provenmf.linalg.left_inverse import left_inverse
from provenmf.metrics.matching import match_components


@pytest.fixture(scope="module")
def sample():
    return sample_purification(
        3000, 60, 6, noise="decoding", noise_level=0.002, overlap=0.4, random_state=0
    )


@pytest.fixture(scope="module")
def start(sample):
    return warm_start(sample.components, mixing=0.3, random_state=1)


@pytest.fixture(scope="module")
def fitted(sample, start):
    return Purification(init=start).fit(sample.data)


def worst_cosine(estimator, sample):
    return match_components(estimator.components_, sample.components).cosines.min()


def test_features_are_found_from_the_data_alone(sample):
    assert worst_cosine(Purification(6, random_state=0).fit(sample.data), sample) > 0.99


def test_decode_is_the_papers_decoder_and_transform_least_squares(sample, fitted):
    inverse = left_inverse(fitted.components_).rows
    expected = np.maximum(sample.data @ inverse.T - fitted.threshold_, 0)
    np.testing.assert_allclose(fitted.decode(sample.data), expected, atol=1e-12)
    np.testing.assert_allclose(fitted.decode(sp.csr_array(sample.data)), expected, atol=1e-10)
    by_squares = np.linalg.norm(sample.data - fitted.transform(sample.data) @ fitted.components_)
    by_decoder = np.linalg.norm(sample.data - expected @ fitted.components_)
    assert fitted.reconstruction_err_ == pytest.approx(by_squares)
    assert by_squares <= by_decoder


@pytest.mark.parametrize(
    "settings, name",
    [
        ({"alpha": "often"}, "alpha"),
        ({"step_size": 1.0}, "step_size"),
        ({"init": "nothing"}, "init"),
    ],
)
def test_bad_settings_are_named(sample, settings, name):
    with pytest.raises(ValueError, match=name):
        Purification(6, **settings).fit(sample.data)
