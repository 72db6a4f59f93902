"""The run loop: counting, recording, stopping, interruption."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from provenmf import SPA
from provenmf.methods import CATALOGUE, make_estimator
from provenmf.methods.run import Run
from provenmf.results import StopReason
from provenmf.signals import interruption

pytestmark = pytest.mark.filterwarnings("ignore::provenmf.errors.DegenerateData")
DATA = np.random.default_rng(0).random((50, 12))


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
    with pytest.raises(KeyboardInterrupt), interruption("return"):
        for _ in Run(10):
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


def interrupt(row):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("method", CATALOGUE)
def test_by_default_it_raises(method):
    with pytest.raises(KeyboardInterrupt):
        make_estimator(method, 4, random_state=0, callback=interrupt).fit(DATA)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("method", CATALOGUE)
def test_the_best_so_far_is_an_answer(method):
    first = []

    def interrupt_once(row):
        if not first:
            first.append(row)
            signal.raise_signal(signal.SIGINT)

    model = make_estimator(
        method, 4, random_state=0, callback=interrupt_once, on_interrupt="return"
    ).fit(DATA)
    assert model.factorization_.stop_reason is StopReason.INTERRUPTED
    assert len(model.trace_) == 1 and 1 <= model.n_components_ <= 4
    assert np.isfinite(model.factorization_.weights).all()
    assert model.certificate_.measures["relative_error"] >= 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_of_the_certificate_leaves_it_out(monkeypatch):
    def impatient(self, fit):
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the certificate went on")

    monkeypatch.setattr(SPA, "_certify", impatient)
    model = SPA(3, on_interrupt="return").fit(DATA)
    assert model.factorization_.certificate is None and not hasattr(model, "certificate_")
    assert model.n_components_ == 3
    with pytest.raises(KeyboardInterrupt):
        SPA(3).fit(DATA)
