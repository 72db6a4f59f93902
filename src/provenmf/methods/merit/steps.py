"""Which kind of step MERIT makes next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Open-loop steps after which pairwise steps take over at the latest, and the least number of
# them after which they may do so because the leading rows have not changed for half of the time.
OPEN_LOOP_STEPS = 300
SETTLED_STEPS = 100


class Steps:
    """Which kind of step comes next: open-loop ones first, then pairwise ones.

    After `most_open_loop` steps the pairwise ones begin at the latest; None is never.
    """

    def __init__(self, most_open_loop: int | None) -> None:
        self.t = -1
        self.pairwise = False
        self._most = most_open_loop
        self._first = 0
        self._leaders: frozenset[int] = frozenset()
        self._unchanged_since = 0
        self._objective = np.inf

    def begin_at(self, first_step: int) -> None:
        """Count on from a step, as after a warm start."""
        self._first, self.t = first_step, first_step - 1

    def next_is_open_loop(self, maxima: NDArray[np.float64], n_components: int | None) -> bool:
        """Count one open-loop step, or find that it is time for pairwise ones."""
        if self.pairwise:
            return False
        self.t += 1
        made = self.t - self._first
        leaders = frozenset(np.argsort(-maxima, kind="stable")[: n_components or 1].tolist())
        if leaders != self._leaders:
            self._leaders, self._unchanged_since = leaders, made
        settled = made >= SETTLED_STEPS and made >= 2 * self._unchanged_since
        self.pairwise = self._most is not None and (settled or made >= self._most)
        return not self.pairwise

    def no_longer_lower(self, objective: float, tol: float) -> bool:
        """Whether the last sweep lowered the objective by less than a fraction tol."""
        done = self._objective - objective <= tol * objective
        self._objective = np.inf if done else objective
        return done
