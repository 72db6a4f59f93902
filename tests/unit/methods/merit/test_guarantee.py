"""MERIT's certificate: what it measures, and that it never certifies a wrong row."""

from itertools import islice

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


def paper_run(X, k, **options):
    return fit(X, k, step="open-loop", tol=0, **options)


def test_the_path_is_the_one_of_the_run():
    X = dirichlet_mixtures(40, 10, 4, snr=15, random_state=0).data
    model = paper_run(X, 4, lam=0.3, max_iter=30)
    H = model.factorization_.weights
    path = guarantees.follow_path(X, model.anchors_, H, 0.3, 1e-5, 30)
    C, residual, _ = next(islice(guarantees.algorithm_1(X, 0.3, 1e-5), 30, None))
    np.testing.assert_allclose(C.max(axis=0), model.factorization_.state.row_maxima, atol=1e-13)
    np.testing.assert_allclose(path.residuals[-1], np.linalg.norm(residual, axis=1), atol=1e-12)
    assert path.inside == (not np.delete(C, model.anchors_, axis=1).any())


def test_gradient_gaps_are_those_of_the_definition():
    """Fact 1: anchors from a continuous distribution give no ties."""
    rng = np.random.default_rng(0)
    W, errors = rng.random((5, 8)), rng.standard_normal((30, 5))
    found = guarantees.gradient_gaps(errors, W @ W.T)
    for row, gap in zip(errors, found):
        q = np.sort(W @ W.T @ row / np.linalg.norm(row))
        assert gap == pytest.approx(q[1] - q[0]) and gap > 0
    equal = np.vstack([W[:1], W[:1], W[1:]])
    assert guarantees.gradient_gaps(-np.eye(6)[:1] * 1.0, equal @ equal.T)[0] == pytest.approx(0)


def test_theorem_2_is_decided_by_the_path():
    name = "gradient gap (nu eta) needed"
    exact = dirichlet_mixtures(40, 12, 4, concentration=4, random_state=0).data
    assert check(paper_run(exact, 4, lam=0, max_iter=400).certificate_, name).status == "holds"
    noisy = dirichlet_mixtures(40, 12, 4, snr=20, random_state=0).data
    assert check(paper_run(noisy, 4, lam=0, max_iter=100).certificate_, name).status == "fails"
    assert check(fit(noisy, 4).certificate_, name).status == "unknown"


def test_theorem_4_is_decided_by_the_path():
    """A penalty above the curvature: all steps go to anchors, as the theorem says."""
    rng = np.random.default_rng(0)
    W = np.eye(4)
    X = np.vstack([W, rng.dirichlet(np.full(4, 8.0), 20) @ W])
    model = paper_run(X, 4, lam=400.0, mu=1e-6, max_iter=20)
    found = check(model.certificate_, "noise within memory theorem")
    assert found.status == "holds" and "psi along the path" in found.note
    smooth = paper_run(X, 4, lam=400.0, mu=10.0, max_iter=20)
    assert check(smooth.certificate_, "noise within memory theorem").status == "fails"


def test_lemma_1_and_proposition_1():
    rng = np.random.default_rng(0)
    H = np.vstack([np.eye(5), rng.dirichlet(np.ones(5), 30)])
    C = np.maximum(H + 0.05 * rng.standard_normal(H.shape), 0)
    C /= C.sum(axis=1, keepdims=True)
    omega = np.linalg.norm(C @ np.eye(5) - H, axis=1).max()
    assert omega < 2 / np.sqrt(5)
    assert (C.max(axis=0) >= guarantees.lemma_1_bound(omega, 5)).all()
    start = rng.dirichlet(np.ones(3), 12)
    bound = guarantees.proposition_1_bound(start, 2, 8)
    C = start.copy()
    for t in range(2, 8):
        C = (1 - 2 / (t + 2)) * C
        C[np.arange(12), rng.integers(0, 3, 12)] += 2 / (t + 2)
        assert 0 < bound <= guarantees.smallest_difference(C) + 1e-12
    assert guarantees.proposition_1_bound(np.eye(3), 1, 9) == 0
