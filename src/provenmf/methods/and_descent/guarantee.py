"""What Li and Liang (2017, Li17) ask of the weights, measured on decoded weights.

Their theorems speak of the distribution of the true weights x ∈ [0, 1]^D and hide constants in
O(·). What can be measured are the weights of a result, each component scaled so that its largest
weight is 1. From them come the numbers of Definition 1 (r, k, m, λ) and of Definition 3 (q), and
with them the *ratio* of m to each theorem's condition; below one is good, but no ratio makes a
theorem hold.

    Definition 1, Δ = E[xxᵀ]:  r = max ‖x‖₁,  Δ_ii ≤ 2k/D,  Δ_ij ≤ m/D²,  Δ ⪰ (k/D) λ I
    Definition 3:              Pr[x_i ≤ α | x_i ≠ 0] ≤ α^q
    Theorem 1, x binary:       m = O(k D λ⁴ / r⁵)
    Theorem 4:                 m = O(k D^(1−1/q) λ^(4+4/q) / r^(5+6/(q+1)))
    Theorem 5, x binary:       ‖A − A*Σ‖₂ = O(ε + r σ_max(A*)/(σ_min(A*) λ) γ),  ‖noise‖ ≈ γ per row

The remark after Theorem 4 has D^(1−1/(q+1)) for D^(1−1/q); the theorem's own form is used here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import RowArray
from provenmf.data.parts import Parts
from provenmf.data.rows import mapped, of_each, total
from provenmf.results import Certificate, Check

# The order of decay of weights in [0, 1] (Li17, Definition 3), exactly as the sample has it.
#
# With sorted nonzero weights x_(1) ≤ … ≤ x_(p) of a component the condition at α = x_(j) is
# q ≤ log(j/p)/log x_(j). Weights on workers are not brought here to be sorted. Counting is enough
# to
# leave most of them out: if N of them are at most b, those in (a, b] have
#
#     log(j/p)/log x_(j)  ≥  log(N/p)/log a,
#
# and the last of those up to b has at most log(N/p)/log b. What may hold the least is cut into
# pieces
# until few weights are left, and those come.

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


BINARY = 1e-6  # decoded weights this close to 0 or 1 are binary


@dataclass(frozen=True)
class Correlation:
    """(r, k, m, λ) of Li17's Definition 1, for D components."""

    r: float
    k: float
    m: float
    lam: float
    D: int


def certify(fit: Fit) -> Certificate:
    """The quantities of Li17's theorems on this result, and the ratios to their conditions.

    How the error fell from stage to stage is in the trace of the run; it cannot be measured again.
    """
    peaks = fit.weights_peaks
    used = peaks > 0
    if not used.any():
        return Certificate(fit.method)
    unit = mapped(lambda weights: weights[:, used] / peaks[used], fit.weight_rows)
    numbers = general_correlation(unit)
    order = decay_order(unit)
    noise = fit.error / math.sqrt(fit.blocks.n_rows)
    singular = np.linalg.svd(fit.components[used] * peaks[used, None], compute_uv=False)
    checks = (
        binary_check(unit),
        ratio_check("correlation small enough", "Li17 Theorem 1", theorem_1_ratio(numbers)),
        decay_check(order),
        ratio_check("correlation small enough", "Li17 Theorem 4", theorem_4_ratio(numbers, order)),
        ratio_check("noise small enough", "Li17 Theorem 5", ratio(noise, singular[-1])),
    )
    measures = {
        "gcc_r": numbers.r,
        "gcc_k": numbers.k,
        "gcc_m": numbers.m,
        "gcc_lambda": numbers.lam,
        "decay_order_q": order,
        "noise_level": noise * fit.unit,
        "noise_blow_up": ratio(numbers.r * singular[0], singular[-1] * numbers.lam),
    }
    return Certificate(fit.method, checks=checks, measures=measures)


def general_correlation(weights: RowArray) -> Correlation:
    """The smallest r, k, m and the largest λ with which these weights satisfy Definition 1."""

    def products(rows: NDArray[np.floating]) -> tuple[int, Array]:
        wide = rows.astype(np.float64, copy=False)
        return len(wide), wide.T @ wide

    n, summed = total(products, weights)
    moments, D = summed / n, len(summed)
    k = float(np.diag(moments).max()) * D / 2
    off_diagonal = moments - np.diag(np.diag(moments))
    smallest = max(float(np.linalg.eigvalsh(moments)[0]), 0.0)
    return Correlation(
        r=max(of_each(_largest_sum, weights)),
        k=k,
        m=float(off_diagonal.max()) * D**2,
        lam=ratio(smallest * D, k),
        D=D,
    )


def _largest_sum(weights: NDArray[np.floating]) -> float:
    return float(weights.sum(axis=1, dtype=np.float64).max(initial=0.0))


def theorem_1_ratio(c: Correlation) -> float:
    """m over k D λ⁴/r⁵."""
    return ratio(c.m * c.r**5, c.k * c.D * c.lam**4)


def theorem_4_ratio(c: Correlation, q: float) -> float:
    """m over k D^(1−1/q) λ^(4+4/q) / r^(5+6/(q+1)); infinite where q is zero."""
    if q <= 0 or c.lam <= 0:
        return math.inf
    logarithm = (
        (math.log(c.m) if c.m > 0 else -math.inf)
        + (5 + 6 / (q + 1)) * math.log(c.r)
        - math.log(c.k)
        - (1 - 1 / q) * math.log(c.D)
        - (4 + 4 / q) * math.log(c.lam)
    )
    return math.exp(logarithm) if logarithm < 700 else math.inf


def binary_check(weights: RowArray) -> Check:
    """Theorems 1 and 5 suppose weights that are 0 or 1."""
    distance = max(of_each(_farthest_from_binary, weights))
    return Check(
        "decoded weights are 0 or 1",
        "Li17 Theorems 1, 5",
        "holds" if distance <= BINARY else "fails",
        value=distance,
        threshold=BINARY,
        note="of the decoded weights, each component scaled to a largest weight of 1",
    )


def _farthest_from_binary(weights: Array) -> float:
    return float(np.minimum(np.abs(weights), np.abs(weights - 1.0)).max(initial=0.0))


def decay_check(order: float) -> Check:
    """Definition 3 wants q ≥ 1; a sample cannot establish a property of the distribution."""
    return Check(
        "decay order q at least 1",
        "Li17 Definition 3",
        "unknown",
        value=order,
        threshold=1.0,
        note="measured on the decoded weights (if they are binary, any q will do); the theorem "
        "speaks of their distribution",
        direction=">=",
    )


def ratio_check(name: str, theorem: str, value: float) -> Check:
    """A condition known up to a constant: report the ratio, decide nothing."""
    return Check(
        name,
        theorem,
        "unknown",
        value=value,
        note="ratio to the condition without its constant, which the paper does not give"
        if math.isfinite(value)
        else "no constant would do: moments or components are singular",
    )


def ratio(above: float, below: float) -> float:
    """above/below, infinite for below = 0."""
    return float(above / below) if below > 0 else math.inf
