"""The experiments of Nguyen22 at their quick size."""

import sys

import numpy as np
import pytest

from provenmf.reproduce.experiment import Settings
from provenmf.reproduce.merit import EXPERIMENTS, _significantly_behind
from provenmf.reproduce.merit_trials import METHODS, peak_megabytes

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


@pytest.mark.parametrize("name", ["merit-fig3", "merit-fig5", "merit-table1"])
def test_quick_run(name):
    told = []
    outcome = BY_NAME[name].run(Settings(quick=True, progress=lambda f, text: told.append(f)))
    assert outcome.verdict
    assert told and max(told) < 1
    for rows in outcome.tables.values():
        assert len({tuple(row) for row in rows}) == 1  # the same columns in every row
        assert all(np.isfinite(value) for row in rows for value in row.values())
    for figure in outcome.figures:
        assert all(len(series.x) == len(series.y) for series in figure.series)


def test_merit_beats_spa_on_middle_points():
    outcome = BY_NAME["merit-fig2"].run(Settings(quick=True))
    (rows,) = outcome.tables.values()
    at_14 = next(row for row in rows if row["SNR (dB)"] == 14)
    assert at_14["MERIT"] == 1 and at_14["SPA"] == 0
    assert set(METHODS) <= set(at_14)


@pytest.mark.skipif(sys.platform != "linux", reason="the high-water mark is reset on Linux only")
def test_memory_of_the_quadratic_method_is_seen():
    assert peak_megabytes("FastGradient", 1500) > 0.8 * 3 * 8 * 1500**2 / 2**20  # three n × n


def test_behind_means_beyond_two_standard_errors():
    ours, theirs = np.array([0.5, 0.5, 1.0, 0.0]), np.array([0.6, 0.8, 0.9, 0.0])
    assert _significantly_behind(ours, theirs, 50) == [False, True, False, False]
