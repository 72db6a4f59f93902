"""The statements about Poisson NMF against independent optimisation."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlogy
from scipy.stats import nbinom

from provenmf import PoissonNMF, certify as certify_record
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.methods.poisson.counts import weights_encoder
from provenmf.methods.poisson.guarantee import certify, column_sums, excess
from provenmf.results import Factorization


def sample(seed):
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.5, 2, (25, 3)) @ rng.gamma(0.5, 2, (3, 15))
    X = rng.poisson(means).astype(float)
    return X[X.sum(axis=1) > 0]


def total(X, W, C):
    return excess(X, W, C).rows.sum()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_excess_equals_plain_sums(form):
    rng = np.random.default_rng(3)
    W, C = rng.gamma(0.5, 1, (12, 3)), rng.gamma(0.5, 1, (3, 9))
    X = rng.poisson(W @ C).astype(float)
    found, logs = excess(form(X), W, C), xlogy(X, X / (W @ C))
    np.testing.assert_allclose(found.rows, (logs - X + W @ C).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.column_pull, (X / (W @ C)).T @ W, rtol=1e-12)
    np.testing.assert_allclose(found.column_logs, logs.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.log_sizes, abs(logs).sum(axis=1), rtol=1e-9)
    assert (found.least <= found.rows * (1 + 1e-12)).all() and found.least.sum() > 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("mean", [0.0, -1.0])
def test_a_product_that_is_not_positive_makes_the_divergence_infinite(mean):
    found = excess(np.array([[1.0, 2.0]]), np.array([[1.0]]), np.array([[1.0, mean]]))
    assert np.isinf(found.rows[0])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e40])
def test_gaps_are_sound_for_any_factors(seed, scale):
    X = sample(seed)
    rng = np.random.default_rng(seed)
    W, C = rng.random((len(X), 3)) + 0.01, rng.random((3, X.shape[1])) + 0.01
    fit = Fit(as_blocks(X * scale), Factorization("poisson", W * scale, C))
    found = certify(fit)
    D = total(X, W, C)
    best_weights = weights_encoder(C, np.dtype(float))(X)
    best_features = weights_encoder(W.T, np.dtype(float))(np.ascontiguousarray(X.T))
    assert found.measures["divergence"] == pytest.approx(D * scale, rel=1e-9)
    for name, best in (
        ("weights_divergence_gap", total(X, best_weights, C)),
        ("components_divergence_gap", total(X, W, best_features.T)),
    ):
        assert found.bounds[name] >= (D - best) * scale * (1 - 1e-9)


def test_the_fit_proves_itself_nearly_stationary():
    X = sample(3)
    certificate = PoissonNMF(3, tol=1e-9, max_iter=2000, random_state=0).fit(X).certificate_
    assert certificate.checks[0].status == "holds"
    bounds = certificate.bounds
    D = certificate.measures["divergence"]
    assert bounds["weights_divergence_gap"] < 1e-3 * D


def test_deviance_explained_is_zero_for_the_product_of_the_margins():
    X = sample(1)
    C = X.sum(axis=0, keepdims=True)
    W = X.sum(axis=1, keepdims=True) / X.sum()
    found = certify(Fit(as_blocks(sp.csr_array(X)), Factorization("poisson", W, C)))
    assert found.measures["deviance_explained"] == pytest.approx(0.0, abs=1e-9)


def test_counts_that_the_product_excludes_are_named():
    X = np.array([[1.0, 2.0], [3.0, 0.0]])
    fit = Fit(as_blocks(X), Factorization("poisson", np.ones((2, 1)), np.array([[1.0, 0.0]])))
    found = certify(fit)
    assert found.checks[0].status == "fails"
    assert found.bounds == {}


def test_columns_are_summed_in_double_precision():
    """In single precision the proved gap of the components was too small by 4e-11."""
    data = np.random.default_rng(0).random((3000, 4)).astype(np.float32)
    for store in (np.asarray, sp.csr_array):
        fit = Fit(as_blocks(store(data)), Factorization("poisson", np.ones((3000, 1)), data[:1]))
        np.testing.assert_allclose(column_sums(fit), data.sum(axis=0, dtype=float), rtol=1e-14)


def test_gaps_allow_for_the_rounding_of_wide_data():
    rng = np.random.default_rng(0)
    data = rng.poisson(3.0, (3, 200_000)).astype(float)
    fitted = PoissonNMF(1, max_iter=3).fit(data)
    rows, columns = data.sum(axis=1, keepdims=True), data.sum(axis=0, keepdims=True)
    best = excess(data, rows / rows.sum(), columns).rows.astype(np.longdouble).sum()
    reached = fitted.certificate_.measures["divergence"]
    assert fitted.certificate_.bounds["weights_divergence_gap"] >= reached - best


def test_the_verdict_speaks_of_deviance_and_not_of_least_squares():
    certificate = PoissonNMF(3, random_state=0).fit(sample(4)).certificate_
    explained = certificate.measures["deviance_explained"]
    assert f"explain {100 * explained:.1f} % of the deviance" in certificate.verdict
    assert "relative error" not in certificate.verdict


def test_overdispersed_counts_are_rated_by_their_own_deviance():
    X = sample(2).astype(int)
    a = 0.3
    plain = PoissonNMF(3, random_state=0, certify=False).fit(X).factorization_
    record = replace(plain, parameters={"overdispersion": a})

    def deviance(means):
        size = 1 / a
        fitted = nbinom.logpmf(X, size, size / (size + means))
        return (nbinom.logpmf(X, size, size / (size + np.maximum(X, 1e-12))) - fitted).sum()

    margins = np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()
    share = 1 - deviance(record.weights @ record.components) / deviance(margins)
    certificate = certify_record(X.astype(float), record)
    found = certificate.measures["negative_binomial_deviance_explained"]
    assert found == pytest.approx(share, rel=1e-6)
    assert f"{100 * share:.1f} % of the negative binomial deviance" in certificate.verdict
    assert "divergence" not in certificate.measures
    zero = replace(record, weights=0 * record.weights)
    assert certify_record(X.astype(float), zero).checks[0].name == "finite divergence"
