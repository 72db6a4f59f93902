"""MERIT's certificate: what it measures, and that it never certifies a wrong row."""

import numpy as np
import pytest

from provenmf import MERIT
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods.merit import guarantee as guarantees
from provenmf.methods.separable.margins import Explanation


def check(certificate, name):
    return next(c for c in certificate.checks if c.name == name)


def fit(X, n_components, **options):
    return MERIT(n_components, random_state=0, **options).fit(X)


def explained(X, model):
    """The quantities of the theorems on a fitted model."""
    fit = Fit(as_blocks(X), model.factorization_, "simplex")
    return guarantees.quantities(Explanation(fit, "hull"))


def test_measures_agree_with_their_definitions():
    sample = dirichlet_mixtures(60, 12, 4, snr=25, random_state=1)
    X = sample.data
    model = fit(X, 4)
    e = explained(X, model)
    W, H = model.components_, model.factorization_.weights
    V = X - H @ W
    lengths = np.linalg.norm(V, axis=1)
    assert e.delta == pytest.approx(lengths.max())
    assert e.noise == pytest.approx(np.sum(V**2))
    assert e.rho == pytest.approx(60 * lengths.max() ** 2 / np.sum(V**2))
    assert e.gamma == pytest.approx(np.linalg.norm(W, axis=1).max())
    assert e.d == pytest.approx(np.delete(H, model.anchors_, axis=0).max())


def test_theorem_3_separates_once_the_noise_is_tiny():
    rng = np.random.default_rng(0)
    W = np.eye(4) * 10
    X = np.vstack([W, rng.dirichlet(np.full(4, 8.0), 30) @ W])
    X += 1e-6 * rng.standard_normal(X.shape)
    model = fit(X, 4, lam=1e-3, mu=1e-9, max_iter=3000, step="open-loop", tol=1e-12)
    e = explained(X, model)
    penalty = guarantees.Penalty(1e-3, 1e-9)
    anchors, others = guarantees.theorem_3_sides(e, penalty)
    assert others < anchors  # an exact solution would be certified
    measured = guarantees.theorem_3_sides(e, penalty, measured_noise=True)
    assert measured[0] >= anchors and measured[1] <= others


def test_theorem_1_holds_on_exact_data_only():
    exact = dirichlet_mixtures(60, 12, 4, random_state=0).data
    name = "no noise, no repeated anchor"
    assert check(fit(exact, 4).certificate_, name).status == "holds"
    noisy = dirichlet_mixtures(60, 12, 4, snr=20, random_state=0).data
    assert check(fit(noisy, 4).certificate_, name).status == "fails"
