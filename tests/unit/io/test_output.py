"""The door for output: strict JSON, regular files only, never the input, as the umask says."""

import json
import math
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

from provenmf.errors import InvalidInput
from provenmf.io.files import check_writable, write_aside
from provenmf.io.records import load, load_snapshot, save_snapshot, strict_json
from provenmf.results import Factorization

ODD = {"a": [1.5, math.inf, (-math.inf, "x")], "b": {"c": math.nan}, "d": np.float64("nan")}
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX files")


def refuse(text: str) -> None:
    raise AssertionError(f"{text} is not JSON")


def test_what_is_not_finite_is_null():
    found = json.loads(strict_json(ODD), parse_constant=refuse)
    assert found == {"a": [1.5, None, [None, "x"]], "b": {"c": None}, "d": None}


def test_our_own_files_keep_every_number(tmp_path):
    save_snapshot(tmp_path / "s.npz", ODD)
    with np.load(tmp_path / "s.npz") as stored:
        json.loads(stored["record"].tobytes(), parse_constant=refuse)
    found = load_snapshot(tmp_path / "s.npz")
    assert found["a"][:2] == [1.5, math.inf] and math.isnan(found["b"]["c"])
    parameters = {"tol": math.inf, "level": math.nan}
    record = Factorization("spa", np.ones((1, 2)), np.ones((2, 1)), parameters=parameters)
    record.save(tmp_path / "r.npz")
    assert load(tmp_path / "r.npz") == record


def write(file) -> None:
    file.write(b"content")


@posix
def test_the_umask_is_respected_a_mode_is_kept_and_a_link_followed(tmp_path):
    (tmp_path / "link").symlink_to("f")
    for mask, mode in [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)]:
        (tmp_path / "f").unlink(missing_ok=True)
        before = os.umask(mask)
        try:
            write_aside(tmp_path / "link", write)
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == mode
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(0o640)
    write_aside(tmp_path / "link", write)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "f").read_bytes() == b"content"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640


@posix
def test_what_is_no_place_for_a_file_is_refused_by_name(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("no/where.npz")
    names = dict.fromkeys(("pipe", "null", ".", "loop", "o" * 300, "a\0"), "name a file")
    names |= dict.fromkeys(("nowhere", "no/where"), "its folder does not exist; make it first")
    for name, message in names.items():
        for refuses in (lambda path: write_aside(path, write), check_writable):
            with pytest.raises(InvalidInput, match=f"cannot write .*{message}"):
                refuses(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_the_input_is_never_written(tmp_path):
    data = tmp_path / "data.npz"
    data.write_bytes(b"precious")
    (tmp_path / "again.npz").symlink_to(data)
    for output in (data, tmp_path / "again.npz"):
        with pytest.raises(InvalidInput, match="it is an input"):
            check_writable(output, data)


@posix
def test_what_a_killed_process_left_is_removed(tmp_path):
    child = os.fork()
    if child == 0:

        def die(file) -> None:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), 9)

        write_aside(tmp_path / "f", die)
    os.waitpid(child, 0)
    [left] = tmp_path.iterdir()
    write_aside(tmp_path / "f", write)
    assert left.exists()  # it might be another process's
    os.utime(left, (0, 0))
    write_aside(tmp_path / "f", write)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


ENDING = """
import signal, sys
from pathlib import Path
from provenmf.io import files

ending = getattr(signal, sys.argv[1])
signal.signal(ending, signal.SIG_DFL)  # under nohup it is ignored

def end(*_):
    signal.raise_signal(ending)

def opened(*how):  # the signal comes just then
    file = open(*how)
    end()
    return file

if sys.argv[2] == "write":
    files.write_aside("f", end)
else:
    files.open = opened
    files.check_writable(Path("f"))
"""


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("what", ["write", "check"])
def test_an_end_by_a_signal_leaves_no_unfinished_file(tmp_path, name, what):
    ended = subprocess.run([sys.executable, "-c", ENDING, name, what], cwd=tmp_path)
    assert -ended.returncode == getattr(signal, name) and not list(tmp_path.iterdir())
