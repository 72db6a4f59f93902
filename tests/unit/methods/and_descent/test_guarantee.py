"""Definition 1 and the conditions of Li and Liang's theorems, computed by hand."""

import math

import numpy as np
import pytest

from provenmf import AND
from provenmf.data import LocalRows
from provenmf.datasets.and_descent import sample_sparse_binary, start_nearby, topic_components
from provenmf.methods.and_descent.guarantee import (
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


def test_decay_order():
    uniform = (np.arange(1, 1001) / 1000)[:, None]
    assert decay_order(LocalRows.of(uniform)) == pytest.approx(1.0, rel=0.01)
    assert decay_order(LocalRows.of(uniform ** (1 / 3))) == pytest.approx(3.0, rel=0.01)
    in_parts = LocalRows(1000, np.split(uniform, [10, 700]))
    assert decay_order(in_parts) == decay_order(LocalRows.of(uniform))
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
    open_ones = [c.status for (n, _), c in checks.items() if "small enough" in n or "decay" in n]
    assert len(open_ones) > 2 and set(open_ones) == {"unknown"}
    measures = model.certificate_.measures
    assert measures["gcc_r"] == pytest.approx(2.0, rel=1e-4)
    assert measures["gcc_k"] == pytest.approx(1.0, rel=0.15)
    assert measures["noise_level"] < 1e-8
    assert "relative_error" not in model.certificate_.bounds
