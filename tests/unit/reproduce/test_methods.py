"""The rivals and the literal algorithms of the experiments, and every experiment at quick size."""

import itertools
import math

import numpy as np
import pytest

from provenmf.datasets.and_descent import (
    sample_dirichlet,
    sample_signed,
    start_nearby,
    topic_components,
)
from provenmf.datasets.cones import paper_cones
from provenmf.reproduce import and_descent, claims, cones
from provenmf.reproduce.claims import Settings


@pytest.fixture(scope="module")
def topics():
    components = topic_components(8, 30, random_state=0)
    start = start_nearby(components, random_state=0)
    return sample_dirichlet(120, components, random_state=0), start


def literal_stages(data, start):
    """Algorithm 1 as printed: both products at each of the T = 50 steps."""
    Y, A = np.ascontiguousarray(data.T), start.T.copy()
    eta, j = 0.5 / A.shape[1], 0
    while True:
        j += 1
        Z = np.linalg.pinv(A) @ Y
        Z[Z < 0.1 / 1.1**j] = 0
        for _ in range(50):
            A = A + eta * (Y - A @ Z) @ Z.T
        yield A.T


def test_stages_from_sums_are_the_literal_ones(topics):
    sample, start = topics
    pairs = zip(literal_stages(sample.data, start), and_descent.paper_stages(sample.data, start))
    for literal, ours in itertools.islice(pairs, 4):
        np.testing.assert_allclose(ours, literal, rtol=1e-9, atol=1e-12)


def test_a_stage_of_single_samples_is_the_literal_loop(topics):
    sample, start = topics
    found = next(and_descent.one_sample_stages(sample.data, start, alpha=0.1, decay=1.1, seed=3))
    Y, A = sample.data.T, start.T.copy()
    Z = np.linalg.pinv(A) @ Y
    Z[Z < 0.1 / 1.1] = 0
    n, eta = Y.shape[1], 1 / (Z**2).sum(axis=0).max()
    T = math.ceil(2 / (eta * np.linalg.eigvalsh(Z @ Z.T / n)[0]))
    for t in np.random.default_rng(3).integers(n, size=min(T, 10 * n)):
        A += eta * np.outer(Y[:, t] - A @ Z[:, t], Z[:, t])
    np.testing.assert_allclose(found, A.T, rtol=1e-9, atol=1e-12)


def residual(data, components):
    weights = np.maximum(data @ np.linalg.pinv(components), 0)
    return np.linalg.norm(data - weights @ components)


@pytest.mark.parametrize("name", ["HALS", "ANLS", "MU"])
def test_competitors_reduce_their_own_objective(topics, name):
    sample, start = topics
    steps = and_descent.COMPETITORS[name](sample.data, start)
    last = next(itertools.islice(steps, 9, None))
    assert residual(sample.data, last) < residual(sample.data, np.maximum(start, 0))


@pytest.mark.parametrize("name", and_descent.SIGNED_COMPETITORS)
def test_competitors_run_on_signed_data(name):
    sample = sample_signed(80, n_components=4, n_columns=20, random_state=0)
    start = start_nearby(sample.components, random_state=1)
    last = next(itertools.islice(and_descent.SIGNED_COMPETITORS[name](sample.data, start), 5, None))
    assert (last.min() < 0) == ("signed" in name)


def test_a_step_that_is_too_large_ends_the_course(topics):
    sample, start = topics
    wild = and_descent.Sample(1e4 * sample.data, 1e4 * sample.components, sample.weights)
    with np.errstate(all="ignore"):
        run = and_descent.course(and_descent.paper_stages, wild, 1e4 * start, passes=50)
    assert len(run.errors) <= 51  # diverging components end it, whatever the error is


def test_a_course_knows_its_late_pace_and_largest_rise():
    run = and_descent.Course([0, 1, 2, 3, 4], [8.0, 4.0, 2.0, 3.0, 1.0])
    assert run.late_factor == pytest.approx(0.5**0.5)
    assert run.largest_rise == 1.5
    assert math.isnan(and_descent.Course([0], [1.0]).late_factor)


@pytest.fixture(scope="module")
def rows():
    return paper_cones(120, n_columns=50, n_components=4, random_state=0).data


@pytest.mark.parametrize("name", cones.ALGORITHMS)
def test_every_algorithm_factorizes(rows, name):
    weights, components = cones.ALGORITHMS[name](rows, 4)
    assert weights.min() >= 0 and components.min() >= 0
    assert cones.relative_error(rows, (weights, components)) < math.sin(0.3)


def test_our_cones_equal_the_literal_algorithm(rows):
    ours, literal = (cones.ALGORITHMS[name](rows, 4) for name in ("our Alg2", "Alg2"))
    np.testing.assert_allclose(ours[0] @ ours[1], literal[0] @ literal[1], atol=1e-9)


QUICK = [f"and-{n}" for n in ("fig1", "fig2", "fig3", "fig4", "theorems")]
QUICK += ["cones-fig1", "cones-theorem5", "cones-table1"]
QUICK += ["merit-fig3", "merit-fig5", "merit-lemmas"]


@pytest.mark.parametrize("name", QUICK)
def test_quick_run_measures_every_clause(name):
    experiment = claims.experiment(name)
    told = []
    measured = experiment.measure(Settings(quick=True, progress=lambda f, text: told.append(f)))
    assert told and max(told) <= 1
    decisions = {j.clause.name: j.decision for j in experiment.judge(measured.tables, quick=True)}
    open_ones = {name for name, found in decisions.items() if found == "not measured"}
    assert all("real-data" in name for name in open_ones), decisions  # needs --data
    if name in ("and-theorems", "merit-lemmas"):  # theorems hold at any size
        assert set(decisions.values()) == {"holds"}, decisions
    for figure in measured.figures:
        assert all(len(x) == len(y) for _, x, y in figure.figure.series)
