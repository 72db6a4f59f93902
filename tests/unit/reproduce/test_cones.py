import math

import numpy as np
import pytest

from provenmf.datasets.cones import paper_cones
from provenmf.reproduce.cones import (
    ALGORITHMS,
    EXPERIMENTS,
    alternating_least_squares,
    literal_algorithm_2,
    relative_error,
)
from provenmf.reproduce.experiment import Settings


@pytest.fixture(scope="module")
def rows():
    return paper_cones(120, n_columns=50, n_components=4, random_state=0).data


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_factorizes(rows, name):
    weights, components = ALGORITHMS[name](rows, 4)
    assert weights.shape == (120, 4) and components.shape == (4, 50)
    assert weights.min() >= 0 and components.min() >= 0
    assert relative_error(rows, (weights, components)) < math.sin(0.3)


def test_ours_equals_the_literal_algorithm(rows):
    ours, literal = ALGORITHMS["Alg2"](rows, 4), literal_algorithm_2(rows, 4)
    np.testing.assert_allclose(ours[0] @ ours[1], literal[0] @ literal[1], atol=1e-9)


def test_a_good_start_helps_alternating_least_squares(rows):
    start = ALGORITHMS["Alg2"](rows, 4)
    refined = alternating_least_squares(rows, 4, start[1])
    assert relative_error(rows, refined) <= relative_error(rows, start) + 1e-12


def test_figure_1_reports_errors_below_all_bounds():
    outcome = EXPERIMENTS[0].run(Settings(quick=True))
    assert outcome.holds
    (table,) = outcome.tables.values()
    for row in table:
        assert row["Alg2"] < row["measured cones"] < row["Theorem 5"] < row["Theorem 4"]
        assert row["Theorem 5"] < row["Theorem 5, 99 %"] < row["Theorem 4"]
    names = {series.name for series in outcome.figures[1].series}
    assert names == {"Alg2", "Als", "Mult", "Alg2+Als", "Alg2+HALS"}


def test_table_1_reports_seconds_and_progress():
    seen = []
    outcome = EXPERIMENTS[1].run(Settings(quick=True, progress=lambda f, text: seen.append(text)))
    (table,) = outcome.tables.values()
    assert [row["n"] for row in table] == [100, 1000]
    assert all(row[name] > 0 for row in table for name in ALGORITHMS)
    assert "n = 100, Alg2" in seen
