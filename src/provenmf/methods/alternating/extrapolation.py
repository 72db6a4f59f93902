"""How far to step beyond the newest factors: Ang & Gillis 2019 (AG19), Algorithm 2.

AG19                     here
beta, beta-bar           length, limit
gamma, gamma-bar, eta    GROW, GROW_LIMIT, SHRINK
"""

from __future__ import annotations

FIRST_LENGTH = 0.5
GROW = 1.05
GROW_LIMIT = 1.01
SHRINK = 1.5


class Extrapolation:
    """Longer steps as long as they help, shorter ones after one that did not."""

    def __init__(self) -> None:
        self.length = FIRST_LENGTH
        self._limit = 1.0
        self._accepted = FIRST_LENGTH

    @classmethod
    def restored(cls, kept: dict[str, float]) -> Extrapolation:
        """The steps that a checkpoint kept."""
        extrapolation = cls()
        vars(extrapolation).update(kept)
        return extrapolation

    def longer(self) -> None:
        """After an iteration that lowered the objective."""
        self._accepted = self.length
        self.length = min(self._limit, GROW * self.length)
        self._limit = min(1.0, GROW_LIMIT * self._limit)

    def shorter(self) -> None:
        """After an iteration that was undone."""
        self._limit, self.length = self._accepted, self.length / SHRINK
