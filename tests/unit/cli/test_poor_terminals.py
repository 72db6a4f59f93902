"""Commands where Python has few letters, no docstrings, no folders or no streams."""

import os
import subprocess
import sys

import numpy as np
import pytest


def run(arguments, folder, flags=(), **environment):
    return subprocess.run(
        [sys.executable, *flags, "-m", "provenmf", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
    )


def test_letters_that_the_terminal_lacks_are_shown_by_number(tmp_path):
    texts = "ship sail wave f\u00f6hn\nbread oven flour\n" * 8
    (tmp_path / "t.txt").write_text(texts, encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    arguments = ["topics", "t.txt", "-k", "2", "-o", "t.npz", "--no-report"]
    done = run(arguments, tmp_path, **ascii_only, PYTHONIOENCODING="ascii:strict")
    assert done.returncode == 0, done.stderr
    assert b"f\\xf6hn" in done.stdout


def test_without_docstrings(tmp_path):
    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((20, 5)))
    arguments = ["fit", "m.npy", "-k", "2", "-m", "hals", "-o", "m.npz", "--no-report"]
    done = run(arguments, tmp_path, flags=("-OO",))
    assert done.returncode == 0, done.stderr


SPA = ["fit", "m.npy", "-k", "2", "-m", "spa", "-o", "m.npz", "--no-report", "--force"]


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((20, 5)))
    return tmp_path


def test_nothing_of_what_is_usual(folder):
    """Settings that nobody understands, and neither home, cache nor temporary folder."""
    nowhere = os.path.join(folder, "m.npy", "no", "folder")
    names = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "TMPDIR", "MPLCONFIGDIR")
    odd = {"OMP_NUM_THREADS": "0", "NUMBA_NUM_THREADS": "abc", "COLUMNS": "x", "LANG": "C"}
    done = run(SPA, folder, **dict.fromkeys(names, nowhere), **odd, PYTHONOPTIMIZE="2")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", ["0", "-1"])
def test_a_number_of_threads_that_numba_refuses(folder, threads):
    done = run(SPA, folder, NUMBA_NUM_THREADS=threads)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(b"\n") == 1
    assert f"NUMBA_NUM_THREADS is '{threads}'; set it to 1".encode() in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="closes streams as a shell does")
@pytest.mark.parametrize(("data", "code"), [("m.npy", 0), ("no.npy", 2)])
def test_closed_streams(folder, data, code):
    """Files that are opened later must not take their places."""
    command = " ".join([sys.executable, "-m", "provenmf", *SPA]).replace("m.npy", data)
    done = subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], cwd=folder)
    assert done.returncode == code
    assert (folder / "m.npz").exists() == (code == 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_error_that_cannot_be_told(folder):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "provenmf", "fit", "no.npy"], stderr=full)
    assert done.returncode == 2
