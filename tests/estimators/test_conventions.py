"""Every estimator follows scikit-learn's conventions in full."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from provenmf.advice.diagnose import advised_methods
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE, estimator_class, make_estimator, methods
from provenmf.methods.merit import settings
from provenmf.methods.traits import constraints_of

METHODS = list(CATALOGUE)
# Mixtures with weights that sum to one are not Purification's model, and it says so.
pytestmark = pytest.mark.filterwarnings("ignore:the features became linearly dependent")


def make(method, n_components=2, **options):
    return make_estimator(method, n_components, random_state=0, **options)


def separable_data(n=30, d=6, k=2, dtype=np.float64):
    """Rows that mix k of them: every method can explain these."""
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(k), rng.dirichlet(np.ones(k), n - k)])
    return (weights @ (rng.random((k, d)) + np.eye(k, d) * 2)).astype(dtype)


@parametrize_with_checks([make(method) for method in METHODS])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


def test_fit_transform_equals_transform(method):
    X = separable_data()
    estimator = make(method)
    np.testing.assert_allclose(estimator.fit_transform(X), estimator.transform(X), atol=1e-12)


def test_float32_stays_float32(method):
    X = separable_data(dtype=np.float32)
    estimator = make(method).fit(X)
    assert estimator.transform(X).dtype == np.float32
    assert estimator.components_.dtype == np.float32
    assert estimator.factorization_.weights.dtype == np.float32


@pytest.mark.parametrize("flavour", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array])
def test_sparse_equals_dense(method, flavour):
    X = separable_data()
    X[X < 0.3] = 0
    dense, sparse = make(method).fit(X), make(method).fit(flavour(X))
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-6)
    np.testing.assert_allclose(sparse.transform(flavour(X)), dense.transform(X), atol=1e-6)


def test_on_disk_equals_in_memory(method, tmp_path):
    X = separable_data()
    np.save(tmp_path / "x.npy", X)
    memory, disk = make(method).fit(X), make(method).fit(tmp_path / "x.npy")
    np.testing.assert_allclose(disk.components_, memory.components_, atol=1e-8)
    np.testing.assert_allclose(disk.transform(str(tmp_path / "x.npy")), memory.transform(X))


def test_fitted_attributes(method):
    X = separable_data()
    fitted = make(method).fit(X)
    assert fitted.n_components_ == len(fitted.components_) == 2
    assert fitted.n_iter_ >= 1
    expected = np.linalg.norm(X - fitted.transform(X) @ fitted.components_)
    assert fitted.reconstruction_err_ == pytest.approx(expected, abs=1e-6)
    assert fitted.certificate_ is fitted.factorization_.certificate
    assert fitted.certificate_.method == method
    assert "relative_error" in fitted.certificate_.measures
    assert {"relative_error_lower_bound", "relative_error_gap"} <= fitted.certificate_.bounds.keys()
    rebuilt = fitted.inverse_transform(fitted.transform(X))
    assert rebuilt.shape == X.shape
    np.testing.assert_allclose(
        fitted.inverse_transform(sp.csr_array(fitted.transform(X))), rebuilt, atol=1e-12
    )
    assert fitted.factorization_.stop_reason


def test_the_certificate_is_readable_in_80_columns(method):
    X = separable_data() + 0.01 * np.random.default_rng(1).random((30, 6))
    certificate = make(method).fit(X).certificate_
    text = str(certificate)
    assert max(map(len, text.splitlines())) <= 80
    for check in certificate.checks:
        assert check.name in text and check.theorem in text  # nothing is cut off


def test_auto_means_none_and_a_number_that_nobody_gave_is_noted(method):
    X = separable_data()
    none, auto, given = (make(method, number).fit(X) for number in (None, "auto", 2))
    np.testing.assert_array_equal(none.components_, auto.components_)
    said = " ".join(none.factorization_.notes)  # found by the method or by its start
    assert f"took {none.n_components_}" in said and "provenmf rank" in said
    assert "provenmf rank" not in " ".join(given.factorization_.notes)


def test_anchors_are_rows_of_the_data(method):
    X = separable_data()
    model = make(method).fit(X)
    rows = hasattr(model, "anchors_") and np.array_equal(X[model.anchors_], model.components_)
    assert rows == model.traits.anchors


def test_methods_are_chosen_by_their_traits():
    assert set(methods(anchors=True)) == {"spa", "xray", "merit", "fast_anchor", "fast_gradient"}
    assert "xray" not in methods(anchors=True, negative_data=True)
    assert advised_methods() == ["cones", "spa", "merit", "and_descent"]


def test_nothing_is_left_of_an_earlier_fit(method):
    estimator = make(method).fit(separable_data())
    estimator.set_params(certify=False).fit(separable_data()[::-1])
    assert not hasattr(estimator, "certificate_") and estimator.factorization_.certificate is None


def test_a_callback_sees_every_row_and_is_no_part_of_the_record(method):
    rows = []
    fitted = make(method, callback=rows.append).fit(separable_data())
    assert len(rows) == len(fitted.trace_)
    assert rows[-1].keys() == fitted.trace_.columns.keys()
    not_of_the_result = {"callback", "on_interrupt"}
    assert fitted.factorization_.parameters.keys() == fitted.get_params().keys() - not_of_the_result


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_and_feature_names(method, library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(separable_data(), **_columns(library))
    estimator = make(method).set_output(transform=library)
    out = estimator.fit_transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == list(estimator.get_feature_names_out())
    assert list(out.columns) == [f"{CATALOGUE[method].lower()}{i}" for i in range(2)]
    assert list(estimator.feature_names_in_) == list("abcdef")
    assert estimator.factorization_.column_names.tolist() == list("abcdef")


def _columns(library):
    return {"columns": list("abcdef")} if library == "pandas" else {"schema": list("abcdef")}


def test_pipeline_and_grid_search(method):
    X = separable_data()
    pipeline = make_pipeline(FunctionTransformer(), make(method))
    search = GridSearchCV(
        pipeline,
        {f"{type(make(method)).__name__.lower()}__n_components": [1, 2]},
        cv=2,
        error_score="raise",
    )
    [best] = search.fit(X).best_params_.values()
    assert best == 2  # two rows explain all others
    fitted = search.best_estimator_[-1]
    residual = X - fitted.inverse_transform(fitted.transform(X))
    assert fitted.score(X) == pytest.approx(-np.mean(residual**2), abs=1e-12)


def test_bad_parameters_are_named(method):
    X = separable_data()
    bad = {"n_components": 0, "certify": "often", "callback": 3, "verbose": 10**400}
    for name, value in bad.items():
        with pytest.raises(ValueError, match=name):
            make(method).set_params(**{name: value}).fit(X)


def test_every_parameter_is_constrained(method):
    legal = constraints_of(type(make(method)))
    assert legal["callback"] == [callable, None] and legal["certify"][0] == "boolean"
    arrays = {"init", "known_components", "row_errors"}  # examined where they are read
    assert {name for name, values in legal.items() if "array-like" in values} <= arrays


def test_no_parameter_is_accepted_and_dropped(method):
    """Every parameter is looked at while components and weights are found."""
    parameters = make(method).get_params().keys()
    seen, looking = set(), []

    class Watched(estimator_class(method)):
        def __getattribute__(self, name):
            if looking and name in parameters:
                seen.add(name)
            return super().__getattribute__(name)

        def _solve(self, blocks, rng):
            looking.append(True)
            return super()._solve(blocks, rng)

        def _final_weights(self, blocks, solution):
            weights = super()._final_weights(blocks, solution)
            looking.clear()
            return weights

    Watched(n_components=2).fit(separable_data())
    # Around the fit, for streams only, in a test of its own, and at the door.
    elsewhere = {"certify", "clip_negative", "on_interrupt", "random_state", "unstored"}
    assert seen == parameters - elsewhere


# Where each method draws random numbers; one that is not here must not have the parameter.
DRAWS = {
    "and_descent": {"init": "random-rows"},
    "purification": {"init": "random-rows"},
    "merit": {},
    "fast_gradient": {},
    "hals": {"init": "random"},
    "anls": {"init": "random"},
    "poisson": {"init": "random"},
    "min_vol": {"init": "random"},
}


def test_random_state_decides_what_is_drawn(method, monkeypatch):
    few = replace(settings.SETTINGS, few_rows=10, dictionary=10)  # else MERIT tries every row
    monkeypatch.setattr(settings, "SETTINGS", few)
    if method not in DRAWS:
        assert "random_state" not in make(method).get_params()
        return
    drawn = []

    class Watched(estimator_class(method)):
        def _solve(self, blocks, rng):
            untouched = rng.bit_generator.state
            solution = super()._solve(blocks, rng)
            assert rng.bit_generator.state != untouched, "nothing was drawn"
            drawn.append(untouched)
            return solution

    for seed in (0, 0, 1):
        Watched(n_components=2, random_state=seed, **DRAWS[method]).fit(separable_data())
    assert drawn[0] == drawn[1] != drawn[2]


def test_bad_data_are_refused(method, tmp_path):
    X = separable_data()
    for bad, words in ((np.nan, "NaN in 1 entries.*use HALS or ANLS"), (np.inf, "infinity")):
        spoilt = X.copy()
        spoilt[3, 2] = bad
        np.save(tmp_path / "spoilt.npy", spoilt)
        for data in (spoilt, tmp_path / "spoilt.npy"):
            if bad is np.nan and make(method).traits.missing_values:
                assert np.isfinite(make(method).fit(data).factorization_.weights).all()
                continue
            with pytest.raises(InvalidInput, match=words):
                make(method).fit(data)
    for data in (X[0], X.astype(complex), np.full((4, 4), "a"), np.ones((0, 3)), X[:, :0]):
        with pytest.raises(InvalidInput):
            make(method).fit(data)
    with pytest.raises(InvalidInput, match="n_components"):
        make(method, n_components=31).fit(X)


def test_negative_data_are_refused_where_the_model_forbids_them(method, tmp_path):
    X = separable_data() - 0.5
    np.save(tmp_path / "negative.npy", X)
    for data in (X, sp.csr_array(X), tmp_path / "negative.npy"):
        if make(method).traits.negative_data:
            assert np.isfinite(make(method).fit(data).components_).all()
        else:
            with pytest.raises(InvalidInput, match="[Nn]egative"):
                make(method).fit(data)


def test_zero_rows_and_columns_are_no_trouble(method):
    X = separable_data()
    X[5] = 0
    X[:, 4] = 0
    estimator = make(method)
    weights = estimator.fit_transform(X)
    assert np.isfinite(weights).all() and np.isfinite(estimator.components_).all()
    if estimator._constraint == "nonnegative":
        np.testing.assert_allclose(weights[5], 0, atol=1e-8)
