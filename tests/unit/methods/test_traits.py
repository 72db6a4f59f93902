"""What methods say of themselves is true."""

import numpy as np
import pytest

from provenmf.advice.diagnose import advised_methods
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE, estimator_class, make_estimator, methods

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::provenmf.errors.DegenerateData"),
]


def mixtures(n=40, d=6, k=3):
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), n - k)])
    return weights @ (rng.random((k, d)) + 2 * np.eye(k, d))


@pytest.fixture(params=CATALOGUE)
def method(request):
    return request.param


def fitted(method, data, seed=0, n_components=3):
    return make_estimator(method, n_components, random_state=seed, certify=False).fit(data)


def test_anchors_are_rows_of_the_data(method):
    data, traits = mixtures(), estimator_class(method).traits
    model = fitted(method, data)
    rows = hasattr(model, "anchors_") and np.array_equal(data[model.anchors_], model.components_)
    assert rows == traits.anchors


def test_missing_values(method):
    data = mixtures()
    data[3, 2] = np.nan
    if estimator_class(method).traits.missing_values:
        assert np.isfinite(fitted(method, data).factorization_.weights).all()
    else:
        with pytest.raises(InvalidInput, match="NaN in 1 entries.*use HALS or ANLS"):
            fitted(method, data)


def test_methods_are_chosen_by_their_traits():
    assert set(methods(anchors=True)) == {"spa", "xray", "merit", "fast_anchor", "fast_gradient"}
    assert "xray" not in methods(anchors=True, negative_data=True)
    assert advised_methods() == ["cones", "spa", "merit", "and_descent"]


def test_a_number_that_nobody_gave_is_noted(method):
    model = fitted(method, mixtures(), n_components=None)  # by the method or by its start
    said = " ".join(model.factorization_.notes)
    assert f"took {model.n_components_}" in said and "provenmf rank" in said
    given = " ".join(fitted(method, mixtures()).factorization_.notes)
    assert "took" not in given and "provenmf rank" not in given
