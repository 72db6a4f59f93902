"""`provenmf rank`: table, page, JSON, and where other commands send people."""

import json

import numpy as np
import pytest

SMALL = ("--ranks", "1-4", "--repeats", 2)


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


def test_table_and_page(run, data, tmp_path):
    ran = run("rank", data, *SMALL, "-o", "page.html")
    assert ran.code == 0, ran
    assert "held-out error" in ran.out and "components" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    page = (tmp_path / "page.html").read_text()
    assert "What each kind of evidence says" in page and "singular value" in page
    again = run("rank", data, *SMALL, "-o", "page.html")
    assert again.code == 2 and "exists" in again.err


def test_json(run, data):
    found = json.loads(run("rank", data, *SMALL, "--json").out)
    assert found["ranks"] == [1, 2, 3, 4] and found["n_components"] == 2


@pytest.mark.parametrize(
    "options, words",
    [
        (("--ranks", "two"), "not a list of numbers"),
        (("--ranks", "²"), "not a list of numbers"),
        (("--ranks", "1-99999999999"), "too large"),
        (("-o", "x.npz"), "end it in .html"),
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
