"""Messages about common mistakes: in the reader's words, with what to do."""

import numpy as np


def test_a_missing_value_and_a_word_are_named_by_row_and_column(run, tmp_path):
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n3,\n5,6\n")
    ran = run("fit", "gap.csv", "-k", 1, "-m", "spa")
    assert ran.code == 2 and "row 2, column 2: the value is missing" in ran.err
    (tmp_path / "word.csv").write_text("1,2\n3,sale\n")
    ran = run("fit", "word.csv", "-k", 1)
    assert "row 2, column 2: 'sale' is not a number" in ran.err
    (tmp_path / "named.csv").write_text("name,a,b\nx,1,2\ny,3,\n")
    assert "row 2, column 3" in run("fit", "named.csv", "-k", 1, "-m", "spa").err


def test_data_given_to_report_are_no_result(run, separable):
    ran = run("report", separable)
    assert ran.code == 2 and "is not a provenmf result: give the .npz file" in ran.err


def test_an_array_of_edges_is_a_graph(run, tmp_path):
    groups = [(i, j) for start in (0, 10) for i in range(start, start + 6) for j in range(i)]
    edges = [(i, j) for i, j in groups if (i < 10) == (j < 10)]
    np.save(tmp_path / "edges.npy", np.array([*edges, (0, 10)]))
    ran = run("communities", "edges.npy", "-k", 2, "--no-report")
    assert ran.code == 0, ran


def test_negative_data_get_the_remedy(run, tmp_path):
    np.savetxt(tmp_path / "signed.csv", [[1.0, -2.0], [3.0, 4.0], [1.0, 2.0]], delimiter=",")
    ran = run("fit", "signed.csv", "-k", 1)
    assert ran.code == 2 and "set them to zero, or use a method that allows them" in ran.err
    assert "--method 'spa'" in ran.err


def test_a_flag_takes_no_value(run):
    lines = run("fit", "--help").out.splitlines()
    assert not any("--json" in line and "bool" in line.lower() for line in lines)


def test_help_speaks_of_seeds_and_numbers(run):
    text = " ".join((run("--help").out + run("topics", "--help").out).split())
    for phrase in ("Left out: found out", "Start of the random numbers", "stands beside it"):
        assert phrase not in text
    assert "Number of topics" in text and "Random seed" in text


def test_wide_data_are_noticed(run, tmp_path):
    matrix = np.random.default_rng(0).random((4, 30))
    np.savetxt(tmp_path / "wide.csv", matrix, delimiter=",")
    wide = run("fit", "wide.csv", "-k", 2, "-m", "spa", "--no-report")
    assert "--transpose" in wide.out
    turned = run("fit", "wide.csv", "-k", 2, "-m", "spa", "--no-report", "--transpose")
    assert turned.code == 0 and "--transpose" not in turned.out
