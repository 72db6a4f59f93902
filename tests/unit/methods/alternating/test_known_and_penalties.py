"""Known components, penalties and closure: what is asked for holds, and is certified."""

import numpy as np
import pytest
from sklearn.decomposition import NMF

from provenmf import ANLS, HALS, certify, factorize
from provenmf.errors import InvalidInput

BOTH = pytest.mark.parametrize("kind", [HALS, ANLS])


def planted(n=60, d=20, k=4, noise=0.02):
    rng = np.random.default_rng(0)
    components = rng.gamma(0.5, size=(k, d))
    return rng.gamma(0.5, size=(n, k)) @ components + noise * rng.random((n, d)), components


@BOTH
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("known", [1, 3, 4])
def test_known_components_stay_bit_for_bit(kind, missing, known):
    X, components = planted()
    if missing:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = kind(4, known_components=components[:known], random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_[:known], components[:known])
    assert model.certificate_.measures["relative_error"] < 0.02
    conditions = model.certificate_.checks[0]
    assert conditions.name == "first-order conditions" and conditions.status == "holds"


@pytest.mark.parametrize(
    "known, words",
    [
        (np.ones((5, 20)), "at most n_components=4"),
        (np.ones((2, 19)), "20 columns"),
        (-np.ones((2, 20)), "negative or not finite"),
        (np.full((2, 20), np.nan), "negative or not finite"),
    ],
)
def test_bad_known_parts_are_refused(known, words):
    with pytest.raises(InvalidInput, match=words):
        HALS(4, known_components=known).fit(planted()[0])


def test_factorize_does_not_lose_known_parts():
    X, components = planted()
    found = factorize(X, 4, known_components=components[:2], random_state=0)
    np.testing.assert_array_equal(found.components[:2], components[:2])
    with pytest.raises(InvalidInput, match="known_components.* is not an option of factorize"):
        factorize(X, 4, method="spa", known_components=components[:2])


def objective(X, W, C, l1, l2):
    """As stated in linalg/nnls.py, both factors alike."""
    n, d = X.shape
    fit = np.nansum((X - W @ C) ** 2) / (2 * n * d)
    return fit + sum(l1 * f.sum() / m + l2 * (f**2).sum() / (2 * m) for f, m in ((W, n), (C, d)))


def penalised(kind, l1, l2, **options):
    both = {f"{name}_{factor}": value for name, value in (("l1", l1), ("l2", l2))
            for factor in ("weights", "components")}  # fmt: skip
    return kind(3, random_state=0, **both, **options)


@BOTH
@pytest.mark.parametrize("l1, l2", [(2e-3, 0.0), (0.0, 2e-3)])
def test_penalties_are_those_of_scikit_learn(kind, l1, l2):
    X, _ = planted(k=3)
    model = penalised(kind, l1, l2, tol=1e-7, max_iter=2000).fit(X)
    peer = NMF(3, init="nndsvda", alpha_W=l1 + l2, l1_ratio=l1 / (l1 + l2), max_iter=3000, tol=1e-9)
    weights = peer.fit_transform(X)
    ours = objective(X, model.factorization_.weights, model.components_, l1, l2)
    assert ours <= objective(X, weights, peer.components_, l1, l2) * 1.001
    assert model.certificate_.checks[0].status == "holds"
    assert (np.diff(model.trace_["level"]) <= 0).all()
    plain = kind(3, random_state=0).fit(X)
    assert model.certificate_.measures["relative_error"] > plain.certificate_.measures[
        "relative_error"
    ]  # fmt: skip


def test_penalised_fits_are_stationary_with_missing_entries_too():
    X, _ = planted(k=3)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = penalised(HALS, 1e-3, 1e-3, tol=1e-8, max_iter=3000).fit(X)
    assert model.certificate_.checks[0].status == "holds"
    plain = certify(X, HALS(3, random_state=0, tol=1e-8).fit(X).factorization_)
    assert plain.checks[0].status == "holds"
    np.testing.assert_allclose(model.transform(X), model.factorization_.weights, atol=1e-12)


def test_a_penalty_on_one_factor_alone_is_refused():
    X, components = planted()
    with pytest.raises(InvalidInput, match="set l1_components or l2_components too"):
        HALS(3, l1_weights=0.1).fit(X)
    with pytest.raises(InvalidInput, match="set l1_weights or l2_weights too"):
        HALS(3, l2_components=0.1).fit(X)
    fixed = HALS(4, l1_weights=0.01, known_components=components).fit(X)
    plain = HALS(4, known_components=components).fit(X)
    assert fixed.factorization_.weights.sum() < plain.factorization_.weights.sum()


def test_weights_with_a_penalty_are_not_called_least_squares():
    model = penalised(HALS, 1e-3, 0.0).fit(planted()[0])
    status = {check.name: check.status for check in model.certificate_.checks}
    assert status["weights move less than rows"] == "unknown"


def kinetics(noise=0.0):
    """A reaction A -> B -> C: concentrations that sum to one, and spectra of different size."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 20, 80)[:, None]
    a, c = np.exp(-0.8 * t), 1 - (0.8 * np.exp(-0.25 * t) - 0.25 * np.exp(-0.8 * t)) / 0.55
    band = np.linspace(0, 1, 40)
    spectra = np.array(
        [h * np.exp(-(((band - m) / 0.12) ** 2)) for h, m in ((3, 0.2), (1, 0.5), (5, 0.8))]
    )
    weights = np.hstack([a, 1 - a - c, c])
    return weights @ spectra + noise * rng.random((80, 40)), weights, spectra


@BOTH
@pytest.mark.parametrize("init", ["cones", "spa", "random"])
def test_closure(kind, init):
    X, weights, spectra = kinetics(noise=1e-3)
    model = kind(3, constraint="simplex", init=init, random_state=0, tol=1e-8, max_iter=3000).fit(X)
    found = model.factorization_.weights
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(found, model.transform(X))
    errors = model.trace_["relative_error"]
    assert (np.diff(errors) <= 0).all() and errors[-1] < 2e-3
    assert errors[-1] == pytest.approx(
        np.linalg.norm(X - found @ model.components_) / np.linalg.norm(X)
    )
    largest = spectra @ model.components_.T
    order = largest.argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    # Each row is a mixture of the components themselves: their sizes are those of the spectra.
    sizes = model.components_[order].max(axis=1) / spectra.max(axis=1)
    np.testing.assert_allclose(sizes, 1, atol=0.1)


def test_closure_with_a_known_part_and_what_it_refuses():
    X, weights, spectra = kinetics()
    model = HALS(3, constraint="simplex", known_components=spectra[:1], random_state=0, tol=1e-9)
    model.fit(X)
    np.testing.assert_array_equal(model.components_[0], spectra[0])
    np.testing.assert_allclose(model.factorization_.weights.sum(axis=1), 1, atol=1e-12)
    X[0, 0] = np.nan
    with pytest.raises(InvalidInput, match="constraint='simplex' cannot be combined with missing"):
        model.fit(X)
