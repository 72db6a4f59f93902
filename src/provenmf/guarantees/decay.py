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
        weights = weights.mapped(_in_order)
        spans, least = _where_it_is_least(weights, used)
        if least is not None:
            return least
    order = math.inf
    for column, (p, span) in enumerate(zip(used, spans, strict=True)):
        if not len(span.low):
            continue
        values = np.concatenate(list(of_each(partial(_within, span, column), weights)))
        values.sort()
        stops = np.searchsorted(values, span.high, side="right")
        for below, some in zip(span.below, np.split(values, stops[:-1]), strict=True):
            share = (below + np.arange(1, len(some) + 1)) / p
            order = min(order, float(np.min(np.log(share) / np.log(some), initial=math.inf)))
    return max(order, 0.0)


def _where_it_is_least(weights: Parts, used: NDArray[np.int64]) -> tuple[list[Span], float | None]:
    """Intervals that hold the weights that decide and few others; a bound if there are too many.

    Parts of the weights are in order.
    """
    halves = 0.5 ** np.arange(29, 0, -1)
    edges = np.concatenate([[NONZERO], halves, 1 - 0.5 ** np.arange(2, 53), [BELOW_ONE]])
    low, high = [edges[:-1]] * len(used), [edges[1:]] * len(used)
    column = np.repeat(np.arange(len(used)), len(edges) - 1)
    spans: list[Span] = []
    bound = 0.0
    for _ in range(ROUNDS):
        below, up_to = weights.total(partial(_counts, (low, high)))
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


def _in_order(weights: Array) -> Array:
    """The weights of each component, sorted and next to each other."""
    return np.asfortranarray(np.sort(weights, axis=0))


def _counts(several: Sequence[Sequence[Array]], weights: Array) -> tuple[NDArray[np.int64], ...]:
    """How many nonzero weights of each component, in order, are at most each of its edges."""
    zeros = [np.searchsorted(column, NONZERO, side="right") for column in weights.T]
    return tuple(
        np.concatenate(
            [
                np.searchsorted(column, some, side="right") - zero
                for column, some, zero in zip(weights.T, edges, zeros, strict=True)
            ]
        )
        for edges in several
    )


def _within(span: Span, number: int, weights: Array) -> Array:
    """The weights of one component that lie in its intervals."""
    column = weights[:, number]
    values = column[(column > span.low[0]) & (column <= span.high[-1])]
    if len(span.low) == 1:
        return np.asarray(values)
    return np.asarray(values[values > span.low[np.searchsorted(span.high, values)]])
