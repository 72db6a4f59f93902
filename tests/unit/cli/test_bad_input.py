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


WRONG = [
    ("fit nowhere.csv -k 2", ["nowhere.csv does not exist"]),
    ("fit words.csv -k 2 -m spa", ["words.csv, row 1, column 2: 'd' is not"]),
    ("fit nan.csv -k 1 -m spa", ["nan.csv", "NaN"]),
    ("fit gap.csv -k 1 -m spa", ["row 2, column 3: the value is missing"]),
    ("fit good.csv -k 2 -m magic", ["magic", "spa"]),
    ("fit good.csv -k 99 -m spa", ["99"]),
    ("fit good.csv -k 0", ["'-k': "]),
    ("fit good.csv -k 2 -o missing/r.npz", ["missing"]),
    ("fit good.csv -k 2 -o folder.npz", ["folder"]),
    ("fit good.csv -k 2 -o .", ["names no file"]),
    ("fit text.npy -k 1 -m spa", ["text.npy", "save it again"]),
    ("topics cube.npz --vocabulary good.txt -k 2 -m spa", ["good.txt", "3"]),
    (
        "fit signed.csv -k 1",
        ["set them to zero", "or use a method that allows them", "--method 'spa'"],
    ),
    ("fit evil.npz -k 1 -m spa", ["evil.npz", "refused"]),
    ("report foreign.npz", ["foreign.npz"]),
    ("report good.csv", ["is not a provenmf result: give the .npz file"]),
    ("topics empty.txt -k 2", ["empty.txt"]),
    ("topics stop.txt -k 2 -m spa", ["stop.txt: no word is left", "stop words"]),
    (
        "topics good.txt -k 2 --stop-words klingon",
        ["--stop-words 'klingon' is neither a language", "german, "],
    ),
    (f"topics good.txt -k 2 --stop-words {'b' * 300}", ["is neither a language"]),
    ("fit good.csv -k 2 --groups cube.npz", ["cube.npz"]),
    ("topics gap.csv -k 2", ["it has name, a, b", "--field"]),
    ("topics corner.csv -k 2", ["it has a, b;"]),
    ("unmix good.csv -k 2", ["holds no cube: use one of .npz, .npy, .mat, .hdr, .tif"]),
    ("fit good.csv -k 2 -m spa --memory 1KB", ["do without the certificate (--no-certify)"]),
    ("communities empty.csv -k 2", ["empty.csv"]),
    ("unmix cube.npy -k 3 --shape wide", ["wide", "95x95"]),
    ("reproduce fig99", ["fig99", "lists them"]),
    ("fit good.csv -k 2 -m spa --max-iter 3", ["--max-iter 3 is not an option"]),
]


@pytest.mark.parametrize(("command", "words"), WRONG)
def test_a_mistake_is_answered_in_one_line_and_leaves_no_file(run, tmp_path, command, words):
    tables = {
        "words": "a,b\nc,d\n",
        "nan": "1,nan\n2,3\n",
        "corner": ",a,b\nx,1,2\n",
        "gap": "name,a,b\nx,1,2\ny,3,\n",
        "good": "1,2\n3,1\n2,2\n",
        "signed": "1,-2\n3,4\n1,2\n",
        "empty": "",
    }
    for name, text in tables.items():
        (tmp_path / f"{name}.csv").write_text(text)
    texts = {"empty": "\n\n", "stop": "the and of\nand the of\n", "good": "ship sail\nsail ship\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    np.savez(tmp_path / "evil.npz", a=np.array([{"x": 1}], dtype=object))
    np.savez(tmp_path / "foreign.npz", a=np.ones(3))
    np.save(tmp_path / "cube.npy", np.ones((3, 3, 3)))
    np.savez(tmp_path / "cube.npz", counts=np.ones((3, 3)))
    (tmp_path / "text.npy").write_bytes(b"not an array")
    (tmp_path / "folder.npz").mkdir()
    before = sorted(tmp_path.iterdir())
    assert_refused(run(*command.split()), *words)
    assert sorted(tmp_path.iterdir()) == before


def test_output_folder_without_permission(run, separable, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("provenmf.io.files._neighbour", refuse)
    ran = run("fit", separable, "-k", 2, "-o", "locked.npz")
    assert_refused(ran, "locked.npz", "Permission denied")


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


def test_messages_name_the_file_and_the_option(run, tmp_path):
    """What the library calls encoding='latin-1' is --encoding 'latin-1' to who typed a command."""
    (tmp_path / "old.txt").write_bytes("one\nbl\xe9".encode("latin-1"))
    assert_refused(run("topics", "old.txt", "-k", 2), "old.txt", "--encoding 'latin-1'")
    (tmp_path / "one.txt").write_text("a single document\n")
    assert_refused(run("topics", "one.txt", "-k", 2), "one.txt: the corpus has 1 document")
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "a.bin").write_bytes(b"\x00\x01")
    assert_refused(run("topics", "letters", "-k", 2), "a.bin", "take it out of the folder")
    np.save(tmp_path / "x.npy", np.eye(4))
    ran = run("fit", "x.npy", "-k", 9, "-m", "spa")
    assert_refused(ran, "x.npy: -k 9 exceeds 4", "choose -k <= 4")
    two_spectra = np.repeat([[1.0, 2.0, 3.0], [3.0, 1.0, 1.0]], 8, axis=0)
    np.save(tmp_path / "cube.npy", two_spectra.reshape(4, 4, 3))
    ran = run("parts", "cube.npy", "-k", 9)
    assert_refused(ran, "-k 9 must be", "the 4 images")
    ran = run("unmix", "cube.npy", "-k", 3)
    assert_refused(ran, "-k 3 must be", "the 2 groups of pixels (group=False in Python has more)")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["fit", "data.csv", "--bogus"], "No such option: --bogus"),
        (["fit", "data.csv", "--n-componets", 3], "--n-components"),
        (["fit", "data.csv", "-k", "four"], "'--n-components' / '-k'"),
        (["fit"], "Missing argument 'data'"),
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


def test_wide_data_are_noticed(run, tmp_path):
    matrix = np.random.default_rng(0).random((4, 30))
    np.savetxt(tmp_path / "wide.csv", matrix, delimiter=",")
    wide = run("fit", "wide.csv", "-k", 2, "-m", "spa", "--no-report")
    assert "--transpose" in wide.out
    turned = run("fit", "wide.csv", "-k", 2, "-m", "spa", "--no-report", "--transpose")
    assert turned.code == 0 and "--transpose" not in turned.out
