"""Commands where Python has few letters or no docstrings."""

import os
import subprocess
import sys

import numpy as np


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
    arguments = ["topics", "t.txt", "--rank", "2", "-o", "t.npz", "--no-report"]
    done = run(arguments, tmp_path, **ascii_only, PYTHONIOENCODING="ascii:strict")
    assert done.returncode == 0, done.stderr
    assert b"f\\xf6hn" in done.stdout


def test_without_docstrings(tmp_path):
    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((20, 5)))
    arguments = ["fit", "m.npy", "--rank", "2", "-m", "hals", "-o", "m.npz", "--no-report"]
    done = run(arguments, tmp_path, flags=("-OO",))
    assert done.returncode == 0, done.stderr
