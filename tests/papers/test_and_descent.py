"""What Li and Liang (2017) state, on small data."""

import numpy as np
import pytest

from provenmf.data import LocalRows, as_blocks
from provenmf.datasets.and_descent import (
    sample_dirichlet,
    sample_fresh_covariance,
    sample_logistic_normal,
    sample_signed,
    sample_sparse_binary,
    start_nearby,
    topic_components,
)
from provenmf.methods.and_descent.guarantee import general_correlation
from provenmf.methods.and_descent.solver import StageRule, and_descent
from provenmf.metrics.recovery import total_squared_correlation_error, unit_distances

PAPER = StageRule(schedule="paper", n_steps=50, scale_rows=False)
TOPICS = topic_components(30, 60, random_state=0)


def final_error(sample, rule=None, start=None, **options):
    start = start_nearby(sample.components, random_state=1) if start is None else start
    found = and_descent(as_blocks(sample.data), start, rule=rule, **options)
    return total_squared_correlation_error(found.components, sample.components), len(found.trace)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: sample_dirichlet(1000, TOPICS, random_state=seed),
        lambda seed: sample_fresh_covariance(1000, TOPICS, random_state=seed),
        lambda seed: sample_logistic_normal(1000, TOPICS, spread=30, random_state=seed),
        lambda seed: sample_signed(1000, n_components=30, n_columns=60, random_state=seed),
    ],
    ids=["DIR", "CTM fresh", "CTM one", "NEG"],
)
def test_adaptive_beats_the_paper_schedule_in_half_the_passes(draw, seed):
    sample = draw(seed)
    paper, passes = final_error(sample, PAPER, tol=0.0, max_iter=200)
    ours, our_passes = final_error(sample)
    assert our_passes <= passes / 2
    assert ours <= 2 * max(paper, 1e-20)
    if paper > 1e-6:
        assert ours <= paper / 10


def test_constant_thresholds_stop_early_for_other_weights():
    sample = sample_dirichlet(1000, TOPICS, random_state=0)
    start = start_nearby(TOPICS, in_span=0.5, random_state=1)
    decreasing, _ = final_error(sample, PAPER, start)
    for alpha in (0.1, 0.01):
        constant = StageRule(schedule="paper", n_steps=50, alpha=alpha, decay=1.0, scale_rows=False)
        assert final_error(sample, constant, start)[0] > 1e6 * decreasing


def test_theorem_5_errors_are_proportional_to_the_noise():
    length = np.median(np.linalg.norm(TOPICS, axis=1))
    factors = []
    for level in (1e-4, 1e-3, 1e-2):
        sample = sample_fresh_covariance(1000, TOPICS, noise_level=level * length, random_state=0)
        found = and_descent(as_blocks(sample.data), start_nearby(TOPICS, random_state=1))
        factors.append(unit_distances(found.components, TOPICS).max() / level)
    assert max(factors) < 1.3 * min(factors)


def test_proposition_1_corrected_by_definition_1():
    """Dirichlet(s/D): kλ = 1/(s+1) up to the factor 2 of k; binary: (D − s)/(D − 1) for k = s."""
    rng = np.random.default_rng(0)
    D, s = 10, 3.0
    dirichlet = general_correlation(LocalRows.of(rng.dirichlet(np.full(D, s / D), 200_000)))
    assert dirichlet.k * dirichlet.lam == pytest.approx(1 / (s + 1), rel=0.03)
    topics = topic_components(D, 2 * D, random_state=0)
    sample = sample_sparse_binary(100_000, topics, n_ones=3)
    binary = general_correlation(LocalRows.of(sample.weights))
    assert binary.k * binary.lam == pytest.approx(3 * (D - 3) / (D - 1), rel=0.05)
