"""BLAS threads: one for small matrices, as many as before for large ones; and our own threads."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from provenmf import HALS, SPA
from provenmf.budget import (
    SMALL_MATRIX,
    at_most,
    available_threads,
    blas_limited_to,
    blas_threads as blas_threads_inside,
    blas_threads_for,
    bytes_of,
    computed_once,
    for_row_slices,
    resources,
    threads_of,
)
from provenmf.errors import InvalidInput


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_the_least_that_anybody_inside_allows():
    with threadpool_limits(3, user_api="blas"):
        if blas_threads() != {3}:
            pytest.skip("this BLAS does not take three threads here")
        with at_most(2):
            assert blas_threads() == {2}
            with blas_limited_to(1):
                assert blas_threads() == {1}
            with at_most(5):
                assert blas_threads() == {2}
        with at_most(8):  # a limit, no wish
            assert blas_threads() == {3}
        for entries, threads in ((SMALL_MATRIX - 1, 1), (SMALL_MATRIX, 3)):
            with blas_threads_for(entries):
                assert blas_threads() == {threads}
        assert blas_threads() == {3}


def test_fits_of_two_threads_leave_blas_as_it_was():
    X = np.random.default_rng(0).random((200, 12))

    def fit(model, jobs):
        with resources(n_jobs=jobs):
            for _ in range(5):
                model.fit(X)

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        pairs = [(SPA(3), 1), (HALS(3, max_iter=5, tol=0), 2), (SPA(4), None)]
        users = [threading.Thread(target=fit, args=pair) for pair in pairs]
        for user in users:
            user.start()
        for user in users:
            user.join()
        assert blas_threads() == before
    assert not blas_threads_inside.limits


def test_one_setting_for_own_threads_too(monkeypatch):
    monkeypatch.setattr("provenmf.budget.usable_cores", lambda: 8)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert available_threads() == 8
    assert [threads_of(n) for n in (3, -1, -2, -20)] == [3, 8, 7, 1]
    seen = []
    with resources(n_jobs=3):
        assert available_threads() == 3
        for_row_slices(lambda rows: seen.append(available_threads()), 6, slice_rows=1)
        with resources(n_jobs=-1):  # what is outside has the last word
            assert available_threads() == 3
    assert seen == [3] * 6  # helpers know it too
    assert available_threads() == 8
    for wrong in (0, True, 1.5, np.timedelta64(3, "s")):
        with pytest.raises(InvalidInput, match="n_jobs"), resources(n_jobs=wrong):
            pass
    with resources(n_jobs=10**30):  # more than BLAS has a number for
        assert available_threads() == 8


def test_amounts_of_memory():
    texts = {"500MB": 5e8, "2 gb": 2e9, "1.5GiB": 1.5 * 2**30, 4096: 4096, "64k": 64e3}
    texts |= {1e16: 1e16, 2**70: 2.0**70, np.float64(1e300): 1e300, Fraction(3, 2): 1.5}
    assert {text: bytes_of(text) for text in texts} == texts
    for wrong in ("", "much", "-2GB", 0, "1..2GB", "1e3"):
        with pytest.raises(InvalidInput, match="memory=.* is not an amount of memory"):
            bytes_of(wrong)


def test_calls_may_be_nested_and_errors_reach_the_caller(monkeypatch):
    monkeypatch.setattr("provenmf.budget.available_threads", lambda: 8)
    visits = np.zeros((40, 40), dtype=int)

    def visit(outer):
        def inner(rows):
            visits[outer, rows] += 1

        for_row_slices(inner, 40, slice_rows=1)

    for_row_slices(visit, 40, slice_rows=1)
    assert (visits == 1).all()

    def fail(rows):
        if rows.start == 5:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        for_row_slices(fail, 20, slice_rows=1)


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


@forks
def test_a_forked_process_has_its_own_threads(monkeypatch):
    monkeypatch.setattr("provenmf.budget.available_threads", lambda: 2)
    for_row_slices(lambda rows: time.sleep(0.01), 4, slice_rows=1)  # the parent's threads exist
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(threads_used).get(timeout=60) == 2


def threads_used():
    names = set()

    def note(rows):
        time.sleep(0.05)
        names.add(threading.current_thread().name)

    for_row_slices(note, 6, slice_rows=1)
    return len(names)


@forks
def test_a_fork_while_another_thread_changes_the_setting():
    changing, go_on = threading.Event(), threading.Event()

    def hold():
        with blas_threads_inside._lock:
            changing.set()
            go_on.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    changing.wait(30)
    threading.Timer(0.2, go_on.set).start()  # the fork waits for it
    child = os.fork()
    if child == 0:
        with blas_limited_to(1):
            os._exit(7)
    holder.join()
    assert ended_with(child, seconds=30) == 7


@forks
def test_a_fork_inside_leaves_nobody_inside():
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with blas_limited_to(1):
            entered.set()
            leave.wait(30)

    other = threading.Thread(target=stay)
    other.start()
    entered.wait(30)
    with blas_limited_to(1):
        child = os.fork()
    if child == 0:
        os._exit(5 if not blas_threads_inside.limits else 1)
    leave.set()
    other.join()
    assert ended_with(child, seconds=30) == 5
    assert not blas_threads_inside.limits


def ended_with(child, *, seconds):
    """The exit code of a child; one that hangs is killed."""
    for _ in range(int(seconds / 0.01)):
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Slow:
    """A value that takes as long as somebody wants."""

    def __init__(self, go):
        self.go, self.begun, self.times = go, threading.Event(), 0

    @computed_once
    def value(self):
        """What it is."""
        self.begun.set()
        assert self.go.wait(60)
        self.times += 1
        return 7


def test_computing_for_one_object_holds_up_no_other():
    """functools.cached_property has one lock a class (3.11), which a forked child never gets."""
    held, free = Slow(threading.Event()), Slow(threading.Event())
    free.go.set()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: held.value)
        assert held.begun.wait(60)
        second = pool.submit(lambda: free.value)
        try:
            assert second.result(timeout=30) == 7
        finally:
            held.go.set()
        assert first.result(timeout=30) == 7
    assert held.value == held.value == 7 and held.times == 1
    assert Slow.value.__doc__ == "What it is."


def threads_of_a_fit(seed):
    """The most threads of BLAS and of our own that a fit in this process may take."""
    seen = [available_threads(), *blas_threads()]

    def note(row):
        seen.extend([available_threads(), *blas_threads()])

    X = np.random.default_rng(seed).random((200, 30))
    HALS(3, random_state=0, max_iter=3, certify=False, callback=note).fit(X)
    return max(seen)


def test_joblib_processes_share_the_cores(monkeypatch):
    joblib = pytest.importorskip("joblib")
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    cores = joblib.cpu_count()
    with joblib.parallel_config(backend="loky"):
        seen = joblib.Parallel(n_jobs=cores)(
            joblib.delayed(threads_of_a_fit)(seed) for seed in range(cores + 1)
        )
    assert seen == [1] * (cores + 1)


def test_a_signal_handler_that_raises_leaves_no_limit():
    """At whatever line it raises: the next fit finds the threads that the user has set."""

    def interrupt(*_):
        raise TimeoutError

    before, most = blas_threads(), available_threads()
    draws = np.random.default_rng(0)
    X, previous = draws.random((60, 8)), signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(60):
            with contextlib.suppress(TimeoutError):
                signal.setitimer(signal.ITIMER_REAL, float(draws.uniform(1e-4, 0.02)))
                for _ in range(1000):
                    for_row_slices(lambda rows: X[rows].sum(), 60, slice_rows=10)
                    with at_most(1), blas_limited_to(1):
                        pass
            assert blas_threads() == before and not blas_threads_inside.limits
            assert available_threads() == most
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
