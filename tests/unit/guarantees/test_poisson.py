"""The statements about Poisson NMF against independent optimisation."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import ConeNMF, PoissonNMF
from provenmf.blocks import as_blocks
from provenmf.guarantees.fit import Fit
from provenmf.guarantees.poisson import certify
from provenmf.linalg.divergence import excess
from provenmf.records import Factorization
from provenmf.solvers.poisson.rows import encode_counts


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
    best_weights = encode_counts(as_blocks(X), C)
    best_features = encode_counts(as_blocks(np.ascontiguousarray(X.T)), W.T)
    assert found.measures["divergence"] == pytest.approx(D * scale, rel=1e-9)
    for name, best in (
        ("divergence_above_best_weights", total(X, best_weights, C)),
        ("divergence_above_best_components", total(X, W, best_features.T)),
    ):
        assert found.bounds[name] >= (D - best) * scale * (1 - 1e-9)


def test_the_fit_proves_itself_nearly_stationary():
    X = sample(3)
    certificate = PoissonNMF(3, tol=1e-9, max_iter=2000, random_state=0).fit(X).certificate_
    assert certificate.checks[0].status == "holds"
    bounds = certificate.bounds
    D = certificate.measures["divergence"]
    assert bounds["divergence_above_best_weights"] < 1e-3 * D


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


def test_cones_refined_by_likelihood_carry_the_statements_of_the_likelihood():
    X = sample(2)
    model = ConeNMF(3, refine="kl").fit(X)
    assert "divergence_above_best_weights" in model.certificate_.bounds
    assert "relative_error_max_form" not in model.certificate_.bounds
    np.testing.assert_allclose(model.transform(X), model.factorization_.weights)
