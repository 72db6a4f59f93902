"""The statements about Poisson NMF against independent optimisation."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import nbinom

from provenmf import PoissonNMF, certify as certify_record
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.methods.poisson.counts import weights_encoder
from provenmf.methods.poisson.guarantee import certify, excess
from provenmf.results import Factorization


def sample(seed):
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.5, 2, (25, 3)) @ rng.gamma(0.5, 2, (3, 15))
    X = rng.poisson(means).astype(float)
    return X[X.sum(axis=1) > 0]


def total(X, W, C):
    return excess(X, W, C).rows.sum()


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


def test_single_precision_does_not_shrink_the_gaps():
    """Column sums in single precision made the proved gap of the components too small by 4e-11."""
    weights = np.array(
        [
            [0.0, 0.37133172154426575],
            [0.823423445224762, 0.22649447619915009],
            [0.9501654505729675, 0.20420099794864655],
            [1.3561831712722778, 0.13278396427631378],
            [0.2328031063079834, 0.33038249611854553],
            [0.7746166586875916, 0.23507940769195557],
        ],
        dtype=np.float32,
    )
    moved = np.array(
        [
            [0.1418813318014145, 0.5087476968765259, 0.0030652028508484364, 0.4781172275543213],
            [0.8160898685455322, 0.0, 0.0, 0.0],
        ],
        dtype=np.float32,
    )
    data = np.array(
        [
            [0.30303242802619934, 0.0, 0.0, 0.0],
            [0.30165916681289673, 0.4185480773448944, 0.0025227798614650965, 0.3934774398803711],
            [0.3014477789402008, 0.48297134041786194, 0.002911088289692998, 0.45404180884361267],
            [0.30077067017555237, 0.6893510818481445, 0.004155033268034458, 0.648059606552124],
            [0.30264416337013245, 0.11833436787128448, 0.0007132551399990916, 0.1112462505698204],
            [0.3017405569553375, 0.3937394618988037, 0.0023732471745461226, 0.37015485763549805],
        ],
        dtype=np.float32,
    )
    for blocks in (as_blocks(data), as_blocks(sp.csr_array(data))):
        bounds = certify(Fit(blocks, Factorization("poisson", weights, moved))).bounds
        # other components of the same weights have a divergence of 8.3e-16 only
        assert bounds["components_divergence_gap"] >= 1.1052236e-6


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
