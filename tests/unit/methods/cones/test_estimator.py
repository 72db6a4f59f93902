import numpy as np
import pytest

from provenmf import ConeNMF
from provenmf.datasets.cones import paper_cones


@pytest.fixture(scope="module")
def sample():
    return paper_cones(150, n_columns=60, n_components=5, random_state=0)


def test_fitted_attributes(sample):
    model = ConeNMF(5).fit(sample.data)
    assert model.components_.shape == model.centroids_.shape == (5, 60)
    assert model.labels_.shape == (150,)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(model.centroids_, axis=1), 1)
    unit = sample.data[model.anchors_]
    np.testing.assert_allclose(model.centroids_, unit / np.linalg.norm(unit, axis=1, keepdims=True))


def test_new_rows_are_coded_by_the_nearest_component(sample):
    model = ConeNMF(5).fit(sample.data)
    weights = model.transform(3 * model.components_)
    np.testing.assert_allclose(weights, 3 * np.eye(5), atol=1e-12)
    assert not model.transform(np.zeros((2, 60))).any()


def test_auto_finds_the_number_of_cones(sample):
    for n_components in (None, "auto"):
        assert ConeNMF(n_components).fit(sample.data).n_components_ == 5
