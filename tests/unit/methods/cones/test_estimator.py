import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import ConeNMF
from provenmf.datasets.cones import paper_cones
from provenmf.errors import DegenerateData


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


@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_transform_agrees_with_fit_transform(sample, store):
    model = ConeNMF(5)
    weights = model.fit_transform(store(sample.data))
    np.testing.assert_array_equal(model.transform(store(sample.data)), weights)
    assert ((weights > 0).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(weights.argmax(axis=1), model.labels_)


def test_new_rows_are_coded_by_the_nearest_component(sample):
    model = ConeNMF(5).fit(sample.data)
    weights = model.transform(3 * model.components_)
    np.testing.assert_allclose(weights, 3 * np.eye(5), atol=1e-12)
    assert not model.transform(np.zeros((2, 60))).any()


def test_auto_finds_the_number_of_cones(sample):
    for n_components in (None, "auto"):
        assert ConeNMF(n_components).fit(sample.data).n_components_ == 5


def test_a_dask_array_gives_the_same_answer(sample):
    dask = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")
    memory = ConeNMF().fit(sample.data)
    cluster = ConeNMF().fit(dask.from_array(sample.data, chunks=(40, 60)))
    np.testing.assert_array_equal(cluster.labels_, memory.labels_)
    np.testing.assert_array_equal(cluster.anchors_, memory.anchors_)
    np.testing.assert_allclose(cluster.components_, memory.components_, atol=1e-9)


def test_parameters_reach_the_solver(sample):
    assert ConeNMF(5, first=7, certify=False).fit(sample.data).anchors_[0] == 7


def test_zero_rows_have_label_minus_one_and_no_weights(sample):
    X = np.vstack([sample.data, np.zeros((2, 60))])
    model = ConeNMF(5)
    weights = model.fit_transform(X)
    assert model.labels_[-2:].tolist() == [-1, -1]
    assert not weights[-2:].any()
    with pytest.warns(DegenerateData):
        assert not ConeNMF(2).fit_transform(np.zeros((3, 4))).any()
