"""A fit that is stopped by a signal at any time and called again ends with the same bits.

    python tests/adversarial/test_resume.py [20 [hals merit]]

stops every method, or these, that many times by each signal.
"""

import hashlib
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import warnings
import zlib
from functools import partial

import numpy as np
import pytest

from provenmf import Checkpoint
from provenmf.methods import CATALOGUE, make_estimator

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # every iteration is written
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "SIGINT, return")
rng = np.random.default_rng(0)
X = rng.dirichlet(np.full(4, 0.3), 150) @ rng.random((4, 20)) + 0.02 * rng.random((150, 20))


def fit(method, folder, how=""):
    """The digest of a fit that goes on in the folder."""
    model = make_estimator(method, 4, random_state=0, certify=False)
    if how.endswith("return"):
        model.set_params(on_interrupt="return")
    checkpoint = None if folder is None else Checkpoint(folder, seconds=0)
    found = model.fit(X, checkpoint=checkpoint).factorization_
    digest = hashlib.sha1(found.components.tobytes() + found.weights.tobytes())
    return digest.hexdigest(), len(found.trace)


def in_a_fork(work):
    """What `work` returns in a copy of this process, None if that was killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            with os.fdopen(write, "wb") as file:
                pickle.dump(work(), file)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        content = file.read()
    os.waitpid(child, 0)
    return pickle.loads(content) if content else None


def stopped(method, folder, how, seconds):
    """A fit that gets the signal after so many seconds, at whatever line it is then."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    number = getattr(signal, how.split(",")[0])
    threading.Timer(seconds, os.kill, (os.getpid(), number)).start()
    return fit(method, folder, how)


def differences(method, how, times):
    """When fits were stopped that gave other factors as they were resumed, of so many stopped."""
    draws, wrong, stops = np.random.default_rng(zlib.crc32(f"{method} {how}".encode())), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = in_a_fork(partial(fit, method, None))
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            assert in_a_fork(partial(fit, method, folder)) == plain
        took = time.perf_counter() - began
        while stops < times:
            with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
                seconds = float(draws.uniform(0, took))
                stops += in_a_fork(partial(stopped, method, folder, how, seconds)) != plain
                if in_a_fork(partial(fit, method, folder)) != plain:
                    wrong.append(seconds)
    return wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are copied")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT, return"])
@pytest.mark.parametrize("method", CATALOGUE)
def test_a_fit_stopped_by_a_signal_resumes_with_the_same_bits(method, how):
    fit(method, None)  # compile before the copies are made
    assert differences(method, how, 2) == []


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for each in sys.argv[2:] or CATALOGUE:
        fit(each, None)
        for how in SIGNALS:
            times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
            wrong = differences(each, how, times)
            print(each, how, f"{times - len(wrong)} of {times} {wrong or ''}", flush=True)
