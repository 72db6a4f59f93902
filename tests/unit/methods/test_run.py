"""The run loop: counting, recording, stopping, interruption."""

import os
import signal
import subprocess
import sys

import pytest

from provenmf.methods.run import Run


def test_stops_when_told_and_records():
    run = Run(10)
    for iteration in run:
        run.record(movement=1.0 / (iteration + 1))
        if iteration == 2:
            run.stop("converged")
    assert run.stop_reason == "converged"
    assert list(run.trace["movement"]) == [1.0, 0.5, pytest.approx(1 / 3)]
    assert (run.trace["seconds"] >= 0).all() and len(run.trace) == 3


def test_callback_sees_rows_and_can_stop():
    seen = []
    run = Run(10, callback=lambda row: seen.append(row["loss"]) or len(seen) == 2)
    for iteration in run:
        run.record(loss=iteration)
    assert seen == [0, 1] and run.stop_reason == "callback"


def test_a_second_interruption_is_raised():
    run = Run(10, on_interrupt="return")
    with pytest.raises(KeyboardInterrupt):
        for _ in run:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_verbose_is_seen_by_who_has_not_set_up_logging():
    program = (
        "import numpy as np; from provenmf import SPA; "
        "SPA(2, verbose={verbose}, certify=False).fit(np.eye(3))"
    )
    for verbose, lines in ((0, 0), (1, 2)):
        ran = subprocess.run(
            [sys.executable, "-c", program.format(verbose=verbose)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert len([line for line in ran.stderr.splitlines() if line.startswith("SPA ")]) == lines
        assert ran.stdout == ""
