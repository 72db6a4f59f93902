"""Definition 1 and the conditions of Li and Liang's theorems, computed by hand."""

import math

import numpy as np
import pytest

from provenmf import AND
from provenmf.data import LocalRows
from provenmf.datasets.and_descent import sample_sparse_binary, start_nearby, topic_components
from provenmf.methods.and_descent.guarantee import (
    NONZERO,
    Correlation,
    decay_order,
    general_correlation,
    theorem_1_ratio,
    theorem_4_ratio,
)


def test_definition_1_by_hand():
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [0.0, 0.0]])
    # Δ = [[2, 0.5], [0.5, 1.25]] / 4, D = 2
    c = general_correlation(LocalRows.of(weights))
    assert c.r == 1.5
    assert c.k == pytest.approx(0.5 * 2 / 2)
    assert c.m == pytest.approx(0.125 * 4)
    smallest = np.linalg.eigvalsh(np.array([[2, 0.5], [0.5, 1.25]]) / 4)[0]
    assert c.lam == pytest.approx(smallest * 2 / c.k)


def test_definition_1_holds_for_the_measured_numbers():
    weights = np.random.default_rng(0).dirichlet(np.full(6, 0.3), 500)
    c = general_correlation(LocalRows.of(weights))
    moments = weights.T @ weights / 500
    off = moments[~np.eye(6, dtype=bool)]
    assert np.diag(moments).max() <= 2 * c.k / 6 * (1 + 1e-12)
    assert off.max() <= c.m / 36 * (1 + 1e-12)
    assert np.linalg.eigvalsh(moments)[0] >= c.k / 6 * c.lam * (1 - 1e-9)


def test_moments_of_the_dirichlet_distribution():
    """E[x_i x_j] = s/((s+1)D²): Proposition 1 of the paper states something else."""
    D, s = 10, 2.0
    weights = np.random.default_rng(0).dirichlet(np.full(D, s / D), 200_000)
    c = general_correlation(LocalRows.of(weights))
    assert c.m == pytest.approx(s / (s + 1), rel=0.05)


def test_decay_order():
    uniform = (np.arange(1, 1001) / 1000)[:, None]
    assert decay_order(LocalRows.of(uniform)) == pytest.approx(1.0)
    assert decay_order(LocalRows.of(uniform ** (1 / 3))) == pytest.approx(3.0)
    assert decay_order(LocalRows.of(np.array([[1.0], [0.0], [1.0]]))) == math.inf


def test_ratios_by_hand():
    c = Correlation(r=2.0, k=3.0, m=5.0, lam=0.5, D=100)
    assert theorem_1_ratio(c) == pytest.approx(5 / (3 * 100 * 0.5**4 / 2**5))
    expected = 5 / (3 * 100**0.5 * 0.5**6 / 2**7)
    assert theorem_4_ratio(c, 2.0) == pytest.approx(expected)
    assert theorem_4_ratio(c, math.inf) == pytest.approx(theorem_1_ratio(c))
    assert theorem_4_ratio(c, 0.0) == math.inf


def test_nothing_that_rests_on_an_unknown_constant_holds():
    topics = topic_components(6, 30, random_state=0)
    sample = sample_sparse_binary(500, topics, n_ones=2, random_state=0)
    model = AND(6, init=start_nearby(topics, random_state=0)).fit(sample.data)
    checks = {(check.name, check.theorem): check for check in model.certificate_.checks}
    assert checks["decoded weights are 0 or 1", "Li17 Theorems 1, 5"].status == "holds"
    for (name, _), check in checks.items():
        if "small enough" in name or "decay" in name:
            assert check.status == "unknown" and check.value is not None
    measures = model.certificate_.measures
    assert measures["gcc_r"] == pytest.approx(2.0, rel=1e-4)
    assert measures["gcc_k"] == pytest.approx(1.0, rel=0.15)
    assert measures["noise_level"] < 1e-8
    assert "relative_error" not in model.certificate_.bounds


DRAWS = {
    "uniform": lambda rng, shape: rng.random(shape),
    "steep": lambda rng, shape: rng.random(shape) ** 4,
    "flat": lambda rng, shape: rng.random(shape) ** 0.2,
    "ties": lambda rng, shape: np.round(rng.random(shape), 1),
    "binary": lambda rng, shape: (rng.random(shape) < 0.5) * 1.0,
    "rare": lambda rng, shape: rng.random(shape) * (rng.random(shape) < 0.1),
    "nearly one": lambda rng, shape: 1 - 2.0**-45 * rng.random(shape),
}


def by_sorting(weights):
    order = math.inf
    for column in weights.T:
        values = np.sort(column[column > NONZERO])
        below = values[values < 1]
        shares = np.arange(1, len(below) + 1) / max(1, len(values))
        order = min(order, np.min(np.log(shares) / np.log(below), initial=math.inf))
    return max(order, 0.0)


def in_parts(weights, rng):
    parts = np.split(weights, np.sort(rng.integers(0, len(weights) + 1, 4)))
    return LocalRows(len(weights), parts)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_counts_find_the_least(draw):
    rng = np.random.default_rng(0)
    for n in (1, 2, 50, 2000):
        weights = draw(rng, (n, 3))
        weights[0] = 1.0
        assert decay_order(LocalRows.of(weights)) == by_sorting(weights)
        assert decay_order(in_parts(weights, rng)) == pytest.approx(by_sorting(weights), rel=1e-11)
