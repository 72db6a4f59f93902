"""Signal handlers that raise inside a computation: the process is afterwards as it was before."""

from __future__ import annotations

import decimal
import inspect
import locale
import signal
import sys
import warnings
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import sklearn
from matrices import Rng
from oracles import hold
from threadpoolctl import threadpool_info

import provenmf
from provenmf.budget import blas_threads
from provenmf.methods import CATALOGUE, make_estimator

# Functions at whose beginning and end a handler skips an end that is due.
CRITICAL = ("__enter__", "__exit__", "signal", "limited_to", "_set", "limit")


class Stop(Exception):
    """What a signal handler of the user raises."""


def is_stop(error: BaseException | None) -> bool:
    """Whether an error is the handler's, or one that numpy or numba has made of it."""
    while error is not None and not isinstance(error, Stop | KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def process_state() -> dict[str, Any]:
    """What a computation may change for the rest of the process."""
    return {
        "numpy's errors": (np.geterr(), np.geterrcall()),
        "context": dict(copy_context().items()),
        "filters of warnings": (id(warnings.filters), list(warnings.filters), warnings.showwarning),
        "handlers": [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)],
        "threads": sorted(pool["num_threads"] for pool in threadpool_info()),
        "limits": list(blas_threads.limits.values()),
        "locale": locale.setlocale(locale.LC_ALL),
        "decimal": str(decimal.getcontext()),
        "scikit-learn": sklearn.get_config(),
    }


def stopped(call: Callable[[], object], step: int, error: type[BaseException]) -> int:
    """Raise at a beginning or end of a critical function; return how many there were until then.

    Python runs signal handlers at exactly these places, and a tracer may raise there too.
    """
    seen = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal seen
        if frame.f_code.co_name not in CRITICAL:
            return None
        frame.f_trace_lines = False
        suspended = event == "return" and frame.f_code.co_flags & inspect.CO_GENERATOR
        if event != "exception" and not suspended:  # no handler runs where a generator yields
            seen += 1
            if seen == step:
                raise error
        return trace

    others = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except BaseException as raised:
        hold(is_stop(raised), f"the handler's exception was lost: {raised!r}")
    finally:
        sys.settrace(others)
    return seen


def check_state(before: dict[str, Any], what: str) -> None:
    """Refuse a process that is not as it was."""
    after = process_state()
    changed = [f"{name}: {after[name]}" for name in before if after[name] != before[name]]
    hold(not changed, f"after {what} {changed}")


def check_undisturbed(call: Callable[[], object], steps: Any, error: type[BaseException]) -> None:
    """Stop a call at each of these steps: none of them leaves a trace."""
    before = process_state()
    for step in steps:
        stopped(call, int(step), error)
        check_state(before, f"step {step}")


def calls(rng: Rng) -> list[Callable[[], object]]:
    """Fits of every method that keep or lose their result, and functions."""
    data = rng.random((40, 9))
    made = []
    for method in CATALOGUE:
        model = make_estimator(method, 3, on_interrupt=str(rng.choice(["raise", "return"])))
        if "max_iter" in model.get_params():
            model.set_params(max_iter=2)
        made.append(partial(model.fit, data))
    model = make_estimator("spa", 3).fit(data)
    found = model.factorization_
    made += [partial(model.transform, data), partial(model.score, data)]
    made += [partial(provenmf.certify, data, found), partial(provenmf.diagnose, data)]
    return [*made, partial(provenmf.factorize, data, 3), partial(provenmf.confirm, data, found)]


def step_case(rng: Rng) -> str:
    """Any call, stopped at some steps at which an end is due."""
    made = calls(rng)
    call = made[rng.integers(len(made))]
    error = (Stop, KeyboardInterrupt)[rng.integers(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()  # libraries are loaded, kernels compiled
        total = stopped(call, 0, error)
        check_undisturbed(call, rng.integers(1, total + 1, 20), error)
    return f"{error.__name__} 20 times"


def case(rng: Rng) -> str:
    """A handler that raises at any time inside a fit."""

    def stop(*_: Any) -> None:
        raise Stop

    model = make_estimator(str(rng.choice(["hals", "merit", "anls"])), 3, random_state=0)
    matrix = rng.random((400, 30))
    model.fit(matrix)
    before, old = process_state(), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(0.001, 0.1)))
    ended = "fitted before"
    try:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.set_params(max_iter=10**6, tol=0.0).fit(matrix)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Exception as error:
        hold(is_stop(error), f"the handler's exception was lost: {error!r}")
        ended = "stopped"
    finally:
        signal.signal(signal.SIGALRM, old)
    check_state(before, "the alarm")
    return ended
