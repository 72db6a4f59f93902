"""Memory budget, thread limit and random seeds of a computation."""

from __future__ import annotations

import math
import os
import re
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache, cached_property
from numbers import Integral
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController

from provenmf.errors import InvalidInput, TooLarge, warn_user
from provenmf.signals import set_inside

if TYPE_CHECKING:
    import numpy as np

    RandomState = int | np.random.RandomState | np.random.Generator | None

Value = TypeVar("Value")

# Products with fewer entries than this (16 MB) take a few milliseconds on one core.
SMALL_MATRIX = 2_000_000


if TYPE_CHECKING:
    computed_once = cached_property
else:

    class computed_once(cached_property):
        """A cached property without Python 3.11's lock, which all objects of a class share.

        Threads that fit at once waited for each other, and a process forked from one of them waited
        for ever. Two threads that ask at once may compute the same value twice.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Return the value; Python looks in the instance first, so that this runs once."""
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


def blas_threads_for(entries: int) -> AbstractContextManager[object]:
    """Return a context with one BLAS thread for a small matrix, all of them for a large one.

    The threads of BLAS wait for each other by spinning. Beside another busy process that made
    fits of small matrices up to twenty times slower than one thread, and it never gained much.
    """
    return blas_limited_to(1) if entries < SMALL_MATRIX else nullcontext()


class BlasThreads:
    """Limit the threads of BLAS to the smallest number in force.

    The setting belongs to the process: the first to enter notes what it was and the last to leave
    restores it, since threads may leave in another order than they came in.

    A fork waits until no thread is changing the setting. Its child has one thread and forgets the
    limits of the others; BLAS keeps the threads it had: starting others in a fork can hang.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.limits: dict[object, int] = {}
        self._original: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=lambda: self._lock.acquire(),
                after_in_parent=lambda: self._lock.release(),
                after_in_child=self._forget,
            )

    @contextmanager
    def limited_to(self, threads: int) -> Iterator[None]:
        """Limit BLAS inside the context to this number of threads.

        A signal handler may raise anywhere: the limit is removed all the same. If it raises before
        a `with` statement has taken over, Python drops this generator, which ends it here, too.
        """
        mine = object()
        try:
            with self._lock:
                if not self.limits:  # noted before anything is changed
                    self._original = blas_controller().limit(limits=None, user_api="blas")
                self.limits[mine] = threads
                self._set()
            yield
        finally:
            raised: BaseException | None = None
            while True:  # no call before `try`, where a signal handler could raise
                try:
                    with self._lock:
                        self.limits.pop(mine, None)
                        self._set()
                    break
                except BaseException as error:
                    raised = error
            if raised is not None:
                raise raised

    def _set(self) -> None:
        if self.limits:
            before = self._original.get_original_num_threads()["blas"] or 1
            least = min(before, *self.limits.values())
            blas_controller().limit(limits=least, user_api="blas")
        elif self._original is not None:
            self._original.restore_original_limits()

    def _forget(self) -> None:
        """Discard the lock and the limits of threads that do not exist in a forked process."""
        self._lock, self.limits = Lock(), {}


blas_threads = BlasThreads()
blas_limited_to = blas_threads.limited_to


_most: ContextVar[int | None] = ContextVar("provenmf_threads", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Limit BLAS and compiled loops inside the context to this number of threads."""
    already = _most.get()
    least = threads if already is None else min(threads, already)
    with set_inside(_most, least), blas_limited_to(threads):
        yield


@cache
def blas_controller() -> ThreadpoolController:
    """Return the loaded BLAS libraries; looking for them takes milliseconds."""
    return ThreadpoolController()


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_threads() -> int:
    """Return the thread limit: all cores, or fewer by `at_most` or the environment."""
    cores = min(usable_cores(), _most.get() or usable_cores())
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdecimal() and int(value) > 0:
            cores = min(cores, int(value))
    return cores


def for_row_slices(function: Callable[[slice], object], n_rows: int, *, slice_rows: int) -> None:
    """Call ``function(slice)`` in threads for consecutive slices that cover ``n_rows`` rows.

    The kernels release the interpreter lock, so plain threads use every core. numba's own parallel
    loops abort the process when two Python threads enter them at once, as those of a cluster
    worker do.

    The calling thread works too. Calls may be nested: beyond one helper for each core of the
    machine none is started. Products inside get one BLAS thread: ours already use every core.
    """
    slices = deque(slice(i, min(i + slice_rows, n_rows)) for i in range(0, n_rows, slice_rows))

    def work() -> None:
        while slices:
            try:
                rows = slices.popleft()
            except IndexError:  # another thread was faster
                return
            function(rows)

    helpers = min(available_threads(), len(slices)) - 1
    helpers = min(helpers, usable_cores() - len(_helping))
    if helpers <= 0:
        work()
        return
    with blas_limited_to(1):
        others = [in_background(work) for _ in range(helpers)]
        try:
            work()
        finally:
            slices.clear()
            for result in others:
                result()


_helping: set[object] = set()  # calls in the background that have not ended
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helping.clear)  # threads do not survive a fork


def in_background(function: Callable[..., Value], *arguments: Any) -> Callable[[], Value]:
    """Call a function in a new thread; return a function that waits for its result.

    Free of Python's own threads, conditions and futures: a signal handler may raise while they
    hold a lock, and the process would wait for it at its end.
    """
    ended = SimpleQueue[None]()
    outcome: list[tuple[Value | None, BaseException | None]] = []

    def call() -> None:
        _helping.add(ended)
        try:
            outcome.append((function(*arguments), None))
        except BaseException as error:
            outcome.append((None, error))
        _helping.discard(ended)
        ended.put(None)

    def result() -> Value:
        if not outcome:
            ended.get()
        value, error = outcome[0]
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    start_new_thread(copy_context().run, (call,))
    return result


_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# A block takes at most 1 / BLOCKS_IN_BUDGET of the budget: it is read ahead, copied to double
# precision, and its results are as large.
BLOCKS_IN_BUDGET = 32
# What later passes need of each block goes to files beyond this share of the budget.
SHARE_OF_PARTS = 0.25
# Bytes of the interpreter with numpy, scipy, scikit-learn and the compiled kernels.
PYTHON = 350e6
# Without a budget, more bytes than the first number are refused, and more than the second are
# announced, where data are loaded into memory.
MOST_GATHERED, HINT = 16e9, 256e6
# More threads or processes than this for each core only take memory.
MOST_ON_A_CORE = 4

_memory: ContextVar[float] = ContextVar("provenmf_memory", default=math.inf)


@contextmanager
def resources(*, memory: str | float | None = None, n_jobs: int | None = None) -> Iterator[None]:
    """Limit the memory and the threads of the code in a `with` block.

    Parameters
    ----------
    memory : str, float or None, default=None
        Budget in bytes, or a text such as "2GB". Data on disk are read in blocks small enough that
        the process stays within the budget. A fit that cannot is refused before it starts, and the
        error says how much it needs. Data already in memory do not count. None sets no budget.
    n_jobs : int or None, default=None
        Threads of BLAS and of compiled loops together; -1 is all cores, -2 all but one. None keeps
        the default: all cores, or as many as NUMBA_NUM_THREADS or OMP_NUM_THREADS allow.

    Returns
    -------
    context manager
        For use with `with`; the previous limits are restored at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import SPA, resources
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> with resources(memory="2GB", n_jobs=1):
    ...     model = SPA(3).fit(X)
    >>> model.components_.shape
    (3, 8)
    """
    most = _memory.get() if memory is None else bytes_of(memory)
    own = nullcontext() if n_jobs is None else at_most(threads_of(n_jobs))
    with set_inside(_memory, most), own:
        yield


def memory_budget() -> float:
    """Return the bytes that the computation may take, infinite without a budget."""
    return _memory.get()


def block_bytes(usual: int) -> int:
    """Return the size of a block: the usual one, or less with a small budget."""
    return int(min(usual, memory_budget() / BLOCKS_IN_BUDGET))


def room_for_parts(usual: int) -> float:
    """Return how many bytes of stored parts may stay in memory."""
    return min(usual, memory_budget() * SHARE_OF_PARTS)


def bytes_of(memory: str | float) -> float:
    """Return the bytes that a number or a text such as "500MB" or "1.5GiB" means."""
    found, number = None, math.nan
    try:
        plain = isinstance(memory, str | bool)
        text = str(memory) if plain else f"{float(memory):f}"  # not 1e+16
        found = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?)(I?)B?\s*", text.upper())
        number = float(found[1]) if found else math.nan
    except (TypeError, ValueError, OverflowError):
        pass
    if found is None or not 0 < number < math.inf:
        raise InvalidInput(
            "is not an amount of memory",
            argument="memory",
            value=memory,
            remedy="give bytes, or a text such as {argument='2GB'}",
        )
    unit = _UNITS[found[2]]
    return number * (unit if not found[3] else 1024 ** round(math.log(unit, 1000)))


def threads_of(n_jobs: int) -> int:
    """Return a number of threads; negative ones count back from all cores, as in joblib."""
    whole = isinstance(n_jobs, Integral) and hasattr(n_jobs, "__index__")  # not a time of numpy
    if not whole or isinstance(n_jobs, bool) or n_jobs == 0:
        raise InvalidInput(
            "is not a number of threads",
            argument="n_jobs",
            value=n_jobs,
            remedy="give {argument=1} or more, or {argument=-1} for all cores",
        )
    cores = usable_cores()
    return min(int(n_jobs), MOST_ON_A_CORE * cores) if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def check_budget(
    what: str, held: float, at_work: float, most_at_work: float, remedy: str = "raise it"
) -> None:
    """Refuse what needs more memory than the budget.

    Parameters
    ----------
    what : who needs it, and for what.
    held : bytes that are held all the time, beside those of Python.
    at_work : bytes that blocks take, as large as they are now.
    most_at_work : the same for blocks of any size; with the budget they grow up to its half.
    remedy : what to do.
    """
    budget, fixed = memory_budget(), PYTHON + held
    share = 16 / BLOCKS_IN_BUDGET
    if fixed + min(at_work, share * budget) > budget:
        needed = min(fixed / (1 - share), fixed + most_at_work)
        raise TooLarge(
            f"is less than the {math.ceil(needed / 1e7) / 100:g} GB that {what}",
            argument="memory",
            value=f"{budget / 1e9:.3g}GB",
            remedy=remedy,
        )


def announce_gathering(name: str, shape: tuple[int, ...], size: float) -> None:
    """Announce that data are loaded into memory, or raise an error if they are too large."""
    if size > min(MOST_GATHERED, memory_budget()):
        raise TooLarge(
            f"{name} needs {size / 1e9:.3g} GB at once for X of shape {shape}, which is not in "
            "memory: use a method that reads block by block, such as SPA or HALS"
        )
    if size > HINT:
        warn_user(
            RuntimeWarning(
                f"{name} loads X of shape {shape} into memory, {size / 1e9:.2g} GB; SPA, HALS and "
                "others read it block by block"
            )
        )


# numpy's generators from what users give as `random_state`.


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator of a seed or RandomState, a Generator itself, a new one for None."""
    import numpy as np

    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(np.iinfo(np.int32).max))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "is not a seed",
            argument="random_state",
            value=random_state,
            remedy="give {argument=0} or another whole number that is not negative, or None",
        ) from error
