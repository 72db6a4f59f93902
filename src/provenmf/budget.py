"""How much memory and how many threads a computation may take: one setting for all of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from numbers import Integral, Real

from provenmf.errors import InvalidInput
from provenmf.parallel import at_most, usable_cores

_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# A block is at most one part in so many of the budget: it is read ahead, copied to double
# precision, and its results are as large.
BLOCKS_IN_BUDGET = 32
# What later passes need of each block goes to files beyond this share of the budget.
SHARE_OF_PARTS = 0.25
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
    token = _memory.set(_memory.get() if memory is None else bytes_of(memory))
    try:
        with nullcontext() if n_jobs is None else at_most(threads_of(n_jobs)):
            yield
    finally:
        _memory.reset(token)


def memory_budget() -> float:
    """Bytes that the computation under way may take; infinite without a budget."""
    return _memory.get()


def block_bytes(usual: int) -> int:
    """Size of a block: the usual one, or less where the budget is small."""
    return int(min(usual, memory_budget() / BLOCKS_IN_BUDGET))


def room_for_parts(usual: int) -> float:
    """Bytes of kept parts that stay in memory."""
    return min(usual, memory_budget() * SHARE_OF_PARTS)


def bytes_of(memory: str | float) -> float:
    """Bytes from a number or a text such as "500MB", "2 GB" or "1.5GiB"."""
    fractional = isinstance(memory, Real) and not isinstance(memory, Integral)
    text = f"{memory:f}" if fractional else str(memory)  # not 1e+16
    found = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?)(I?)B?\s*", text.upper())
    try:
        number = float(found[1]) if found else math.nan
    except ValueError:
        number = math.nan
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
    """A number of threads; negative numbers count back from all cores, as in joblib."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InvalidInput(
            "is not a number of threads",
            argument="n_jobs",
            value=n_jobs,
            remedy="give {argument=1} or more, or {argument=-1} for all cores",
        )
    cores = usable_cores()
    return min(int(n_jobs), MOST_ON_A_CORE * cores) if n_jobs > 0 else max(1, cores + 1 + n_jobs)
