"""Run one function over slices of rows in threads, and what threads and forks must not break.

The kernels release the interpreter lock, so plain threads use every core. We do not use numba's own
parallel loops: its default thread pool aborts the process when two Python threads enter it at once,
which a cluster worker or a user's thread pool does.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar, overload

from threadpoolctl import ThreadpoolController

Value = TypeVar("Value")

# Products with fewer entries than this (16 MB) take a few milliseconds on one core.
SMALL_MATRIX = 2_000_000


class computed_once(Generic[Value]):
    """A property that is computed when it is asked for, and kept.

    As `functools.cached_property`, but without the lock that one holds for all objects of a class
    up to Python 3.11: threads that fit at once waited for each other, and a process forked from
    one of them waited for ever. Two threads that ask at once may compute the same value twice.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function, self.__doc__ = function, function.__doc__
        self._name = function.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> "computed_once[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> "computed_once[Value] | Value":
        if instance is None:
            return self
        # Python looks in the instance first, so that this runs only once.
        value = instance.__dict__[self._name] = self._function(instance)
        return value


def blas_threads_for(entries: int) -> AbstractContextManager[object]:
    """One BLAS thread inside the context for a small matrix, all of them for a large one.

    The threads of BLAS wait for each other by spinning. Beside another busy process that made
    fits of small matrices up to twenty times slower than one thread, and it never gained much.
    """
    return one_blas_thread if entries < SMALL_MATRIX else nullcontext()


class BlasThreads:
    """At most so many threads of BLAS as anybody inside allows.

    The setting belongs to the process: the first to enter notes what it was and the last to leave
    takes it back, since threads may leave in another order than they came in.

    A fork waits until no thread is changing the setting. Its child has one thread, so nobody else
    is inside there; BLAS keeps the threads it had: starting others in a forked process can hang.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside: list[int] = []
        self._original: Any = None

    def enter(self, threads: int) -> None:
        """Allow no more than so many from now on."""
        with self._lock:
            if not self._inside:
                self._original = blas_controller().limit(limits=threads, user_api="blas")
            self._inside.append(threads)
            self._set()

    def leave(self, threads: int) -> None:
        """Take back what `enter` was given."""
        with self._lock:
            if threads in self._inside:  # a forked process has forgotten it
                self._inside.remove(threads)
                self._set()

    def _set(self) -> None:
        if self._inside:
            before = self._original.get_original_num_threads()["blas"] or 1
            blas_controller().limit(limits=min(*self._inside, before), user_api="blas")
        else:
            self._original.restore_original_limits()

    def before_fork(self) -> None:
        """Let nobody change the setting while the process is copied."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Forget the threads that were not copied; the one that forked leaves as it came in."""
        self._lock = Lock()
        self._inside = []


blas_threads = BlasThreads()


class OneBlasThread:
    """No threads of BLAS as long as anybody is inside."""

    def __enter__(self) -> None:
        blas_threads.enter(1)

    def __exit__(self, *error: object) -> None:
        blas_threads.leave(1)


one_blas_thread = OneBlasThread()
_most: ContextVar[int | None] = ContextVar("provenmf_threads", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Let BLAS and our own loops inside take no more than so many threads."""
    already = _most.get()
    token = _most.set(threads if already is None else min(threads, already))
    blas_threads.enter(threads)
    try:
        yield
    finally:
        blas_threads.leave(threads)
        _most.reset(token)


@cache
def blas_controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so once is enough."""
    return ThreadpoolController()


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_threads() -> int:
    """Threads we may use: all cores, or fewer where `at_most` or the environment says so."""
    cores = min(usable_cores(), _most.get() or usable_cores())
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
        helpers = [_pool().submit(copy_context().run, work) for _ in range(threads - 1)]
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
        before=blas_threads.before_fork,
        after_in_parent=blas_threads.after_fork_in_parent,
        after_in_child=blas_threads.after_fork_in_child,
    )
