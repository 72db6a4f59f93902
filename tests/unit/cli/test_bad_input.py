"""Bad input: one clear line with a remedy, exit code 2, no traceback, nothing half-written."""

import numpy as np
import pytest


def assert_refused(ran, *words: str) -> None:
    assert ran.code == 2, ran
    assert "Traceback" not in ran.err
    lines = [line for line in ran.err.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, ran
    for word in words:
        assert word in lines[0], ran


def test_missing_file(run):
    assert_refused(run("fit", "nowhere.csv", "-k", 2), "nowhere.csv")


def test_not_numbers(run, tmp_path):
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    assert_refused(run("fit", "words.csv", "-k", 2, "-m", "spa"), "words.csv")


def test_missing_values(run, tmp_path):
    np.savetxt(tmp_path / "nan.csv", [[1.0, np.nan], [2.0, 3.0]], delimiter=",")
    assert_refused(run("fit", "nan.csv", "-k", 1, "-m", "spa"), "NaN")


def test_unknown_method(run, separable):
    assert_refused(run("fit", separable, "-k", 2, "-m", "magic"), "magic", "spa")


def test_too_many_components(run, separable):
    assert_refused(run("fit", separable, "-k", 99, "-m", "spa"), "99")


def test_a_pickle_is_refused(run, tmp_path):
    np.savez(tmp_path / "evil.npz", a=np.array([{"x": 1}], dtype=object))
    assert_refused(run("fit", "evil.npz", "-k", 1, "-m", "spa"), "evil.npz", "refused")


def test_a_foreign_file_is_no_result(run, tmp_path):
    np.savez(tmp_path / "foreign.npz", a=np.ones(3))
    assert_refused(run("report", "foreign.npz"), "foreign.npz")


def test_output_folder_is_checked_before_the_work(run, separable, tmp_path):
    assert_refused(run("fit", separable, "-k", 2, "-o", "missing/r.npz"), "missing")
    assert_refused(run("fit", separable, "-k", 2, "-o", tmp_path), "folder")


def test_output_folder_without_permission(run, separable, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("provenmf.io.files._open_neighbour", refuse)
    ran = run("fit", separable, "-k", 2, "-o", "locked.npz")
    assert_refused(ran, "locked.npz", "Permission denied")


def test_empty_corpus(run, tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    assert_refused(run("topics", "empty.txt", "-k", 2), "empty.txt")


def test_stop_words_only(run, tmp_path):
    (tmp_path / "stop.txt").write_text("the and of\nand the of\n")
    assert_refused(run("topics", "stop.txt", "-k", 2, "-m", "spa"), "stop words")


def test_vocabulary_that_does_not_fit(run, counts, tmp_path):
    matrix, _ = counts
    (tmp_path / "short.txt").write_text("one\ntwo\n")
    ran = run("topics", matrix, "--vocabulary", "short.txt", "-k", 2, "-m", "spa")
    assert_refused(ran, "short.txt", "12")


def test_graph_without_edges(run, tmp_path):
    (tmp_path / "none.txt").write_text("")
    assert_refused(run("communities", "none.txt", "-k", 2, "-m", "spa"), "none.txt")


def test_shape_that_is_none(run, cube):
    assert_refused(run("unmix", cube, "-k", 3, "--shape", "wide"), "wide", "95x95")


def test_unknown_model_and_parameter(run):
    assert_refused(run("generate", "magic"), "magic", "separable")
    assert_refused(run("generate", "separable", "--set", "colour=1"), "colour")
    assert_refused(run("generate", "network", "-d", 5), "--columns")


def test_unknown_experiment(run):
    assert_refused(run("reproduce", "fig99"), "fig99", "--list")


def test_no_experiment_named(run):
    assert_refused(run("reproduce"), "--list")


def test_unknown_option_is_explained(run, separable):
    ran = run("fit", separable, "--colour", "red")
    assert ran.code == 2
    assert "--colour" in ran.err


def test_a_bug_is_shown_as_a_bug(run, separable, monkeypatch):
    """A ValueError from inside is not the user's fault."""

    def broken(*arguments, **options):
        raise ValueError("shapes (3,) and (4,) are not aligned")

    monkeypatch.setattr("provenmf.methods.separable.spa.spa", broken)
    ran = run("fit", separable, "-k", 2, "-m", "spa")
    assert ran.code == 1
    assert "Traceback" in ran.err and "not aligned" in ran.err
    assert "This is a bug in provenmf" in ran.err
    assert not [line for line in ran.err.splitlines() if line.startswith("Error: ")]


def test_debug_shows_the_traceback(run, separable):
    from provenmf.errors import InvalidInput

    with pytest.raises(InvalidInput):
        run("fit", separable, "-k", 2, "-m", "magic", "--debug")


def test_a_failed_run_leaves_no_files(run, separable, tmp_path):
    before = sorted(tmp_path.iterdir())
    run("fit", separable, "-k", 99, "-m", "spa")
    assert sorted(tmp_path.iterdir()) == before


def test_control_characters_do_not_reach_the_terminal(run, tmp_path):
    evil = "evil\x1b[31mword"
    (tmp_path / "words.txt").write_text("\n".join([evil, *(f"w{i}" for i in range(5))]))
    rng = np.random.default_rng(0)
    np.save(tmp_path / "counts.npy", rng.poisson(2.0, (30, 6)).astype(float))
    ran = run("topics", "counts.npy", "--vocabulary", "words.txt", "-k", 2, "-m", "spa")
    assert ran.code == 0, ran
    assert "\x1b" not in ran.out


def test_messages_name_the_file_and_the_option(run, tmp_path):
    """What the library calls encoding='latin-1' is --encoding 'latin-1' to who typed a command."""
    (tmp_path / "old.txt").write_bytes("one\nbl\xe9".encode("latin-1"))
    assert_refused(run("topics", "old.txt", "-k", 2), "old.txt", "--encoding 'latin-1'")
    (tmp_path / "one.txt").write_text("a single document\n")
    assert_refused(run("topics", "one.txt", "-k", 2), "one.txt: the corpus has 1 document")
    (tmp_path / "stop.txt").write_text("the and\nand of\nof the\n")
    assert_refused(run("topics", "stop.txt", "-k", 2), "stop.txt: no word is left")
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "a.bin").write_bytes(b"\x00\x01")
    assert_refused(run("topics", "letters", "-k", 2), "a.bin", "with --skip-unreadable")
    np.save(tmp_path / "x.npy", np.eye(4))
    ran = run("fit", "x.npy", "-k", 9, "-m", "spa")
    assert_refused(ran, "x.npy: -k 9 exceeds 4", "choose -k <= 4")
    two_spectra = np.repeat([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]], 8, axis=0)
    np.save(tmp_path / "cube.npy", two_spectra.reshape(4, 4, 3))
    ran = run("parts", "cube.npy", "-k", 9)
    assert_refused(ran, "-k 9 must be", "the 4 images")
    ran = run("unmix", "cube.npy", "-k", 3)
    assert_refused(ran, "-k 3 must be", "the 2 groups of pixels (group=False in Python has more)")


@pytest.mark.parametrize("content", [b"not an array", None])
def test_npy_that_is_no_matrix_of_numbers(run, tmp_path, content):
    if content is None:
        np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object))
    else:
        (tmp_path / "x.npy").write_bytes(content)
    ran = run("fit", "x.npy", "-k", 1, "-m", "spa")
    assert_refused(ran, "x.npy", "save it again")
    assert "allow_pickle" not in ran.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["fit", "data.csv", "--bogus"], "No such option: --bogus"),
        (["fit", "data.csv", "--n-componets", 3], "--n-components"),
        (["fit", "data.csv", "-k", "four"], "'--n-components' / '-k'"),
        (["fit"], "Missing argument 'DATA'"),
        (["fitt", "data.csv"], "No such command 'fitt'"),
        (["demo", "extra"], "extra"),
        (["--bogus"], "No such option: --bogus"),
    ],
)
def test_a_misspelt_command_is_answered_with_one_line_that_names_the_help(run, command, said):
    ran = run(*command)
    assert ran.code == 2
    assert ran.out == ""
    lines = ran.err.strip().splitlines()
    assert len(lines) == 1, ran
    assert said in lines[0], ran
    assert "--help" in lines[0], ran


def test_without_a_command_the_help_is_shown(run):
    ran = run()
    assert ran.code == 0
    assert "provenmf demo" in ran.out


def test_a_number_of_components_below_one_is_named_plainly(run, separable):
    ran = run("fit", separable, "-k", 0)
    assert ran.code == 2
    assert "-k 0 must be at least 1" in ran.err, ran


def test_stop_words_of_no_language_and_no_file(run, corpus):
    ran = run("topics", corpus, "-k", 2, "--stop-words", "klingon")
    assert_refused(ran, "--stop-words 'klingon' is neither a language nor a file", "german, ")


def test_a_table_without_the_column_of_texts_names_the_option(run, tmp_path):
    (tmp_path / "posts.csv").write_text("year,body\n1,ship and sail\n2,bread\n")
    assert_refused(run("topics", "posts.csv", "-k", 2), "it has year, body", "--field")
