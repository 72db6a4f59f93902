"""The order of decay of weights in [0, 1] (Li17, Definition 3), exactly as the sample has it.

With sorted nonzero weights x_(1) ≤ … ≤ x_(p) of a component the condition at α = x_(j) is
q ≤ log(j/p)/log x_(j). Weights on workers are not brought here to be sorted. Counting is enough to
leave most of them out: if N of them are at most b, those in (a, b] have

    log(j/p)/log x_(j)  ≥  log(N/p)/log a,

and the last of those up to b has at most log(N/p)/log b. What may hold the least is cut into pieces
until few weights are left, and those come.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import RowArray
from provenmf.blocks.parts import Parts
from provenmf.blocks.rows import of_each, total

Array = NDArray[np.float64]

NONZERO = 1e-9  # decoded weights below this share of the largest one of their component are zero
BELOW_ONE = math.nextafter(1.0, 0.0)
# So many weights may come here, and so many intervals are told apart in one count.
AT_ONCE, INTERVALS, ROUNDS = 1 << 20, 4096, 20


class Span(NamedTuple):
    """Intervals (low, high] of one component's weights, in order; how many are at most `low`."""

    low: Array
    high: Array
    below: NDArray[np.int64]


def decay_order(weights: RowArray) -> float:
    """The largest q with Pr[x_i ≤ α | x_i ≠ 0] ≤ α^q for all i and α, in the sample.

    Infinite for binary weights. If too many weights on workers are nearly the ones that decide, a
    smaller q, which satisfies the condition too.
    """
    used = total(_used, weights)
    spans = [Span(np.array([NONZERO]), np.array([BELOW_ONE]), np.zeros(1, int))] * len(used)
    if isinstance(weights, Parts):
        spans, least = _where_it_is_least(weights, used)
        if least is not None:
            return least
    order = math.inf
    found = zip(*of_each(partial(_within, spans), weights), strict=True)
    for p, span, parts in zip(used, spans, found, strict=True):
        values = np.sort(np.concatenate(parts))
        stops = np.searchsorted(values, span.high, side="right")
        for below, some in zip(span.below, np.split(values, stops[:-1])):
            share = (below + np.arange(1, len(some) + 1)) / p
            order = min(order, float(np.min(np.log(share) / np.log(some), initial=math.inf)))
    return max(order, 0.0)


def _where_it_is_least(weights: Parts, used: NDArray[np.int64]) -> tuple[list[Span], float | None]:
    """Intervals that hold the weights that decide and few others; a bound if there are too many."""
    halves = 0.5 ** np.arange(29, 0, -1)
    edges = np.concatenate([[NONZERO], halves, 1 - 0.5 ** np.arange(2, 53), [BELOW_ONE]])
    low, high = [edges[:-1]] * len(used), [edges[1:]] * len(used)
    column = np.repeat(np.arange(len(used)), len(edges) - 1)
    spans: list[Span] = []
    bound = 0.0
    for _ in range(ROUNDS):
        below, up_to = _counts(weights, low), _counts(weights, high)
        lows, highs = np.concatenate(low), np.concatenate(high)
        with np.errstate(divide="ignore"):
            logs = np.log(up_to / np.maximum(used[column], 1))
        at_least = logs / np.log(np.nextafter(lows, 1.0)) * (1 - 1e-12)
        at_most = logs / np.log(highs)
        kept = (up_to > below) & (at_least <= at_most.min())
        spans = [
            Span(lows[here], highs[here], below[here])
            for here in (kept & (column == j) for j in range(len(used)))
        ]
        if (up_to - below)[kept].sum() <= AT_ONCE:
            return spans, None
        bound = float(at_least[kept].min())
        if kept.sum() > INTERVALS:
            break
        pieces = max(2, INTERVALS // int(kept.sum()))
        cut = [_cut(span, pieces) for span in spans]
        low, high = [ends[0] for ends in cut], [ends[1] for ends in cut]
        column = np.repeat(np.arange(len(used)), [len(some) for some in low])
    return spans, max(bound, 0.0)


def _cut(span: Span, pieces: int) -> tuple[Array, Array]:
    """Every interval in so many pieces; those between neighbouring numbers cannot be cut."""
    edges = np.linspace(span.low, span.high, pieces + 1, axis=1)
    low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    return low[low < high], high[low < high]


def _used(weights: Array) -> NDArray[np.int64]:
    return np.asarray(np.count_nonzero(weights > NONZERO, axis=0))


def _counts(weights: Parts, edges: Sequence[Array]) -> NDArray[np.int64]:
    """How many nonzero weights of each component are at most each of its edges, which ascend."""
    return np.asarray(weights.total(partial(_counted, edges)))


def _counted(edges: Sequence[Array], weights: Array) -> NDArray[np.int64]:
    return np.concatenate(
        [
            np.bincount(
                np.searchsorted(some, column[column > NONZERO]), minlength=len(some) + 1
            ).cumsum()[:-1]
            for some, column in zip(edges, weights.T, strict=True)
        ]
    )


def _within(spans: Sequence[Span], weights: Array) -> list[Array]:
    """The weights of each component that lie in its intervals."""
    return [_those_in(span, column) for span, column in zip(spans, weights.T, strict=True)]


def _those_in(span: Span, column: Array) -> Array:
    if len(span.low) < 2:
        lowest, highest = span.low.min(initial=1.0), span.high.max(initial=0.0)
        values = column[column > lowest]
        return np.asarray(values[values <= highest])
    place = np.minimum(np.searchsorted(span.high, column), len(span.high) - 1)
    return np.asarray(column[(column > span.low[place]) & (column <= span.high[place])])
