"""Run one function over slices of rows in threads.

The kernels release the interpreter lock, so plain threads use every core. We do not use numba's own
parallel loops: its default thread pool aborts the process when two Python threads enter it at once,
which a cluster worker or a user's thread pool does.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# Products with fewer entries than this (16 MB) take a few milliseconds on one core.
SMALL_MATRIX = 2_000_000


def blas_threads_for(entries: int) -> AbstractContextManager[object]:
    """One BLAS thread inside the context for a small matrix, all of them for a large one.

    The threads of BLAS wait for each other by spinning. Beside another busy process that made
    fits of small matrices up to twenty times slower than one thread, and it never gained much.
    """
    return one_blas_thread if entries < SMALL_MATRIX else nullcontext()


class OneBlasThread:
    """No threads of BLAS as long as anybody is inside.

    The setting belongs to the process: the first to enter makes it and the last to leave takes it
    back, since threads may leave in another order than they came in.

    A fork waits until no thread is changing the setting. Its child has one thread, so nobody else
    is inside there; BLAS keeps one thread in it: starting others in a forked process can hang.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = blas_controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside = max(self._inside - 1, 0)
            if self._inside == 0 and self._limit is not None:
                self._limit.restore_original_limits()
                self._limit = None

    def before_fork(self) -> None:
        """Let nobody change the setting while the process is copied."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Forget the threads that were not copied; the one that forked leaves as it came in."""
        self._lock = Lock()
        self._inside = 0
        self._limit = None


one_blas_thread = OneBlasThread()


@cache
def blas_controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so once is enough."""
    return ThreadpoolController()


def available_threads() -> int:
    """Cores we may use, lowered by NUMBA_NUM_THREADS or OMP_NUM_THREADS where they are set."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdecimal() and int(value) > 0:
            cores = min(cores, int(value))
    return cores


def for_row_slices(function: Callable[[slice], object], n_rows: int, *, slice_rows: int) -> None:
    """Call ``function(slice)`` for consecutive slices that cover ``n_rows`` rows.

    The calling thread works too and never waits for a helper that has not begun, so that calls
    may be nested and a busy pool delays nobody. Products inside get one BLAS thread: ours already
    use every core.
    """
    slices = deque(slice(i, min(i + slice_rows, n_rows)) for i in range(0, n_rows, slice_rows))

    def work() -> None:
        while slices:
            try:
                rows = slices.popleft()
            except IndexError:  # another thread was faster
                return
            function(rows)

    threads = min(available_threads(), len(slices))
    if threads <= 1:
        work()
        return
    with one_blas_thread:
        helpers = [_pool().submit(work) for _ in range(threads - 1)]
        try:
            work()
        finally:
            slices.clear()
            for helper in helpers:
                if not helper.cancel():
                    helper.result()


@cache
def _pool() -> ThreadPoolExecutor:
    """One pool for the process: starting threads anew takes longer than many a kernel."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="provenmf")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
    os.register_at_fork(
        before=one_blas_thread.before_fork,
        after_in_parent=one_blas_thread.after_fork_in_parent,
        after_in_child=one_blas_thread.after_fork_in_child,
    )
