"""Reading the anchors, and where it is not given their number, off the largest entries of C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks, as_blocks
from provenmf.errors import DegenerateData, warn_user
from provenmf.methods.interruption import interrupted
from provenmf.methods.merit.dictionary import representatives
from provenmf.methods.merit.mixture import Mixture
from provenmf.methods.merit.spread import SpreadMixture
from provenmf.methods.separable.hull import squared_distances

Rows = NDArray[np.intp]

# A row that holds at least this much of some row is a strong candidate.
STRONG = 0.5
SURPLUS = 12  # strong candidates compared at the most, beyond the number asked for
SAMPLE_ROWS = 3000  # rows on which they are compared


def choose_anchors(
    mixture: Mixture | SpreadMixture,
    maxima: NDArray[np.float64],
    n_components: int | None,
    fallback: Rows,
    radius: float,
    *,
    by_maxima: bool,
) -> tuple[Rows, float]:
    """Rows with the largest maxima, largest first, and the gap between the last one and the next.

    With n_components=None the number is where the sorted maxima drop most. If more rows than asked
    for are strong, the maxima do not decide between them, and those are kept that explain the data
    best (not if `by_maxima`, as in the paper). If fewer rows than asked for are in use at all,
    rows of `fallback` that are no duplicates fill up.
    """
    order = np.argsort(-maxima, kind="stable")
    used = order[maxima[order] > 0]
    sorted_maxima = np.append(maxima[used], 0.0)
    drops = sorted_maxima[:-1] - sorted_maxima[1:]
    if n_components is None:
        n_components = int(np.argmax(drops)) + 1
    strong = used[maxima[used] >= STRONG][: n_components + SURPLUS]
    if len(strong) > n_components and not by_maxima:
        chosen = best_explaining(mixture, mixture.dictionary[strong], n_components)
        return chosen, float(drops[n_components - 1])
    chosen = mixture.dictionary[used[:n_components]]
    if len(chosen) == n_components:
        return chosen, float(drops[n_components - 1])
    both = np.concatenate([chosen, np.setdiff1d(fallback, chosen, assume_unique=True)])
    filled = representatives(mixture.rows(both), both, radius)[:n_components]
    if len(filled) < n_components:
        warn_user(
            DegenerateData(
                f"is too many: {len(filled)} rows explain every row",
                argument="n_components",
                value=n_components,
                remedy=f"{len(filled)} components are returned; ask for at most that many",
            )
        )
    return filled, 0.0


def best_explaining(mixture: Mixture | SpreadMixture, candidates: Rows, n_components: int) -> Rows:
    """Drop the candidate that the data miss least, again and again, until enough are left.

    Ctrl-C ends this, as it takes long: the first candidates are left, as if by their maxima.
    """
    sample = np.unique(np.linspace(0, mixture.n_rows - 1, SAMPLE_ROWS).astype(np.intp))
    some = as_blocks(mixture.rows(np.union1d(sample, candidates)))
    corners = mixture.rows(candidates)
    while len(candidates) > n_components:
        losses: list[float] = []
        for i in range(len(candidates)):
            if interrupted():
                return candidates[:n_components]
            losses.append(missed(some, np.delete(corners, i, axis=0)))
        least = int(np.argmin(losses))
        candidates, corners = np.delete(candidates, least), np.delete(corners, least, axis=0)
    return candidates


def missed(rows: Blocks, corners: NDArray[np.floating]) -> float:
    """Total squared distance of the rows to the hull of the corners."""
    return float(squared_distances(rows, corners).sum())
