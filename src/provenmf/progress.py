"""Say how far a long computation is: a bar on terminals and in notebooks, elsewhere lines.

Everything goes to standard error, so that standard output stays clean for results.
"""

from __future__ import annotations

import sys
import threading
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Show how far a fit is; give `row` to an estimator as its callback.

    Terminals, and notebooks with ipywidgets, show a bar; anything else gets a line every ten
    seconds, whether or not the solver has reported anything since.

    Parameters
    ----------
    title : str
        What is being done.
    steps : int, optional
        The most iterations there can be: the time left is then an upper bound. Without it only the
        time that has passed is shown.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import HALS
    >>> from provenmf.progress import Progress
    >>> X = np.random.default_rng(0).random((30, 10))
    >>> with Progress("HALS", steps=200) as progress:
    ...     model = HALS(3, random_state=0, callback=progress.row).fit(X)
    """

    def __init__(self, title: str, steps: int | None = None) -> None:
        self.title = title
        self.steps = steps
        self._done = 0.0
        self._started = self._spoken = time.monotonic()
        self._first: tuple[float, float] | None = None  # steps done at the first report, and when
        self._last = (0.0, self._started)
        self._text = title
        self._bar: Any = None
        self._task: Any = None
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() or in_notebook():
            self._open_bar()
        else:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed.set()
        if self._bar is not None:
            self._bar.stop()

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            times_column(self),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self.title, total=self.steps)

    def _tick(self) -> None:
        """Look at the clock now and then, so that a silent solver does not look dead."""
        while not self._closed.wait(1.0):
            self._print_if_due()

    def times(self) -> str:
        """The time that has passed and, where the end is known, the time left."""
        now = time.monotonic()
        left = None if self._ended() else self._seconds_left(now)
        passed = f"{clock_time(now - self._started)} passed"
        return passed if left is None else f"{passed}, at most {clock_time(left)} left"

    def row(self, row: dict[str, float]) -> None:
        """One iteration is done (a solver's callback)."""
        self.reach(self._done + 1)

    def rows_read(self, done: int, total: int) -> None:
        """A pass over a matrix on disk is this far (the callback of `Blocks`)."""
        what = "weights and certificate" if self._ended() else "reading"
        self.say(f"{self.title}: {what}, {done / max(total, 1):.0%} of this pass")

    def documents(self, done: int) -> None:
        """So many documents have been read."""
        self.say(f"{self.title}: {done:,} documents")

    def fraction(self, fraction: float, text: str) -> None:
        """An experiment is this far."""
        self.steps = 1
        self.reach(fraction, text)

    def reach(self, done: float, text: str = "") -> None:
        """So many steps are done."""
        self._done = done
        self._last = (done, time.monotonic())
        self._first = self._first or self._last
        self.say(f"{self.title} {text}".strip())

    def say(self, text: str) -> None:
        """Show a text and the steps done."""
        if self._bar is not None:
            steps = f" ({self._done:.0f})" if self.steps is None and self._done else ""
            self._bar.update(
                self._task, completed=self._done, total=self.steps, description=text + steps
            )
            return
        self._text = text
        self._print_if_due()

    def _print_if_due(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._spoken >= SECONDS_BETWEEN_LINES:
                self._spoken = now
                line = self._line(self._text, now - self._started)
                print(line, file=sys.stderr, flush=True)

    def _ended(self) -> bool:
        """Whether all steps are done, so that only what follows them is left."""
        return self.steps is not None and self._done >= self.steps

    def _line(self, text: str, seconds: float) -> str:
        line = f"{text}: {seconds:.0f} s"
        if self.steps is None:
            recent = self._started + seconds - self._last[1] < SECONDS_BETWEEN_LINES
            return f"{line}, iteration {self._done:.0f}" if self._done and recent else line
        if not self._done or self._ended():
            return line
        line += f", {self._done / self.steps:.0%} done"
        left = self._seconds_left(self._started + seconds)
        return line if left is None else f"{line}, at most {left:.0f} s left"

    def _seconds_left(self, now: float) -> float | None:
        """From the pace since the first report: what came before it is preparation."""
        if self.steps is None or self._first is None or self._last[0] <= self._first[0]:
            return None
        pace = (self._last[1] - self._first[1]) / (self._last[0] - self._first[0])
        left = pace * (self.steps - self._last[0]) - (now - self._last[1])
        return left if left > 0 else None  # slower than it was: nothing can be said


def clock_time(seconds: float) -> str:
    """Minutes and seconds, and hours where there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def times_column(progress: Progress) -> Any:
    """A column of the bar that says which time is which."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Times(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(progress.times())

    return Times()


def in_notebook() -> bool:
    """Whether output goes to a notebook that has what a bar needs, ipywidgets.

    rich is asked only where IPython runs.
    """
    if "IPython" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return Console().is_jupyter
