"""Theorems of Liu and Tan (2017) about cone NMF, measured on the data at hand.

Theorem 4 supposes rows in circular cones C(u_k, α_k) that satisfy inequality (1),

    min_{i≠j} α_ij  >  max_{i≠j} max(α_i + 3α_j, 3α_i + α_j),    α_ij the angle of u_i and u_j,

and concludes that Algorithm 1 finds the cones' clusters from any start and Algorithm 2 has

    ‖X − WC‖/‖X‖  ≤  sqrt(Σ ‖X_k‖² sin²α_k / Σ ‖X_k‖²)  ≤  max_k sin α_k.

Nothing else is supposed, so *any* cones that contain the clusters and satisfy (1) make it a
theorem about this data: the cones measured here do as well as those the data came from.

Two statements are weaker in what they need and are kept apart:

* Lemma 1 uses (1) only through min_{i≠j}(α_ij − α_i − α_j) > 2 max_k α_k.
* The error of *these* clusters obeys the weighted bound with no condition on the cones: a
  cluster within α_k of u_k is within sin α_k ‖X_k‖ of the rank-one matrix of its projections on
  u_k, and the leading singular vector does no worse. What is then not proved is that another
  start finds the same clusters.

Theorem 5 of Liu and Tan (2017): the error under a random model of the rows.

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
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from provenmf.certificate.measurement import Fit
from provenmf.linalg.hull import product_rounding
from provenmf.linalg.norms import SAFE_LENGTHS
from provenmf.methods.cones.enclosing_cones import (
    angle_at_least,
    cosines_to_own_axis,
    smallest_cones,
)
from provenmf.methods.cones.kernels import similarity_decimals
from provenmf.methods.separable.margins import EXPANDED
from provenmf.results import Certificate, Check, Measure, Status

PAPER = "Liu17"
# Gauss and Legendre's rule; the integrand is smooth, 40 nodes leave nothing but rounding.
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(40)


def expected_squared_sine(angles: ArrayLike) -> NDArray[np.float64]:
    """Return f(α), the mean of sin² over [0, α] (Eq. (10))."""
    return 0.5 * (1.0 - np.sinc(2.0 * np.asarray(angles, dtype=np.float64) / np.pi))


def theorem_5_limit(angles: ArrayLike, rates: ArrayLike) -> float:
    """Return Δ of Theorem 5, the limit of the bound for many rows."""
    mean_squares = 1.0 / np.asarray(rates, dtype=np.float64)
    means = expected_squared_sine(angles) * mean_squares
    return math.sqrt(float(means.sum() / mean_squares.sum()))


def theorem_5_failure(bound: float, angles: ArrayLike, rates: ArrayLike, n_rows: int) -> float:
    """Bound the probability that the relative error of n rows of the model exceeds `bound`."""
    angles = np.asarray(angles, dtype=np.float64)
    given = np.broadcast_to(np.asarray(rates, dtype=np.float64), angles.shape)
    relative = given / given.max()  # the unit of the data does not matter, and may be tiny
    # sin² at the nodes of the integral over [0, α_k], one row per cone
    excess = np.sin(angles[:, None] * (1 + _NODES) / 2) ** 2 - bound**2
    if excess.max() <= 0:
        return 0.0  # no row of the model reaches it
    if bound <= theorem_5_limit(angles, relative):
        return 1.0
    largest = float((relative / np.maximum(excess.max(axis=1), 1e-300)).min())

    def log_moment(fraction: float) -> float:
        s = fraction * largest
        moments = relative[:, None] / (relative[:, None] - s * excess)
        return math.log(float((moments @ _NODE_WEIGHTS).mean() / 2))

    best: Any = minimize_scalar(log_moment, bounds=(0.0, 1.0), method="bounded")
    return min(1.0, math.exp(n_rows * min(0.0, float(best.fun))))


def theorem_5_bound(
    angles: ArrayLike, rates: ArrayLike, n_rows: int, *, probability: float = 0.99
) -> float:
    """Return an error that n rows of the model stay below with at least this probability."""
    lower = theorem_5_limit(angles, rates)
    upper = float(np.sin(np.max(angles)))

    def excess_failure(bound: float) -> float:
        return theorem_5_failure(bound, angles, rates, n_rows) - (1.0 - probability)

    return float(brentq(excess_failure, lower, upper, xtol=1e-12)) + 1e-12


@dataclass(frozen=True)
class Clusters:
    """Clusters that have rows, numbered without gaps, and the lengths of all rows.

    labels : −1 for rows in no cluster. energy : ‖X_k‖² of each cluster. sizes : its number of rows.
    outside : Σ ‖x‖² of the rows in no cluster; strays : how many of them are not zero.
    """

    labels: NDArray[np.intp]
    lengths: NDArray[np.float64]
    energy: NDArray[np.float64]
    sizes: NDArray[np.int64]
    outside: float
    strays: int


def measured_clusters(fit: Fit) -> Clusters:
    """Measure the lengths of the rows and their sums of squares in each cluster."""
    found = fit.factorization.labels
    if found is None or found.shape != fit.lengths.shape:
        found = np.full(len(fit.lengths), -1, dtype=np.intp)
    squared = fit.lengths**2
    long = fit.lengths > SAFE_LENGTHS[0]  # shorter rows count as zero: their squares underflow
    directed = (found >= 0) & long
    _, members, sizes = np.unique(found[directed], return_inverse=True, return_counts=True)
    labels = np.full(len(squared), -1, dtype=np.intp)
    labels[directed] = members
    energy = np.bincount(members, squared[directed], minlength=sizes.size).astype(np.float64)
    strays = int(np.count_nonzero(long & ~directed))
    return Clusters(labels, fit.lengths, energy, sizes, float(squared[~directed].sum()), strays)


def stray_rows(clusters: Clusters) -> tuple[Check, ...]:
    """Report rows that are not zero and belong to no cluster, if there are any."""
    if not clusters.strays:
        return ()
    note = f"{clusters.strays} rows that are not zero belong to no cluster"
    return (Check("every row in a cluster", f"{PAPER} Algorithm 1", "fails", note=note),)


def smallest(between: NDArray[np.float64]) -> float:
    """Return the smallest angle of two different axes; infinite for one axis."""
    return float(between.min())


def certify(fit: Fit) -> Certificate:
    """Enclose each cluster in a cone and state the bounds that follow."""
    blocks = fit.blocks
    clusters = measured_clusters(fit)
    if not clusters.sizes.size:
        return Certificate(fit.method, checks=stray_rows(clusters))
    enclosing = smallest_cones(blocks, clusters.labels, clusters.lengths, clusters.sizes.size)
    # lower bounds on the pairwise angles of the axes
    between = angle_at_least(enclosing.axes @ enclosing.axes.T, blocks.n_columns)
    np.fill_diagonal(between, np.inf)
    cosines = cosines_to_own_axis(blocks, clusters.labels, clusters.lengths, enclosing.axes)
    distance = rowwise_error(cosines, clusters.lengths)
    bound = weighted_bound(enclosing.angles, clusters) + factor_rounding(fit)
    separated = inequality_1(enclosing.angles, between)
    same = lemma_1(enclosing.angles, between, choice_rounding(fit))
    asked = fit.factorization.parameters.get("n_components")
    numbers = {fit.n_components, asked if isinstance(asked, int) else fit.n_components}
    if numbers != {clusters.sizes.size} or clusters.strays:
        separated, same = without_clusters(separated), without_clusters(same)
    error = error_at_most(fit)
    # An error above the bound by no more than the rounding of its measurement is no violation.
    if 2 * fit.relative_error - error <= bound:
        bound = max(bound, error)
    achieved = error_check(error, bound)
    bounds = {}
    if achieved.status == "holds":
        if separated.status == "holds" and same.status == "holds":
            bounds["relative_error"] = bound
            widest = max_bound(enclosing.angles) + factor_rounding(fit)
            bounds["relative_error_max_form"] = max(bound, widest)
        bounds["cluster_relative_error"] = bound
    measures: dict[str, Measure] = {
        "size_angles": tuple(enclosing.angles),
        "size_angles_slack": float((enclosing.angles - enclosing.least_angles).max()),
        "largest_sine": max_bound(enclosing.angles),
        "relative_distance_from_axes": distance,
    }
    if clusters.sizes.size > 1:
        measures["smallest_axis_angle"] = smallest(between)
    checks = (*stray_rows(clusters), separated, same, achieved)
    return Certificate(fit.method, checks, bounds, measures)


def inequality_1(angles: NDArray[np.float64], between: NDArray[np.float64]) -> Check:
    """Check Liu17, inequality (1), for size angles and the pairwise angles of the axes."""
    name, theorem = "cones far apart, inequality (1)", f"{PAPER} Theorem 4"
    if angles.size == 1:
        return Check(name, theorem, "holds", note="one cone: there is nothing to keep apart")
    needed = largest_side_of_inequality_1(angles)
    nearest = smallest(between)
    if nearest > needed:
        return Check(name, theorem, "holds", nearest, needed, direction=">=")
    note = (
        f"the nearest axes are {needed - nearest:.3g} rad too close for these size angles; other "
        "cones around the clusters might satisfy it"
    )
    return Check(name, theorem, "fails", nearest, needed, note, ">=")


def largest_side_of_inequality_1(angles: NDArray[np.float64]) -> float:
    """Return max over i ≠ j of α_i + 3α_j: three times the largest size angle plus the second."""
    second, first = np.sort(angles)[-2:]
    return float(3 * first + second) * (1 + 4 * sys.float_info.epsilon)


def lemma_1(
    angles: NDArray[np.float64], between: NDArray[np.float64], rounding: float = 0.0
) -> Check:
    """Check Lemma 1: rows of two cones are farther apart than rows of one.

    The method compares cosines that are known within `rounding` only; they must differ by more.
    """
    name, theorem = "same clusters from any start", f"{PAPER} Lemma 1"
    if angles.size == 1:
        return Check(name, theorem, "holds", note="one cluster")
    apart = smallest(between - angles[:, None] - angles[None, :])
    widest = 2 * float(angles.max())
    if apart > widest and math.cos(min(widest, math.pi)) - math.cos(apart) > rounding:
        note = (
            "rows of different clusters are farther apart than any two of one cluster: any first "
            "centroid gives these clusters if this number of them is asked for"
        )
        return Check(name, theorem, "holds", apart, widest, note, ">=")
    note = "not shown by these cones; another first centroid may give other clusters"
    if apart > widest:
        note = "the angles differ by less than the rounding of the method's comparisons"
    return Check(name, theorem, "unknown", apart, widest, note, ">=")


def without_clusters(check: Check) -> Check:
    """Make a condition unknown where not every requested component has a cluster."""
    note = "not every component that was asked for has a cluster, or not every row is in one"
    return replace(check, status="unknown", note=note)


def choice_rounding(fit: Fit) -> float:
    """Return the smallest difference of cosines that farthest-first resolves in its precision.

    It rounds them to a number of decimals and takes those as near that differ by less than one
    unit of the last; each has a rounding error beside.
    """
    dtype = fit.given.dtype
    computed = (2 * fit.blocks.n_columns + 8) * float(np.finfo(dtype).eps)
    return 2 * 10.0 ** -similarity_decimals(dtype) + 2 * computed


def factor_rounding(fit: Fit) -> float:
    """Bound what rounding the factors to the data's precision adds to the relative error."""
    return 16 * float(np.finfo(fit.given.dtype).eps)


def error_at_most(fit: Fit) -> float:
    """Return the relative error plus the rounding of its measurement."""
    k, d = fit.components.shape
    terms = product_rounding(k) + product_rounding(d) + product_rounding(len(fit.lengths))
    expanded = EXPANDED if fit.blocks.is_sparse else 1.0
    return fit.relative_error + terms * expanded * (2 + fit.relative_error)


def error_check(error: float, bound: float) -> Check:
    """Compare the error of the factorization with the bound of its clusters."""
    status: Status = "holds" if error <= bound else "fails"
    note = "" if status == "holds" else "not the rank-one fits of these clusters: no bound follows"
    return Check(
        "error within the cones' bound", f"{PAPER} (5) and (6)", status, error, bound, note
    )


def rowwise_error(cosines: NDArray[np.float64], lengths: NDArray[np.float64]) -> float:
    """Return the root of D_N, Eq. (9): relative distance of the rows from their axes."""
    squared_sines = np.maximum(1.0 - cosines**2, 0.0)
    return math.sqrt(float(squared_sines @ lengths**2 / (lengths @ lengths)))


def weighted_bound(angles: NDArray[np.float64], clusters: Clusters) -> float:
    """Return sqrt(Σ ‖X_k‖² sin²α_k / Σ ‖X_k‖²), the end of the proof of Theorem 4, rounded up.

    Rows in no cluster count as a whole: nothing of them is explained.
    """
    left = float(clusters.energy @ np.sin(angles) ** 2) + clusters.outside
    mean = left / (float(clusters.energy.sum()) + clusters.outside)
    return min(1.0, math.sqrt(mean) * (1 + product_rounding(len(clusters.lengths))))


def max_bound(angles: NDArray[np.float64]) -> float:
    """Return max_k sin α_k (Eq. (4)), rounded up."""
    return min(1.0, float(np.sin(angles.max())) * (1 + 4 * sys.float_info.epsilon))
