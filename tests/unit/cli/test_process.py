"""The command as a process: what Ctrl-C leaves behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from provenmf.io.records import load

WAITING = """
import sys, time
import provenmf.io.records
from provenmf.cli.main import main

def wait(path):
    print("waiting", flush=True)
    time.sleep(60)

provenmf.io.records.load = wait
sys.argv = ["provenmf", "report", "result.npz"]
main()
"""


def test_interruption_before_an_answer_ends_with_130(tmp_path):
    np.savez(tmp_path / "result.npz", record=np.zeros(1))
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "nothing was written" in err
    assert "Traceback" not in err
    assert not list(tmp_path.glob("*.html"))


CALLED_BACK = """
import ctypes, sys, time, types
from provenmf.__main__ import main

@ctypes.CFUNCTYPE(None)
def called_back():
    raise KeyboardInterrupt

def work():
    called_back()
    for _ in range(300):
        time.sleep(0.1)

sys.modules["provenmf.cli.main"] = types.SimpleNamespace(main=work)
main()
"""


def test_interruption_while_a_library_calls_back_is_heard():
    ended = subprocess.run(
        [sys.executable, "-c", CALLED_BACK], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 130, ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("method", ["hals", "merit", "poisson"])
def test_interruption_keeps_the_best_so_far(run, tmp_path, monkeypatch, method):
    """The solver is interrupted in its first iteration; the result is saved and says so."""
    from provenmf.progress import Progress

    monkeypatch.setattr(Progress, "row", lambda self, row: signal.raise_signal(signal.SIGINT))
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "dense.csv", rng.random((60, 20)), delimiter=",")
    ran = run(
        "fit", "dense.csv", "-k", 4, "-m", method, "-o", "kept.npz", "--no-report", "--no-certify"
    )
    assert ran.code == 0, ran
    assert "interrupted" in ran.out
    result = load(tmp_path / "kept.npz")
    assert result.stop_reason == "interrupted"
    assert result.n_components <= 4 and len(result.trace) == 1


@pytest.mark.parametrize("report", ["write", "no report"])
def test_interruption_after_the_result_names_what_is_complete(run, tmp_path, monkeypatch, report):
    """An earlier report does not stay beside the new result."""
    import provenmf.cli.analysis
    import provenmf.report

    def interrupt(*arguments, **more):
        signal.raise_signal(signal.SIGINT)

    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((20, 6)))
    assert run("fit", "m.npy", "-k", 2, "-m", "spa", "-o", "kept.npz").code == 0
    again = "fit m.npy -k 3 -m spa -o kept.npz --force --tables tables".split()
    if report == "write":
        monkeypatch.setattr(provenmf.report, "write", interrupt)
    else:
        monkeypatch.setattr(provenmf.cli.analysis, "write_tables", interrupt)
        again.append("--no-report")
    ran = run(*again)
    assert ran.code == 130
    assert "complete so far: kept.npz" in ran.err and "nothing was written" not in ran.err
    assert load(tmp_path / "kept.npz").n_components == 3
    assert not (tmp_path / "kept.html").exists()


def children_of(process):
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return found.read_text().split() if found.exists() else []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_interruption_reaches_the_processes_that_count_quietly(tmp_path):
    line = json.dumps({"text": " ".join(["ship sail wave harbour"] * 5000)}) + "\n"
    (tmp_path / "texts.jsonl").write_text(line * 120)
    process = subprocess.Popen(
        [sys.executable, "-m", "provenmf", "topics", "texts.jsonl", "-k", "2", "--n-jobs", "2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and len(children_of(process)) < 3:  # with the resource tracker
        time.sleep(0.01)
    time.sleep(0.3)  # while they import
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "nothing was written" in err and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["texts.jsonl"]
