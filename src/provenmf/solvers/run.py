"""One place that owns looping, timing, progress and stopping of every iterative solver."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from provenmf.records import StopReason, Trace
from provenmf.solvers.interruption import OnInterrupt, interrupted, interruption

logger = logging.getLogger("provenmf")

Callback = Callable[[dict[str, float]], object]


class Run:
    """Iterate, record and stop.

    ``for iteration in run`` counts 0, 1, … until `stop` is called, `max_iter` is reached, the
    callback returns True, or the user interrupts where that is to "return" the best so far: then
    the iteration under way finishes.

    Parameters
    ----------
    max_iter : how many iterations at the most.
    callback : called with each row of the trace; returning True ends the run.
    verbose : 0 is silent; 1 logs every iteration to the logger "provenmf", and shows it on standard
        error if the program has not set up logging.
    name : of the solver, for the log.
    on_interrupt : "raise" raises KeyboardInterrupt on Ctrl-C; "return" ends the loop, and a second
        Ctrl-C raises. An estimator decides this for its whole fit, runs included.
    """

    def __init__(
        self,
        max_iter: int,
        *,
        callback: Callback | None = None,
        verbose: int = 0,
        name: str = "",
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.max_iter = max_iter
        self.stop_reason = StopReason.UNKNOWN
        self._callback = callback
        self._verbose = verbose
        if verbose:
            _let_the_log_be_seen()
        self._name = name
        self._rows: list[dict[str, float]] = []
        self._started = time.perf_counter()
        self._on_interrupt = on_interrupt

    def __iter__(self) -> Iterator[int]:
        with interruption(self._on_interrupt):
            for iteration in range(self.max_iter):
                yield iteration
                if interrupted() and not self.stop_reason:
                    self.stop(StopReason.INTERRUPTED)
                if self.stop_reason:
                    return
            self.stop(StopReason.MAX_ITER)

    def record(self, **row: float) -> None:
        """Add one row to the trace; `seconds` since the start comes with it."""
        full = {"seconds": time.perf_counter() - self._started}
        full |= {name: float(value) for name, value in row.items()}
        self._rows.append(full)
        if self._verbose:
            text = "  ".join(f"{name}={value:.4g}" for name, value in full.items())
            logger.info("%s %d: %s", self._name, len(self._rows), text)
        if self._callback is not None and self._callback(full) is True:
            self.stop(StopReason.CALLBACK)

    def stop(self, reason: StopReason) -> None:
        """End the loop after this iteration."""
        self.stop_reason = reason

    @property
    def trace(self) -> Trace:
        """The rows recorded so far, as columns."""
        return Trace.from_rows(self._rows)


def _let_the_log_be_seen() -> None:
    """Python drops messages of this level by default; who asked for them shall see them."""
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if not logger.isEnabledFor(logging.INFO) and logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
