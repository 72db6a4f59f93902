"""What Ctrl-C does to a fit: raise at once, as everywhere in Python, or keep the best so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Literal

OnInterrupt = Literal["raise", "return"]


class Interruption:
    """Whether the user has pressed Ctrl-C since a fit began."""

    def __init__(self) -> None:
        self.requested = False
        self.may_wait = True

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Note the first Ctrl-C; raise the second, or the first where nothing would be lost."""
        if self.requested or not self.may_wait:
            raise KeyboardInterrupt
        self.requested = True

    @contextmanager
    def dispensable(self) -> Iterator[None]:
        """A part of the fit that Ctrl-C skips: the answer is complete without it."""
        self.may_wait = False
        try:
            yield
        except KeyboardInterrupt:
            self.requested = True
        finally:
            self.may_wait = True


_present: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


def interrupted() -> bool:
    """Whether the fit under way should end with what it has."""
    present = _present.get()
    return present is not None and present.requested


@contextmanager
def interruption(on_interrupt: OnInterrupt) -> Iterator[Interruption | None]:
    """Take over Ctrl-C for a fit if it is to "return" what it has, where that is possible.

    Only the main thread can, and only while nobody else decides what Ctrl-C means. A fit within a
    fit shares the outer one's.
    """
    present = _present.get()
    possible = (
        present is None
        and on_interrupt == "return"
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not possible:
        yield present
        return
    present = Interruption()
    token = _present.set(present)
    previous = signal.signal(signal.SIGINT, present.handle)
    try:
        yield present
    finally:
        signal.signal(signal.SIGINT, previous)
        _present.reset(token)
