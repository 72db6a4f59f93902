"""AND against its paper's double loop, and on everything the paper leaves out."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.errors import DegenerateData, InvalidInput
from provenmf.methods.and_descent.adaptive import project_to_span
from provenmf.methods.and_descent.kernels import leading_span
from provenmf.methods.and_descent.solver import StageRule, and_descent
from provenmf.metrics.recovery import total_squared_correlation_error

PAPER = StageRule(schedule="paper", n_steps=50, scale_rows=False)


def literal_and(data, start, *, stages, steps=50, alpha=0.1, decay=1.1):
    """Li17, Algorithm 1, over the whole data, in the paper's orientation and with its loops."""
    Y, A = data.T, start.T.copy()
    eta = 0.5 / A.shape[1]
    for j in range(1, stages + 1):
        Z = np.linalg.pinv(A) @ Y
        Z[Z < alpha / decay**j] = 0
        for _ in range(steps):
            A = A + eta * (Y - A @ Z) @ Z.T
    return A.T


def problem(seed, *, n=600, k=12, d=40, signed=False, scale=0.5):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-0.5, 0.5, (k, d)) if signed else rng.dirichlet(np.full(d, 0.1), k)
    weights = rng.dirichlet(np.full(k, 0.05), n)
    mixing = np.eye(k) + rng.uniform(-scale, scale, (k, k)) / np.sqrt(k)
    return weights @ truth, truth, mixing @ truth


@pytest.mark.parametrize("signed", [False, True])
def test_paper_mode_gives_the_iterates_of_the_double_loop(signed):
    data, _, start = problem(0, n=400, signed=signed)
    for stages in (1, 3, 25):
        expected = literal_and(data, start, stages=stages)
        found = and_descent(as_blocks(data), start, rule=PAPER, max_iter=stages, tol=0.0)
        difference = np.abs(found.components - expected).max() / np.abs(expected).max()
        assert difference < 1e-8
        assert len(found.trace) == stages


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_adaptive_schedule_recovers_the_truth_to_rounding(seed, signed):
    data, truth, start = problem(seed, signed=signed)
    found = and_descent(as_blocks(data), start, max_iter=100)
    assert found.stop_reason == "converged"
    assert total_squared_correlation_error(found.components, truth) < 1e-15


def test_dependent_components_are_restarted_from_the_data():
    """Rounding in the pseudo-inverse decides the course: most recover, the others say so."""
    errors = []
    for seed in range(6):
        data, truth, start = problem(seed, scale=0.1)
        start[3] = start[5]
        found = and_descent(as_blocks(data), start)
        assert found.trace["restarts"][-1] >= 1
        errors.append(total_squared_correlation_error(found.components, truth))
        assert errors[-1] < 1e-12 or found.stop_reason == "stalled"
    assert np.median(errors) < 1e-12


def test_paper_schedule_reports_dependence_and_stays_finite():
    data, _, start = problem(8)
    start[3] = start[5]
    with pytest.warns(DegenerateData, match="dependent"):
        found = and_descent(as_blocks(data), start, rule=PAPER, max_iter=5)
    assert np.isfinite(found.components).all()


def test_a_threshold_above_every_weight_is_reported_and_changes_nothing():
    data, _, start = problem(9)
    high = StageRule(schedule="paper", alpha=100.0, scale_rows=False)
    with pytest.warns(DegenerateData, match="no row uses"):
        found = and_descent(as_blocks(data), start, rule=high, max_iter=2)
    np.testing.assert_allclose(found.components, start)


def test_a_step_that_would_diverge_is_cut():
    data, truth, start = problem(10)
    many = np.tile(data, (10, 1))
    assert np.abs(literal_and(many, start, stages=2)).max() > 1e6
    found = and_descent(as_blocks(many), start, rule=PAPER, max_iter=60)
    before = total_squared_correlation_error(start, truth)
    assert total_squared_correlation_error(found.components, truth) < before / 50


def test_a_step_size_that_diverges_is_refused_by_name():
    data, _, start = problem(10)
    rule = StageRule(n_steps=50, step_size=100.0, scale_rows=False)
    with pytest.raises(InvalidInput, match="step_size=100.0 makes the gradient steps diverge"):
        and_descent(as_blocks(data), start, rule=rule)


def test_all_zero_data_are_refused():
    with pytest.raises(InvalidInput, match="zero everywhere"):
        and_descent(as_blocks(np.zeros((5, 4))), np.eye(2, 4))


@pytest.mark.parametrize("seed", range(3))
def test_a_start_far_outside_the_span_is_projected_first(seed):
    data, truth, start = problem(seed, d=200)
    rng = np.random.default_rng(seed)
    outside = rng.standard_normal(start.shape)
    outside *= np.linalg.norm(start, axis=1, keepdims=True) / np.linalg.norm(
        outside, axis=1, keepdims=True
    )
    blocks = as_blocks(data)
    found = and_descent(blocks, start + outside, rule=StageRule(project_start=True))
    assert total_squared_correlation_error(found.components, truth) < 1e-15


def test_the_leading_span_is_that_of_the_singular_vectors():
    rng = np.random.default_rng(0)
    X = rng.random((60, 5)) @ rng.random((5, 30)) + 1e-3 * rng.standard_normal((60, 30))
    scales = rng.uniform(0.5, 2.0, 60)
    span = leading_span(as_blocks(X, block_rows=17), 5, scales)
    exact = np.linalg.svd(scales[:, None] * X)[2][:5]
    np.testing.assert_allclose(span @ span.T, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(span @ exact.T)[1], 1.0, atol=1e-8)


def test_a_start_stays_where_the_data_have_too_low_a_rank():
    rng = np.random.default_rng(0)
    data, start = rng.random((50, 2)) @ rng.random((2, 9)), rng.random((4, 9))
    assert project_to_span(as_blocks(data), start, np.ones(50)) is start


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [0, 1, 7, 33])
def test_rounding_decides_nothing(seed):
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 3, (17, 8)).astype(float)  # decodes to zeros of either sign
    data[0] += 1
    start = rng.random((5, 8))
    dense, sparse = (and_descent(as_blocks(X), start) for X in (data, sp.csr_array(data)))
    assert len(dense.trace) == len(sparse.trace)
    np.testing.assert_allclose(dense.components, sparse.components, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("total, better", [(20, 90), (40, 10), (80, 2.4)])
def test_dense_weights_end_better_than_the_start_and_no_worse_than_the_paper(total, better):
    """The thresholds of the adaptive schedule come to rest above many weights of such rows."""
    k, n, d = 20, 1000, 60
    rng = np.random.default_rng(total)
    truth = rng.dirichlet(np.full(d, 0.1), k)
    data = as_blocks(rng.dirichlet(np.full(k, total / k), n) @ truth)
    start = (np.eye(k) + rng.uniform(-0.5, 0.5, (k, k)) / np.sqrt(k)) @ truth
    ours = and_descent(data, start, rule=StageRule(project_start=True))
    paper = and_descent(data, start, rule=PAPER)
    error = total_squared_correlation_error(ours.components, truth)
    assert error < total_squared_correlation_error(start, truth) / better
    assert error < 1.01 * total_squared_correlation_error(paper.components, truth)
    assert ours.stop_reason in ("max_iter", "stalled")


@pytest.mark.parametrize("noise", [1e-4, 1e-3, 1e-2])
def test_small_noise_on_binary_weights_is_not_fitted(noise):
    k, n, d = 20, 1000, 60
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.full(d, 0.1), k)
    weights = (np.argsort(np.argsort(rng.random((n, k)), axis=1), axis=1) < 3).astype(float)
    start = (np.eye(k) + rng.uniform(-0.3, 0.3, (k, k)) / np.sqrt(k)) @ truth
    data = as_blocks(weights @ truth + noise / np.sqrt(d) * rng.standard_normal((n, d)))
    errors = [
        np.sqrt(total_squared_correlation_error(found.components, truth))
        for found in (
            and_descent(data, start),
            and_descent(data, start, rule=StageRule(schedule="paper", alpha=0.25, decay=1.0)),
        )
    ]
    assert errors[0] < 1.5 * errors[1]


def test_the_threshold_of_theorem_4_follows_the_error():
    data, truth, start = problem(5)
    rule = replace(PAPER, schedule="theorem-4")
    found = and_descent(as_blocks(data), start, rule=rule, max_iter=60)
    before = total_squared_correlation_error(start, truth)
    # The theorem leaves a constant open. With one, the threshold is below the errors after a few
    # stages, and nothing is gained thereafter; the paper's schedule goes on to a thousandth.
    assert total_squared_correlation_error(found.components, truth) < before / 10
    assert (np.diff(found.trace["alpha"]) <= 0).all()
