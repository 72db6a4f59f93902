"""AND on a stream of rows: one stage per batch, on sums that fade.

Sums over older batches steady the result against noise, but they were decoded with older and worse
components. So they fade by a fixed factor, and on top of it by the factor by which the components'
movement shrank: fast while the components converge, slowly once noise is all that moves them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.methods.and_descent.decoding import DEPENDENT
from provenmf.methods.and_descent.restart import most_dependent
from provenmf.methods.and_descent.stage import (
    StageRule,
    first_state,
    next_state,
    pass_over,
    relative_movement,
    restarted,
    row_scales_and_length,
)
from provenmf.methods.and_descent.sums import StageSums
from provenmf.results import Trace


class Stream:
    """State between batches.

    keep : factor of the older sums when a new batch arrives and the components no longer
        converge; 0 uses each batch alone.
    """

    def __init__(
        self, blocks: Blocks, start: NDArray[np.floating], rule: StageRule, *, keep: float
    ) -> None:
        scales, self._length = row_scales_and_length(blocks, rule)
        self._state = first_state(blocks, start, scales, rule)
        self._rule = rule
        self._keep = keep
        self._sums: StageSums | None = None
        self._movements = (np.inf, np.inf)
        self._rows: list[dict[str, float]] = []

    def feed(self, blocks: Blocks) -> None:
        """One stage with one batch."""
        scales, _ = row_scales_and_length(blocks, self._rule)
        state = self._state
        if state.independence < DEPENDENT:
            component = most_dependent(state.components, state.decoder)
            state = restarted(blocks, state, scales, component)
            self._sums = None
        sums = pass_over(blocks, state, scales, self._rule)
        if self._sums is not None:
            before, last = self._movements
            shrunk = min(1.0, last / before) if np.isfinite(before) and before > 0 else 0.0
            sums = self._sums.faded_into(sums, self._keep * shrunk)
        self._sums = sums
        self._state = next_state(state, sums, self._rule)
        moved = relative_movement(state.components, self._state.components)
        self._movements = (self._movements[1], moved)
        self._rows.append(
            {
                "alpha": float(np.median(state.thresholds)),
                "support": float(sums.support.sum() / sums.rows),
                "movement": moved,
            }
        )

    @property
    def components(self) -> NDArray[np.float64]:
        """The components so far, at the scale of the first batch."""
        return self._state.components * self._length

    @property
    def trace(self) -> Trace:
        """One row per batch."""
        return Trace.from_rows(self._rows)
