"""Theorem 5 of Liu and Tan (2017): the error under a random model of the rows.

A row picks one of K cones with equal probability, an angle uniform in [0, α_k] to its axis and a
*squared* length from the exponential distribution with rate λ_k. Then for small ε > 0

    relative error ≤ Δ + ε,   Δ² = Σ f(α_k)/λ_k / Σ 1/λ_k,   f(α) = 1/2 − sin(2α)/(4α),

with probability at least 1 − 8 exp(−ξ n ε²). The paper leaves ξ open. Differs: here the
probability comes from Chernoff's inequality for the very sum that the proof bounds,

    P(Σ L_n² sin²B_n ≥ t Σ L_n²)  ≤  min_s E[exp(s L²(sin²B − t))]ⁿ,

whose expectation is known: exp(s l) averages to λ/(λ − s) for an exponential l of rate λ > s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from provenmf.records import Check

PAPER = "Liu17"
# Gauss and Legendre's rule; the integrand is smooth, 40 nodes leave nothing but rounding.
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(40)


def expected_squared_sine(angles: ArrayLike) -> NDArray[np.float64]:
    """f(α), the mean of sin² over [0, α] (Eq. (10))."""
    return 0.5 * (1.0 - np.sinc(2.0 * np.asarray(angles, dtype=np.float64) / np.pi))


def theorem_5_limit(angles: ArrayLike, rates: ArrayLike) -> float:
    """Δ of Theorem 5: what the bound tends to with many rows."""
    mean_squares = 1.0 / np.asarray(rates, dtype=np.float64)
    means = expected_squared_sine(angles) * mean_squares
    return math.sqrt(float(means.sum() / mean_squares.sum()))


def theorem_5_failure(bound: float, angles: ArrayLike, rates: ArrayLike, n_rows: int) -> float:
    """Probability, at most, that the relative error of n rows of the model exceeds `bound`."""
    angles = np.asarray(angles, dtype=np.float64)
    rates = np.broadcast_to(np.asarray(rates, dtype=np.float64), angles.shape)
    excess = _squared_sines(angles) - bound**2
    if excess.max() <= 0:
        return 0.0  # no row of the model reaches it
    if bound <= theorem_5_limit(angles, rates):
        return 1.0
    largest = float((rates / np.maximum(excess.max(axis=1), 1e-300)).min())

    def log_moment(fraction: float) -> float:
        s = fraction * largest
        moments = rates[:, None] / (rates[:, None] - s * excess)
        return math.log(float((moments @ _NODE_WEIGHTS).mean() / 2))

    best: Any = minimize_scalar(log_moment, bounds=(0.0, 1.0), method="bounded")
    return min(1.0, math.exp(n_rows * min(0.0, float(best.fun))))


def theorem_5_bound(
    angles: ArrayLike, rates: ArrayLike, n_rows: int, *, probability: float = 0.99
) -> float:
    """Relative error that n rows of the model stay below with at least this probability."""
    lower = theorem_5_limit(angles, rates)
    upper = float(np.sin(np.max(angles)))

    def excess_failure(bound: float) -> float:
        return theorem_5_failure(bound, angles, rates, n_rows) - (1.0 - probability)

    return float(brentq(excess_failure, lower, upper, xtol=1e-12)) + 1e-12


def fitted_model(angles: ArrayLike, rates: ArrayLike, n_rows: int, distance: float) -> Check:
    """Theorem 5's limit if the model is fitted to the measured cones.

    Never decided: a model that fits need not be the truth, and where the fitted one is unlikely
    another one, with wider cones, may have made the rows.
    """
    chance = theorem_5_failure(distance, angles, rates, n_rows)
    note = (
        "the limit of a model fitted to these cones, against the rows' distance from the axes; its "
        f"rows come this far with probability at most {chance:.2g}"
    )
    limit = theorem_5_limit(angles, rates)
    return Check(
        "angles uniform, lengths random", f"{PAPER} Theorem 5", "unknown", distance, limit, note
    )


def _squared_sines(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """sin² at the nodes of the integral over [0, α_k], one row per cone."""
    return np.sin(angles[:, None] * (1 + _NODES) / 2) ** 2
