"""A certificate recomputed from data and a saved result equals the one of the fit."""

from dataclasses import replace

import numpy as np
import pytest

from provenmf import load
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE, make_estimator
from provenmf.methods.certify import certify


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(3), rng.dirichlet(np.full(3, 0.2), size=40)])
    return weights @ rng.random((3, 8)) + 0.01 * rng.random((43, 8))


def assert_same(one, two):
    assert one.keys() == two.keys()
    for name, value in two.items():
        found, known = (np.asarray(v, dtype=float) for v in (value, one[name]))  # None is NaN
        np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-12, err_msg=name)


def statuses(certificate):
    return [(c.name, c.status) for c in certificate.checks]


@pytest.mark.parametrize("method", sorted(CATALOGUE))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_recomputed_certificate_equals_that_of_the_fit(method, data, tmp_path):
    fitted = make_estimator(method, 3, random_state=0, certify="full").fit(data)
    fitted.factorization_.save(tmp_path / "result.npz")
    stored = fitted.certificate_
    loaded = load(tmp_path / "result.npz")
    again = certify(data, loaded)
    assert loaded == fitted.factorization_
    assert_same(stored.measures, again.measures)
    assert_same(stored.bounds, again.bounds)
    assert statuses(again) == [*statuses(stored), ("data that the result names", "holds")]
    assert again.recomputed and not loaded.certificate.recomputed


@pytest.mark.parametrize("method", sorted(CATALOGUE))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_data_of_the_same_shape_are_named(method, data):
    """A result of other data kept its "holds"."""
    fitted = make_estimator(method, 3, random_state=0).fit(data)
    other = np.random.default_rng(9).random(data.shape)
    again = certify(other, fitted.factorization_)
    assert "not, digit for digit, those that the result names as its own" in again.verdict
    if fitted.traits.anchors:
        assert "not the rows of these data that the result calls anchors" in again.verdict
        assert not {"anchor_noise", "anchor_margin"} & (again.bounds.keys() | again.measures.keys())


@pytest.mark.parametrize("label", [-1, 0])
def test_labels_that_leave_rows_out_or_together_prove_nothing(label, data):
    """Labels of -1 turned the inequality of the cones into "holds"; zeros left nothing apart."""
    fitted = make_estimator("cones", 3).fit(data).factorization_
    forged = replace(fitted, labels=np.full(len(data), label))
    found = {c.name: c.status for c in certify(data, forged).checks if "Liu17" in c.theorem}
    assert found.get("cones far apart, inequality (1)", "unknown") == "unknown"
    assert label == 0 or "holds" not in found.values()


def test_records_that_do_not_belong_to_the_data_are_refused(data):
    fitted = make_estimator("spa", 3).fit(data).factorization_
    for changes, message in (
        ({"weights": np.full((43, 3), np.nan)}, "damaged"),
        ({"components": np.ones(8)}, "damaged"),
        ({"weights": np.ones((43, 2))}, "damaged"),
        ({"weights": np.ones((44, 3))}, "43 x 8.*44 x 8"),
        ({"method": "magic"}, "magic"),
    ):
        with pytest.raises(InvalidInput, match=message):
            certify(data, replace(fitted, **changes))


def test_weights_below_zero_are_named(data):
    fitted = make_estimator("hals", 3, random_state=0).fit(data).factorization_
    forged = replace(fitted, weights=fitted.weights - 1.0)
    assert "Some weights are negative" in certify(data, forged).verdict


def test_a_record_without_fingerprint_is_of_unknown_data(data):
    fitted = replace(make_estimator("spa", 3).fit(data).factorization_, fingerprint="")
    assert certify(data, fitted).checks[-1].status == "unknown"


@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_the_constraint_on_the_weights_is_remembered(constraint, data):
    fitted = make_estimator("spa", 3, constraint=constraint, certify="full").fit(data)
    again = certify(data, fitted.factorization_)
    assert_same(fitted.certificate_.measures, again.measures)


def test_numpys_numbers_as_parameters_are_recorded_as_numbers():
    """A search over np.arange(2, 9) gives np.int64, and cones' statements ask for the number."""
    X = np.random.default_rng(0).random((20, 6))
    plain = make_estimator("cones", 3, random_state=0).fit(X)
    numpys = make_estimator("cones", np.int64(3), random_state=np.int64(0)).fit(X)
    assert numpys.factorization_.parameters == plain.factorization_.parameters
    assert numpys.certificate_.to_dict() == plain.certificate_.to_dict()
