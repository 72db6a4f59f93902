"""One place that owns looping, timing, progress and stopping of every iterative solver."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from provenmf.records import Trace

logger = logging.getLogger("provenmf")

Callback = Callable[[dict[str, float]], Any]


class Run:
    """Iterate, record and stop.

    ``for iteration in run`` counts 0, 1, … until `stop` is called, `max_iter` is reached, the
    callback returns True, or the user interrupts. An interruption (Ctrl-C) lets the iteration
    under way finish, so the best answer so far is kept; a second one is raised at once.

    Parameters
    ----------
    max_iter : how many iterations at the most.
    callback : called with each row of the trace; returning True ends the run.
    verbose : 0 is silent; 1 logs every iteration to the logger "provenmf", and shows it on standard
        error if the program has not set up logging.
    name : of the solver, for the log.
    """

    def __init__(
        self,
        max_iter: int,
        *,
        callback: Callback | None = None,
        verbose: int = 0,
        name: str = "",
    ) -> None:
        self.max_iter = max_iter
        self.stop_reason = ""
        self._callback = callback
        self._verbose = verbose
        if verbose:
            _let_the_log_be_seen()
        self._name = name
        self._rows: list[dict[str, float]] = []
        self._started = time.perf_counter()
        self._interrupted = False

    def __iter__(self) -> Iterator[int]:
        previous = self._listen()
        try:
            for iteration in range(self.max_iter):
                yield iteration
                if self._interrupted and not self.stop_reason:
                    self.stop("interrupted")
                if self.stop_reason:
                    return
            self.stop("max_iter")
        finally:
            if previous is not None:
                signal.signal(signal.SIGINT, previous)

    def record(self, **row: float) -> None:
        """Add one row to the trace; `seconds` since the start comes with it."""
        full = {"seconds": time.perf_counter() - self._started}
        full |= {name: float(value) for name, value in row.items()}
        self._rows.append(full)
        if self._verbose:
            text = "  ".join(f"{name}={value:.4g}" for name, value in full.items())
            logger.info("%s %d: %s", self._name, len(self._rows), text)
        if self._callback is not None and self._callback(full) is True:
            self.stop("callback")

    def stop(self, reason: str) -> None:
        """End the loop after this iteration."""
        self.stop_reason = reason

    @property
    def trace(self) -> Trace:
        """The rows recorded so far, as columns."""
        return Trace.from_rows(self._rows)

    def _listen(self) -> Any:
        """Take over Ctrl-C where that is possible: in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return None
        previous = signal.getsignal(signal.SIGINT)
        if previous is not signal.default_int_handler:
            return None  # somebody else already decides what Ctrl-C means

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True

        signal.signal(signal.SIGINT, interrupt)
        return previous


def _let_the_log_be_seen() -> None:
    """Python drops messages of this level by default; who asked for them shall see them."""
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if not logger.isEnabledFor(logging.INFO) and logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
