"""Ways to call kernels; a sparse matrix of mixing weights as MERIT keeps it, and as an array."""

import inspect
from functools import lru_cache

import numba
import numpy as np
import pytest


@lru_cache
def _outer(inner):
    """A compiled function of the same arguments, written out: what is inlined takes no *given."""
    names = ", ".join(inspect.signature(inner.py_func).parameters)
    return numba.njit(eval(f"lambda {names}: inner({names})", {"inner": inner}))


@pytest.fixture
def call():
    """Calls a function that only compiled ones can call: call(function, *arguments)."""
    return lambda inner, *arguments: _outer(inner)(*arguments)


class Pairs:
    """Random rows on the simplex with one to three entries, in room for six."""

    def __init__(self, rows: int = 14, size: int = 6) -> None:
        rng = np.random.default_rng(5)
        self.size = size
        self.index = np.zeros((rows, 6), dtype=np.int32)
        self.value = np.zeros((rows, 6))
        self.count = rng.integers(1, 4, rows).astype(np.int32)
        for row, count in enumerate(self.count):
            self.index[row, :count] = rng.permutation(size - 1)[:count]  # the last one is unused
            self.value[row, :count] = rng.dirichlet(np.ones(count))

    def dense(self):
        C = np.zeros((len(self.count), self.size))
        for row, count in enumerate(self.count):
            C[row, self.index[row, :count]] = self.value[row, :count]
        return C

    @property
    def parts(self):
        return self.index, self.value, self.count


@pytest.fixture
def pairs():
    return Pairs()
