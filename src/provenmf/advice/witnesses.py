"""What each kind of evidence says about the number of components, and what they say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from provenmf.advice.rank_table import RankTable
from provenmf.advice.spectrum import MARGIN

# Silhouettes this near to the largest one count as equal; below the second number, components are
# said not to come back.
AS_CLEAR, COME_BACK = 0.01, 0.6
# Held-out errors this near to the least one are as good.
AS_GOOD = 0.01


@dataclass(frozen=True)
class Witness:
    """One kind of evidence: its number, None where it says nothing, and why."""

    name: str
    n_components: int | None
    reason: str


def witnesses_of(table: RankTable) -> tuple[Witness, ...]:
    """Held-out error, stability, spectrum, and for counts coherence, which has no vote."""
    found = [held_out(table), stable(table), above_noise(table)]
    if table.coherence is not None:
        best = int(np.argmax(table.coherence))
        said = f"highest NPMI, {table.coherence[best]:.2f}; not used in the choice"
        found.append(Witness("coherence", table.ranks[best], said))
    return tuple(found)


def held_out(table: RankTable) -> Witness:
    """The smallest number that predicts hidden entries as well as the best one."""
    name, means = "held-out error", table.held_out.mean(axis=0)
    best = int(np.argmin(means))
    worse = table.held_out - table.held_out[:, [best]]  # under the same masks
    repeats = len(worse)
    spread = worse.std(axis=0, ddof=1) if repeats > 1 else np.zeros(len(means))
    slack = np.maximum(AS_GOOD * means[best], spread / np.sqrt(repeats))
    chosen = int(np.argmax(worse.mean(axis=0) <= slack))
    k = table.ranks[chosen]
    if best == len(table.ranks) - 1 and len(table.ranks) > 1 and chosen == best:
        return Witness(name, None, f"still falls at {k}, the largest number tried")
    if chosen == best:
        return Witness(name, k, f"smallest error on held-out entries, {means[best]:.3g}")
    return Witness(
        name, k, f"error {means[chosen]:.3g}, as good as the smallest ({means[best]:.3g})"
    )


def stable(table: RankTable) -> Witness:
    """The number whose components come back most clearly in resamples."""
    name, scores = "stability", np.nan_to_num(table.silhouette, nan=-1.0)
    best = float(scores.max())
    if best < COME_BACK:
        return Witness(name, None, "no number above 1 has components that resamples find again")
    k = table.ranks[int(np.flatnonzero(scores >= best - AS_CLEAR)[-1])]
    return Witness(name, k, f"resamples find the same components (silhouette {best:.2f})")


def above_noise(table: RankTable) -> Witness:
    """How many singular values stand above the noise."""
    name = "spectrum"
    if table.spectrum is None:
        return Witness(name, None, "not available with missing entries")
    k = table.spectrum.n_components
    if k > max(table.ranks):
        return Witness(name, None, f"more than {max(table.ranks)} singular values exceed the noise")
    if k == 0:
        return Witness(name, None, "no singular value exceeds the noise")
    return Witness(name, k, f"singular values above {MARGIN} times the noise")


def together(witnesses: Sequence[Witness]) -> tuple[int | None, int | None, int | None]:
    """The number that two witnesses share, and the lowest and highest number that one has.

    Coherence has no vote: it rates words, and rewards few topics.
    """
    votes = [
        w.n_components for w in witnesses if w.n_components is not None and w.name != "coherence"
    ]
    if not votes:
        return None, None, None
    number, count = Counter(votes).most_common(1)[0]
    return (number if count >= 2 else None), min(votes), max(votes)
