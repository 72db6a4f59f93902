"""Ctrl-C raises; on_interrupt="return" keeps the best so far, whatever the method."""

import signal

import numpy as np
import pytest

from provenmf import SPA
from provenmf.methods import CATALOGUE, make_estimator
from provenmf.results import StopReason

pytestmark = pytest.mark.filterwarnings("ignore::provenmf.errors.DegenerateData")
DATA = np.random.default_rng(0).random((50, 12))


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
