import sys
from types import ModuleType

import pytest

from provenmf.progress import Progress, in_notebook


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("provenmf.progress.time.monotonic", lambda: now[0])
    return now


def test_a_pipe_gets_a_line_every_ten_seconds_with_the_time_left(clock, capsys):
    with Progress("Finding topics", steps=10) as progress:
        for step in range(4):
            clock[0] = 6.0 * (step + 1)
            progress.row({})
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "Finding topics: 0:12 passed, 20% done, at most 0:48 left",
        "Finding topics: 0:24 passed, 40% done, at most 0:36 left",
    ]


def test_without_a_known_end_the_iteration_is_named(clock, capsys):
    with Progress("open end") as progress:
        clock[0] = 20.0
        progress.row({})
    assert capsys.readouterr().err == "open end (1 iteration): 0:20 passed\n"


def test_what_follows_the_last_step_is_named(clock, capsys):
    with Progress("SPA on big.npy", steps=1) as progress:
        clock[0] = 11.0
        progress.rows_read(250, 1000)
        progress.row({})
        clock[0] = 30.0
        progress.rows_read(250, 1000)
    reading, certifying = capsys.readouterr().err.splitlines()
    assert "reading, 25% of this pass" in reading
    assert certifying.startswith("SPA on big.npy: weights and certificate, 25% of this pass: 0:30")


def test_preparation_does_not_count_for_the_pace(clock):
    progress = Progress("fit", steps=4)
    clock[0] = 100.0
    progress.row({})
    assert progress.time_left() == ""
    clock[0] = 120.0
    progress.row({})
    assert progress.time_left() == "at most 0:40 left"


def test_a_terminal_sees_the_words_beside_the_times(clock, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with Progress("fit", steps=4) as progress:
        for clock[0] in (5.0, 65.0):
            progress.row({})
        progress._bar.refresh()
        assert "at most 2:00 left" in capsys.readouterr().err


def test_a_silent_solver_still_gets_its_lines(clock, capsys):
    with Progress("Reading big.csv") as progress:
        clock[0] = 11.0
        for _ in range(50):
            if progress._closed.wait(0.1) or progress._spoken == 11.0:
                break
    assert capsys.readouterr().err == "Reading big.csv: 0:11 passed\n"


def test_notebooks_get_a_bar(monkeypatch):
    """rich draws its bar into the output of a cell."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr("provenmf.progress.find_spec", lambda name: None)
    assert not in_notebook()  # rich would warn and show nothing without ipywidgets
    monkeypatch.setattr("provenmf.progress.in_notebook", lambda: True)
    opened = []
    monkeypatch.setattr(Progress, "_open_bar", lambda self: opened.append(self.title))
    with Progress("HALS"):
        pass
    assert opened == ["HALS"]


@pytest.mark.parametrize(("method", "counted"), [("spa", False), ("hals", True)])
def test_topics_are_named_and_anchors_are_no_share_of_the_work(
    run, corpus, monkeypatch, method, counted
):
    made = []

    class Watched(Progress):
        def __init__(self, title, steps=None):
            super().__init__(title, steps)
            made.append(self)

    monkeypatch.setattr("provenmf.cli.analysis.Progress", Watched)
    assert run("topics", corpus, "-k", 2, "--method", method, "--no-report").code == 0
    assert made[-1].title == f"Topics of {corpus.name}"
    assert (made[-1].steps is not None) == counted
