"""Conditions of Li and Liang (2017, Li17) on the weights, measured on decoded weights.

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
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Rows
from provenmf.results import Certificate, Check

Array = NDArray[np.float64]

NONZERO = 1e-9  # decoded weights below this share of the largest one of their component are zero
BINARY = 1e-6  # decoded weights this close to 0 or 1 are binary


def decay_order(weights: Rows) -> float:
    """Return the largest q with Pr[x_i ≤ α | x_i ≠ 0] ≤ α^q for all i, in the sample.

    α runs over 1/2, 1/4, … and 3/4, 7/8, …; infinite for binary weights. If N of the p nonzero
    weights of a component are at most α, the condition is q ≤ log(N/p)/log α (Li17, Definition 3).
    """
    grid = np.concatenate([0.5 ** np.arange(29, 0, -1), 1 - 0.5 ** np.arange(2, 21)])
    counts = weights.sum(partial(_counts, grid))
    used, up_to = counts[-1], counts[:-1]
    with np.errstate(divide="ignore"):
        orders = np.log(up_to / np.maximum(used, 1)) / np.log(grid)[:, None]
    return max(float(np.min(orders, where=up_to > 0, initial=math.inf)), 0.0)


def _counts(grid: Array, weights: Array) -> NDArray[np.int64]:
    """Count the nonzero weights of each component up to each value; last, all of them."""
    used = np.where(weights > NONZERO, weights, np.inf)
    bins = [np.searchsorted(np.sort(column), grid, side="right") for column in used.T]
    return np.vstack([np.stack(bins, axis=1), np.isfinite(used).sum(axis=0)])


@dataclass(frozen=True)
class Correlation:
    """(r, k, m, λ) of Li17's Definition 1, for D components."""

    r: float
    k: float
    m: float
    lam: float
    D: int


def certify(fit: Fit) -> Certificate:
    """Measure the quantities of Li17's theorems and their ratios to the conditions.

    How the error fell from stage to stage is in the trace of the run; it cannot be measured again.
    """
    peaks = fit.weights_peaks
    used = peaks > 0
    if not used.any():
        return Certificate(fit.method)
    unit = fit.weight_rows.map(lambda weights: weights[:, used] / peaks[used])
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


def general_correlation(weights: Rows) -> Correlation:
    """Return the smallest r, k, m and the largest λ of Definition 1 for these weights."""

    def products(rows: NDArray[np.floating]) -> tuple[int, Array]:
        wide = rows.astype(np.float64, copy=False)
        return len(wide), wide.T @ wide

    n, summed = weights.sum(products)
    moments, D = summed / n, len(summed)
    k = float(np.diag(moments).max()) * D / 2
    off_diagonal = moments - np.diag(np.diag(moments))
    smallest = max(float(np.linalg.eigvalsh(moments)[0]), 0.0)
    return Correlation(
        r=max(weights.each(lambda w: float(w.sum(axis=1, dtype=np.float64).max(initial=0.0)))),
        k=k,
        m=float(off_diagonal.max()) * D**2,
        lam=ratio(smallest * D, k),
        D=D,
    )


def theorem_1_ratio(c: Correlation) -> float:
    """Return m over k D λ⁴/r⁵."""
    return ratio(c.m * c.r**5, c.k * c.D * c.lam**4)


def theorem_4_ratio(c: Correlation, q: float) -> float:
    """Return m over k D^(1−1/q) λ^(4+4/q) / r^(5+6/(q+1)); infinite where q is zero."""
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


def binary_check(weights: Rows) -> Check:
    """Check that weights are 0 or 1, as Theorems 1 and 5 suppose."""

    def farthest(weights: Array) -> float:
        return float(np.minimum(np.abs(weights), np.abs(weights - 1.0)).max(initial=0.0))

    distance = max(weights.each(farthest))
    return Check(
        "decoded weights are 0 or 1",
        "Li17 Theorems 1, 5",
        "holds" if distance <= BINARY else "fails",
        value=distance,
        threshold=BINARY,
        note="of the decoded weights, each component scaled to a largest weight of 1",
    )


def decay_check(order: float) -> Check:
    """Report q of Definition 3, which must be at least 1; a sample cannot establish it."""
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
    """Report the ratio of a condition that is known up to a constant; decide nothing."""
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
    """Return above/below, infinite for below = 0."""
    return float(above / below) if below > 0 else math.inf
