"""Signals during a computation: Ctrl-C that keeps the best result, handlers that raise anywhere.

Python runs handlers between any two steps of the main thread. One that raises within the first or
last step of a `with` statement skips its end: numpy's error state, the filters of warnings or a
handler stay as they were inside. Public functions and estimators are therefore `undisturbed`.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import wraps
from types import FrameType
from typing import Any, Literal, ParamSpec, TypeVar

from provenmf.errors import was_interrupted

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")
OnInterrupt = Literal["raise", "return"]

# Signals that are handled somewhere in this package, as far as the system has them.
HANDLED = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


def undisturbed(function: Callable[Parameters, Value]) -> Callable[Parameters, Value]:
    """Return a function that leaves the process as it was, also where a signal handler raised.

    Context variables are set in a copy of the context, which Python's own `Context.run` leaves
    (numpy's error state is among them since numpy 2). The rest is restored if the call raises.
    """

    @wraps(function)
    def run(*positional: Parameters.args, **named: Parameters.kwargs) -> Value:
        if not in_main_thread():  # the only one with handlers
            return copy_context().run(function, *positional, **named)
        import numpy as np  # here, since the command line is quicker without it

        before = warnings.filters, warnings.showwarning, np.geterr(), np.geterrcall()
        handlers = {number: signal.getsignal(number) for number in HANDLED}
        try:
            return copy_context().run(function, *positional, **named)
        except BaseException:
            while True:
                try:
                    _restore(*before, handlers)
                except BaseException:  # of a signal handler once more
                    continue
                raise

    return run


def _restore(
    filters: Any, show: Any, errors: Any, on_error: Any, handlers: dict[signal.Signals, Any]
) -> None:
    import numpy as np

    if warnings.filters is not filters or warnings.showwarning is not show:
        warnings.filters, warnings.showwarning = filters, show
        with warnings.catch_warnings():  # Python notices that the filters are others
            pass
    if (np.geterr(), np.geterrcall()) != (errors, on_error):
        np.seterr(**errors)
        np.seterrcall(on_error)
    for number, handler in handlers.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def in_main_thread() -> bool:
    """Return whether this is the thread in which Python runs signal handlers."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def set_inside(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give a context variable this value inside the context, whatever a signal handler raises."""
    before = variable.get()
    try:
        variable.set(value)
        yield
    finally:
        if variable.get() is value:  # not in another context, if Python ends this late
            variable.set(before)


@contextmanager
def handling(handler: Any, numbers: Iterable[signal.Signals], instead_of: Any) -> Iterator[None]:
    """Handle signals inside the context, in the main thread and instead of this handler only."""
    ours = [n for n in numbers if in_main_thread() and signal.getsignal(n) is instead_of]
    try:
        for number in ours:
            signal.signal(number, handler)
        yield
    finally:
        for number in ours:
            if signal.getsignal(number) == handler:
                signal.signal(number, instead_of)


class Interruption:
    """Remember whether the user has pressed Ctrl-C since a fit began."""

    def __init__(self) -> None:
        self.requested = False
        self.may_wait = True

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Record the first Ctrl-C; raise the second, or the first if there is no result yet."""
        if self.requested or not self.may_wait:
            raise KeyboardInterrupt
        self.requested = True


_present: ContextVar[Interruption | None] = ContextVar("provenmf_interruption", default=None)


def interrupted() -> bool:
    """Return whether the current fit should stop with its best result so far."""
    present = _present.get()
    return present is not None and present.requested


@contextmanager
def interruption(on_interrupt: OnInterrupt) -> Iterator[None]:
    """Handle Ctrl-C during a fit that is to "return" its best result.

    Only the main thread can, and only if no other handler is installed. A fit within a fit shares
    the handler of the outer one.
    """
    default = signal.default_int_handler
    possible = on_interrupt == "return" and signal.getsignal(signal.SIGINT) is default
    if _present.get() is not None or not possible:
        yield
        return
    present = Interruption()
    with set_inside(_present, present), handling(present.handle, [signal.SIGINT], default):
        yield


def optional(part: Callable[[], Value]) -> Value | None:
    """Return what a part of the fit returns that Ctrl-C may skip, None if it did."""
    present = _present.get()
    if present is None:
        return part()
    present.may_wait = False
    try:
        return undisturbed(part)()
    except BaseException as error:
        if not was_interrupted(error):
            raise
        present.requested = True
        return None
    finally:
        present.may_wait = True
