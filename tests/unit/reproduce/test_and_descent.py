import itertools

import numpy as np
import pytest

from provenmf.datasets.and_descent import sample_dirichlet, start_nearby, topic_components
from provenmf.reproduce.and_courses import COMPETITORS, PAPER, and_stages, course, literal_and
from provenmf.reproduce.and_descent import EXPERIMENTS
from provenmf.reproduce.experiment import Settings

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


@pytest.fixture(scope="module")
def small():
    topics = topic_components(8, 30, random_state=0)
    return sample_dirichlet(120, topics, random_state=0), start_nearby(topics, random_state=0)


def test_our_stages_are_the_literal_ones(small):
    sample, start = small
    pairs = zip(literal_and(sample.data, start), and_stages(PAPER)(sample.data, start))
    for literal, ours in itertools.islice(pairs, 4):
        np.testing.assert_allclose(ours, literal, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["HALS", "ANLS", "MU"])
def test_competitors_reduce_their_own_objective(small, name):
    sample, start = small
    steps = COMPETITORS[name](sample.data, start)

    def residual(components):
        weights = np.maximum(sample.data @ np.linalg.pinv(components), 0)
        return np.linalg.norm(sample.data - weights @ components)

    first = residual(np.maximum(start, 0))
    assert residual(next(itertools.islice(steps, 9, None))) < first


def test_a_course_stops_at_its_limits(small):
    sample, start = small
    points = course(and_stages(PAPER), sample.data, start, sample.components, passes=5)
    assert len(points) == 5 and points[-1].squared_error < points[0].squared_error
    until = 2 * points[2].squared_error
    shorter = course(
        and_stages(PAPER), sample.data, start, sample.components, passes=5, until_squared=until
    )
    assert len(shorter) <= 3


def last_errors(outcome, table):
    return {row["method"]: row["error"] for row in outcome.tables[table]}


def test_figure_1_and_beats_the_others():
    outcome = BY_NAME["and-fig1"].run(Settings(quick=True))
    assert outcome.holds and len(outcome.figures) == 4
    errors = last_errors(outcome, "DIR")
    assert errors["AND, adaptive"] < 1e-8 < errors["AND"] < errors["MU"]
    assert errors["AND"] < errors["LDA"]
    assert set(last_errors(outcome, "NEG")) == {"AND", "AND, adaptive"}


def test_figure_2_thresholds_must_fall_and_errors_follow_the_noise():
    outcome = BY_NAME["and-fig2"].run(Settings(quick=True))
    assert outcome.holds
    noise = outcome.tables["Noise"]
    ratios = [row["adaptive"] / row["noise level"] for row in noise]
    assert max(ratios) < 1.5 * min(ratios)


@pytest.mark.parametrize("name", ["and-fig3", "and-fig4"])
def test_figures_3_and_4_report_both_schedules(name):
    seen = []
    outcome = BY_NAME[name].run(Settings(quick=True, progress=lambda f, text: seen.append(f)))
    assert seen == sorted(seen) and seen
    tables = {name: rows for name, rows in outcome.tables.items() if "beyond" not in name}
    assert tables
    for rows in tables.values():
        ours = [row for row in rows if "adaptive" in row["method"]]
        assert len(ours) == len(rows) / 2
        assert all(row["error"] < 1e-2 * row["error at the start"] for row in ours)
