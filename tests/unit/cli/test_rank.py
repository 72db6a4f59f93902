"""`provenmf rank`: table, JSON, and where other commands send people."""

import numpy as np
import pytest

SMALL = ("--ranks", "1-4")


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    product = rng.gamma(0.5, size=(40, 2)) @ rng.gamma(0.5, size=(2, 10))
    np.savetxt(
        tmp_path / "data.csv",
        np.maximum(product + 0.03 * rng.standard_normal((40, 10)), 0),
        delimiter=",",
    )
    return tmp_path / "data.csv"


def test_table(run, data):
    ran = run("rank", data, *SMALL)
    assert ran.code == 0, ran
    assert "held-out error" in ran.out and "components" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize(
    "options, words",
    [
        (("--ranks", "two"), "not a list of numbers"),
        (("--ranks", "²"), "not a list of numbers"),
        (("--ranks", "1-99999999999"), "too large"),
        (("--random-state", -1), "--random-state"),
    ],
)
def test_wrong_options(run, data, options, words):
    ran = run("rank", data, *options)
    assert ran.code == 2 and words in ran.err


def test_a_number_that_is_not_settled_points_here(run, tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).random((40, 12)))
    ran = run("fit", "noise.npy", "--no-report")
    assert ran.code == 2 and "`provenmf rank`" in ran.err
