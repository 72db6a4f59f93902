"""`provenmf fit` with empty cells and with known components."""

import json

import numpy as np
import pytest

import provenmf


@pytest.fixture
def with_gaps(tmp_path):
    rng = np.random.default_rng(0)
    rows = (rng.random((20, 2)) @ rng.random((2, 5))).round(4).astype(str)
    rows[0, 1], rows[3, 4], rows[7, 0] = "", "NA", "nan"
    path = tmp_path / "gaps.csv"
    lines = ["name,a,b,c,d,e"] + [",".join([f"r{i}", *row]) for i, row in enumerate(rows)]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("method", ["auto", "hals", "anls"])
def test_empty_cells_are_missing(run, with_gaps, tmp_path, method):
    ran = run("fit", with_gaps, "-k", 2, "-m", method, "-o", "r.npz", "--no-report", "--json")
    assert ran.code == 0, ran
    found = json.loads(ran.out)
    assert found["n_rows"] == 20 and "are missing" in found["certificate"]["verdict"]
    record = provenmf.load(tmp_path / "r.npz")
    assert record.row_names[0] == "r0" and np.isfinite(record.weights).all()


def test_methods_that_need_all_entries_say_which_is_missing(run, with_gaps):
    ran = run("fit", with_gaps, "-k", 2, "-m", "spa", "--no-report")
    assert ran.code == 2
    assert "row 1, column 3: the value is missing" in ran.err
    assert "hals and anls work with missing values" in ran.err
    with_gaps.write_text(with_gaps.read_text().replace("NA", "much"))
    ran = run("fit", with_gaps, "-k", 2, "--no-report")
    assert ran.code == 2 and "row 4, column 6: 'much' is not a number" in ran.err


def test_known_components_are_kept(run, separable, tmp_path):
    known = np.random.default_rng(1).random((2, 8))
    np.save(tmp_path / "known.npy", known)
    ran = run(
        "fit", separable, "-k", 3, "--known-components", "known.npy", "-o", "r.npz", "--no-report"
    )
    assert ran.code == 0, ran
    np.testing.assert_array_equal(provenmf.load(tmp_path / "r.npz").components[:2], known)
    ran = run(
        "fit", separable, "-k", 3, "-m", "spa", "--known-components", "known.npy", "--no-report"
    )
    assert ran.code == 2 and "--known-components" in ran.err and "is not an option of" in ran.err
