"""A certificate recomputed from data and a saved result equals the one of the fit."""

import numpy as np
import pytest

from provenmf import load
from provenmf.errors import InvalidInput
from provenmf.estimators import CATALOGUE, make_estimator
from provenmf.estimators.certificate import certify


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(3), rng.dirichlet(np.full(3, 0.2), size=40)])
    return weights @ rng.random((3, 8)) + 0.01 * rng.random((43, 8))


def assert_same(one, two):
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_allclose(two[name], value, rtol=1e-6, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("method", sorted(CATALOGUE))
@pytest.mark.filterwarnings("ignore::provenmf.errors.DegenerateData")
def test_recomputed_certificate_equals_that_of_the_fit(method, data, tmp_path):
    fitted = make_estimator(method, 3, random_state=0).fit(data)
    fitted.factorization_.save(tmp_path / "result.npz")
    stored = fitted.certificate_
    again = certify(data, load(tmp_path / "result.npz"))
    assert_same(stored.measures, again.measures)
    assert_same(stored.bounds, again.bounds)
    assert [(c.name, c.status) for c in stored.checks] == [(c.name, c.status) for c in again.checks]


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_the_constraint_on_the_weights_is_remembered(constraint, data):
    fitted = make_estimator("spa", 3, constraint=constraint).fit(data)
    again = certify(data, fitted.factorization_)
    assert_same(fitted.certificate_.measures, again.measures)


def test_parameters_of_version_0_1_are_read(data):
    """Its SPA called the constraint `weights` and took a random_state."""
    from dataclasses import replace

    fitted = make_estimator("spa", 3, constraint="simplex").fit(data)
    parameters = {"n_components": 3, "weights": "simplex", "random_state": None}
    again = certify(data, replace(fitted.factorization_, parameters=parameters))
    assert_same(fitted.certificate_.measures, again.measures)
    other = certify(data, replace(fitted.factorization_, parameters={"n_components": 3}))
    assert other.measures != again.measures


def test_data_of_another_shape_are_refused(data):
    fitted = make_estimator("spa", 2).fit(data)
    with pytest.raises(InvalidInput, match="42 x 8.*43 x 8"):
        certify(data[1:], fitted.factorization_)


def test_a_changed_result_is_found_out(data):
    """Factors that do not belong to the data get a certificate that says so."""
    from dataclasses import replace

    fitted = make_estimator("spa", 3).fit(data).factorization_
    forged = replace(fitted, weights=np.zeros_like(fitted.weights))
    assert certify(data, forged).measures["relative_error"] == pytest.approx(1.0)


def test_an_unknown_method_is_refused(data):
    from dataclasses import replace

    fitted = make_estimator("spa", 2).fit(data).factorization_
    with pytest.raises(InvalidInput, match="magic"):
        certify(data, replace(fitted, method="magic"))
