"""Minimum-volume NMF: recovers components without pure rows, and its steps lower the objective."""

import numpy as np
import pytest
from scipy.optimize import linprog

from provenmf import HALS, SPA, Factorization, InvalidInput, MinVol, certify
from provenmf.data import as_blocks
from provenmf.methods.min_vol import solver
from provenmf.methods.min_vol.guarantee import refuted
from provenmf.metrics.matching import match_components


def mixtures(purity, noise=0.0, k=3, n=300, d=20, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet([0.5] * k, 20 * n)
    weights = weights[weights.max(axis=1) <= purity][:n]
    components = rng.dirichlet([0.5] * d, k)
    components = (components + 0.5 * components.mean(axis=0)) / 1.5  # no zeros that make it unique
    clean = weights @ components
    size = np.sqrt(np.mean(clean**2))
    return np.maximum(clean + noise * size * rng.standard_normal(clean.shape), 0), components


def angle(found, true):
    return np.degrees(np.arccos(np.clip(match_components(found, true).cosines, 0, 1))).mean()


@pytest.mark.filterwarnings("ignore", "error::RuntimeWarning")
@pytest.mark.parametrize("constraint", ["simplex", "nonnegative"])
def test_zeros_have_components_of_finite_volume(constraint):
    fitted = MinVol(2, constraint=constraint, penalty=5.0, max_iter=60).fit(np.zeros((4, 10)))
    assert fitted.reconstruction_err_ < 1e-100


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_components_without_pure_rows_are_found(noise):
    X, true = mixtures(0.7, noise)
    found = angle(MinVol(3, certify=False).fit(X).components_, true)
    assert found < 1.5
    for other in (SPA(3, certify=False), HALS(3, certify=False, random_state=0)):
        assert found < angle(other.fit(X).components_, true) / 3


def test_simplex_allows_dark_components():
    X, true = mixtures(0.7)
    sizes = np.array([[1.0], [0.3], [0.6]])
    weights = np.linalg.lstsq(true.T, X.T, rcond=None)[0].T
    found = MinVol(3, constraint="simplex", certify=False).fit(weights @ (sizes * true))
    assert angle(found.components_, true) < 2.5
    np.testing.assert_allclose(found.factorization_.weights.sum(axis=1), 1.0, atol=1e-9)
    matching = match_components(found.components_, sizes * true)
    sums = found.components_.sum(axis=1)[matching.found_rows]
    np.testing.assert_allclose(sums, sizes.ravel()[matching.true_rows], rtol=0.1)


def test_counts_by_likelihood():
    X, true = mixtures(0.8, n=150)
    counts = np.random.default_rng(1).poisson(2000 * X).astype(float)
    found = MinVol(3, loss="poisson", certify=False).fit(counts)
    assert angle(found.components_, true) < 2.5
    np.testing.assert_allclose(found.components_.sum(axis=1), 1.0)


@pytest.mark.parametrize("loss", ["least-squares", "poisson"])
def test_a_step_lowers_the_objective_with_the_weights_fixed(loss):
    X, true = mixtures(0.8, 0.1)
    X = np.round(50 * X) if loss == "poisson" else X
    start = np.random.default_rng(2).dirichlet([1.0] * 20, 3)
    if loss == "poisson":
        problem = solver.Divergence(as_blocks(X), start)
        for _ in range(5):
            sums = problem.sums(start)
        weights = problem.weights.array()
    else:
        problem = solver.Squares(as_blocks(X), "nonnegative")
        sums = problem.sums(start)
        weights = MinVol(3)._encoder(as_blocks(X), start)(X)

    def objective(components, penalty=0.01, delta=1e-3):
        means = weights @ components
        misfit = np.sum((X - means) ** 2) / np.sum(X**2)
        if loss == "poisson":
            logs = X * np.log(np.where(X > 0, X, 1) / means)
            misfit = np.sum(logs - X + means) / X.sum()
        gram = components @ components.T + delta * np.eye(3)
        return misfit + penalty * np.linalg.slogdet(gram)[1]

    inverse = np.linalg.inv(start @ start.T + 1e-3 * np.eye(3))
    better = problem.step(start, sums, 0.01 * inverse)
    assert objective(better) < objective(start)
    np.testing.assert_allclose(better.sum(axis=1), 1.0)


def test_projection_onto_the_simplex_is_the_nearest_point():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((5, 4))
    found = solver.onto_simplex(rows)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    others = rng.dirichlet([1.0] * 4, 2000)
    for row, nearest in zip(rows, found):
        distances = np.linalg.norm(others - row, axis=1)
        assert np.linalg.norm(nearest - row) <= distances.min() + 1e-12


def test_scattering_holds_for_pure_rows_and_fails_without_zeros():
    _, true = mixtures(0.8)

    def status(weights):
        plain = Factorization("min_vol", weights, true)
        checks = {c.name: c.status for c in certify(weights @ true, plain).checks}
        return checks["weights sufficiently scattered"]

    mixed = np.full((5, 3), 1 / 3)
    edges = np.array([[7, 3, 0], [3, 7, 0], [7, 0, 3], [3, 0, 7], [0, 7, 3], [0, 3, 7]]) / 10
    assert status(np.vstack([np.eye(3), mixed])) == "holds"
    assert status(np.vstack([edges, mixed])) == "unknown"
    assert status(np.vstack([np.eye(3)[:2], mixed])) == "fails"
    assert status(mixed) == "fails"
    one_sided = edges[[0, 1, 2, 4]]  # without the second component: near to the first only
    assert status(np.vstack([one_sided, 2 * one_sided])) == "fails"


def test_the_necessary_condition_is_that_of_a_linear_program():
    rng = np.random.default_rng(0)
    seen = set()
    for trial in range(60):
        k = int(rng.integers(2, 6))
        weights = rng.dirichlet([0.5] * k, int(rng.integers(5, 60)))
        weights[rng.random(weights.shape) < rng.uniform(0.2, 0.6)] = 0.0
        weights *= rng.lognormal(0, 5, (len(weights), 1))
        weights = weights[weights.any(axis=1)]
        outside = []
        for j in range(k):
            face = np.delete(weights[weights[:, j] == 0], j, axis=1)
            if len(face) == 0:
                outside.append(True)
                continue
            face /= face.sum(axis=1, keepdims=True)
            made = linprog(np.zeros(len(face)), A_eq=face.T, b_eq=np.ones(k - 1))
            outside.append(made.status == 2)
        found = refuted(as_blocks(weights, block_rows=7).place(weights), k)
        assert (found is not None) == any(outside), (trial, found)
        assert found is None or outside[found[0]]
        seen.add(found is None)
    assert seen == {True, False}


def test_simplex_with_counts_is_refused():
    with pytest.raises(InvalidInput, match="constraint"):
        MinVol(2, loss="poisson", constraint="simplex").fit(np.eye(4))
