"""What Nguyen22 says about SPA and FastGradient on its synthetic data, on a few trials."""

import numpy as np
import pytest

from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.reproduce.claims import Settings
from provenmf.reproduce.merit import MEASURES, METHODS, middle, trials_of


def measured(generate, levels, methods, trials):
    """Success, MRSA and RAE: method -> (levels, 3)."""
    chosen = {m: METHODS[m] for m in methods}
    tables = trials_of(generate, "level", levels, trials, Settings(), chosen)
    return {m: np.array([[row[m] for row in tables[n]] for n in MEASURES]).T for m in methods}


def rates(generate, level, methods=("SPA", "FastGradient"), trials=6):
    found = measured(generate, [level], methods, trials)
    return {method: found[method][0] for method in methods}


def test_fig2_fast_gradient_reaches_success_between_12_and_18_db_and_spa_does_not():
    assert rates(middle, 12)["FastGradient"][0] == 0
    found = rates(middle, 18)
    assert found["FastGradient"][0] == 1
    assert found["SPA"][0] == 0
    assert rates(middle, 25)["SPA"][0] == 1


def test_table1_rae_and_deterioration_of_spa():
    def generate(k, seed):
        return dirichlet_mixtures(200, 80, int(k), snr=10, random_state=seed)

    few, many = rates(generate, 40, ("SPA",)), rates(generate, 70, ("SPA",))
    assert few["SPA"][0] >= 0.8
    assert many["SPA"][0] <= 0.2
    assert few["SPA"][2] == pytest.approx(0.7686, abs=0.004)
    assert many["SPA"][2] == pytest.approx(0.8022, abs=0.005)


def test_trials_do_not_depend_on_the_other_levels():
    alone = measured(middle, [20], ("SPA",), 3)["SPA"][0]
    among = measured(middle, [10, 20], ("SPA",), 3)["SPA"][1]
    np.testing.assert_array_equal(alone, among)
