"""Show progress: a bar on terminals and in notebooks, lines elsewhere.

Everything goes to standard error, so that standard output stays clean for results.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from importlib.util import find_spec
from typing import Any

from provenmf.errors import counted

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Show how far a fit is; give `row` to an estimator as its callback.

    Terminals, and notebooks with ipywidgets, show a bar; anything else gets a line every ten
    seconds, whether or not the solver has reported anything since. With `steps`, the most
    iterations there can be, an upper bound of the time left is shown.
    """

    def __init__(self, title: str, steps: int | None = None) -> None:
        self.title, self.steps = title, steps
        self._done, self._text = 0.0, title
        self._started = self._spoken = time.monotonic()
        self._first: tuple[float, float] | None = None  # steps done at the first report, and when
        self._bar: Any = None
        self._closed, self._lock = threading.Event(), threading.Lock()

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() or in_notebook():
            self._open_bar()
        else:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closed.set()
        if self._bar is not None:
            self._bar.stop()

    def _open_bar(self) -> None:
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=20),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[left]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._bar.add_task(self.title, total=self.steps, left="")

    def _tick(self) -> None:
        """Refresh the display regularly while a solver reports nothing."""
        while not self._closed.wait(1.0):
            self._print_if_due()

    def time_left(self) -> str:
        """Return the time left where the end is known, from the pace since the first report."""
        if self.steps is None or self._first is None:
            return ""
        done, began = self._first
        if not done < self._done < self.steps:
            return ""
        pace = (time.monotonic() - began) / (self._done - done)
        return f"at most {clock_time(pace * (self.steps - self._done))} left"

    def row(self, row: dict[str, float]) -> None:
        """Count one iteration (a solver's callback)."""
        self.reach(self._done + 1)

    def rows_read(self, done: int, total: int) -> None:
        """Show how far a pass over a matrix on disk is (the callback of `Blocks`)."""
        ended = self.steps is not None and self._done >= self.steps
        what = "weights and certificate" if ended else "reading"
        self.say(f"{self.title}: {what}, {done / max(total, 1):.0%} of this pass")

    def documents(self, done: int) -> None:
        """Show the number of documents that have been read."""
        self.say(f"{self.title}: {done:,} documents")

    def part(self, done: int, total: int) -> None:
        """Show how many of a known number of steps are done."""
        self.steps = total
        self.reach(done)

    def reach(self, done: float, text: str = "") -> None:
        """Show the number of steps that are done."""
        self._done = done
        self._first = self._first or (done, time.monotonic())
        self.say(f"{self.title} {text}".strip())

    def say(self, text: str) -> None:
        """Show a text, and the iterations done where their number is not known."""
        open_end = self.steps is None and self._done
        self._text = f"{text} ({counted(int(self._done), 'iteration')})" if open_end else text
        if self._bar is None:
            self._print_if_due()
            return
        state = {"completed": self._done, "total": self.steps, "left": self.time_left()}
        self._bar.update(self._bar.task_ids[0], description=self._text, **state)

    def _print_if_due(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._spoken >= SECONDS_BETWEEN_LINES:
                self._spoken = now
                share = f"{self._done / self.steps:.0%} done" if self.steps and self._done else ""
                said = [f"{clock_time(now - self._started)} passed", share, self.time_left()]
                line = f"{self._text}: {', '.join(filter(None, said))}"
                tell(line)


def tell(text: str) -> None:
    """Print to standard error, as long as it has a reader."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def clock_time(seconds: float) -> str:
    """Return a duration as minutes and seconds, with hours if needed."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def in_notebook() -> bool:
    """Return whether output goes to a notebook that has what a bar needs, ipywidgets."""
    if "IPython" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return Console().is_jupyter
