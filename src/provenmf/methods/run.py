"""One place that owns looping, timing, progress, interruption and stopping of every solver."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from provenmf.errors import InvalidInput
from provenmf.results import StopReason, Trace
from provenmf.signals import interrupted

if TYPE_CHECKING:
    from provenmf.methods.checkpoint import Keeper

logger = logging.getLogger("provenmf")

Callback = Callable[[dict[str, float]], object]

# The checkpoint of the fit under way (`methods.checkpoint`), if it has one.
present_keeper: ContextVar[Keeper | None] = ContextVar("provenmf_checkpoint", default=None)

# Reasons after which the same fit, called again, goes on.
_UNFINISHED = (StopReason.MAX_ITER, StopReason.INTERRUPTED, StopReason.CALLBACK)


class Run:
    """Iterate, record and stop.

    ``for iteration in run`` counts 0, 1, … until `stop` is called, `max_iter` is reached, the
    callback returns True, or the user interrupts a fit that is to return its best result so far
    (`signals.interruption`): then the iteration under way finishes.

    A solver that can resume passes its state to `keeps` and, if `saved` is not None, restores it
    from there before the loop; everything else about checkpoints happens here.

    Parameters
    ----------
    max_iter : largest number of iterations.
    callback : called with each row of the trace; returning True ends the run.
    verbose : 0 is silent; 1 logs every iteration to the logger "provenmf", and shows it on standard
        error if the program has not set up logging.
    name : of the solver, for the log and the checkpoint.
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
        self.stop_reason = StopReason.UNKNOWN
        self._callback = callback
        self._verbose = verbose
        if verbose:
            _show_log()
        self._name = name
        self._rows: list[dict[str, float]] = []
        self._started = time.perf_counter()
        keeper = present_keeper.get()
        self._file = None if keeper is None else keeper.next_run(name)
        self._state: Callable[[], Mapping[str, Any]] | None = None
        self._done = 0
        self.saved: dict[str, Any] | None = None
        if self._file is not None:
            self._resume(self._file.load())

    def _resume(self, stored: dict[str, Any] | None) -> None:
        """Continue where the last checkpoint was written."""
        if stored is None:
            return
        self.saved, self._done, self._rows = stored["state"], stored["done"], stored["rows"]
        if self._done > self.max_iter:
            raise InvalidInput(
                f"is less than the {self._done} iterations in the checkpoint",
                argument="max_iter",
                value=self.max_iter,
                remedy="raise {argument}, or give another folder for the checkpoint",
            )
        if StopReason(stored["stop_reason"]) not in _UNFINISHED:
            self.stop_reason = StopReason(stored["stop_reason"])
        self._started -= self._rows[-1]["seconds"] if self._rows else 0.0

    def keeps(self, state: Callable[[], Mapping[str, Any]]) -> None:
        """Declare before the loop what a checkpoint between two iterations holds."""
        self._state = state

    def __iter__(self) -> Iterator[int]:
        self.saved = None  # the solver has restored it: do not hold its arrays twice
        resumed_at = self._done
        while not self.stop_reason and self._done < self.max_iter:
            yield self._done
            self._done += 1
            if interrupted() and not self.stop_reason:
                self.stop(StopReason.INTERRUPTED)
            self._save_if_due()
        if not self.stop_reason:
            self.stop(StopReason.MAX_ITER)
        if self._file is not None:
            cut_short = self.stop_reason in (StopReason.INTERRUPTED, StopReason.CALLBACK)
            self._file.ended(cut_short=cut_short, iterated=self._done > resumed_at)

    def _save_if_due(self) -> None:
        """Write the checkpoint if it is time, and at the end."""
        if self._file is None or self._state is None:
            return
        if self._file.is_due or self.stop_reason or self._done == self.max_iter:
            self._file.save(
                {
                    "state": self._state(),
                    "done": self._done,
                    "rows": self._rows,
                    "stop_reason": str(self.stop_reason),
                }
            )

    def record(self, **row: float) -> None:
        """Add one row to the trace, with the `seconds` since the start."""
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
        """Return the rows recorded so far, as columns."""
        return Trace.from_rows(self._rows)


def _show_log() -> None:
    """Show log messages of level INFO, which Python drops by default."""
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    if not logger.isEnabledFor(logging.INFO) and logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
