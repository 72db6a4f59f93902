"""Ways to call kernels."""

import inspect
from functools import lru_cache

import numba
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
