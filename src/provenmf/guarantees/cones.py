"""What Liu and Tan (2017) prove about cone NMF, measured on the data at hand.

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
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.guarantees.caps import cosines_to_own_axis, smallest_caps
from provenmf.guarantees.cone_clusters import (
    Clusters,
    axis_angles,
    centroid_angles,
    core_of_the_clusters,
    gap_of_the_angles,
    measured_clusters,
    rows_apart,
    smallest,
    stray_rows,
)
from provenmf.guarantees.cone_model import PAPER, fitted_model, theorem_5_bound, theorem_5_limit
from provenmf.guarantees.explanation import EXPANDED
from provenmf.guarantees.fit import Fit
from provenmf.linalg.angles import similarity_decimals
from provenmf.linalg.hull import product_rounding
from provenmf.records import Certificate, Check, Estimate, Measure, Status

CONFIDENCE = 0.99
MODEL = "the rows come from Theorem 5's model with the given size angles and rates"


def certify(
    fit: Fit,
    *,
    size_angles: ArrayLike | None = None,
    rates: ArrayLike | None = None,
) -> Certificate:
    """Enclose each cluster in a cone and say what follows.

    `size_angles` and `rates` are parameters of Theorem 5's model where they are known; its bound,
    which holds with a probability, is then among the estimates.
    """
    blocks = fit.blocks
    clusters = measured_clusters(fit)
    if not clusters.sizes.size:
        return Certificate(fit.method, checks=stray_rows(clusters))
    caps = smallest_caps(blocks, clusters.labels, clusters.lengths, clusters.sizes.size)
    between = axis_angles(caps.axes)
    cosines = cosines_to_own_axis(blocks, clusters.labels, clusters.lengths, caps.axes)
    distance = rowwise_error(cosines, clusters.lengths)
    bound = weighted_bound(caps.angles, clusters) + factor_rounding(fit)
    separated = inequality_1(caps.angles, between)
    same = lemma_1(caps.angles, between, choice_rounding(fit))
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
            widest = max_bound(caps.angles) + factor_rounding(fit)
            bounds["relative_error_max_form"] = max(bound, widest)
        bounds["relative_error_of_these_clusters"] = bound
    measures: dict[str, Measure] = {
        "size_angles": tuple(caps.angles),
        "size_angles_slack": float((caps.angles - caps.least_angles).max()),
        "largest_sine": max_bound(caps.angles),
        "relative_distance_from_axes": distance,
        **rows_apart(clusters, fit),
        **gap_of_the_angles(centroid_angles(fit)),
    }
    if clusters.sizes.size > 1:
        measures["smallest_axis_angle"] = smallest(between)
        measures |= core_of_the_clusters(blocks, clusters)
    estimates = {}
    if size_angles is not None and rates is not None:
        measures["theorem_5_limit"] = theorem_5_limit(size_angles, rates)
        bound_5 = theorem_5_bound(size_angles, rates, blocks.n_rows, probability=CONFIDENCE)
        estimates["relative_error_of_theorem_5"] = Estimate(bound_5, CONFIDENCE, MODEL)
    rates_found = clusters.sizes / clusters.energy
    model = fitted_model(caps.angles, rates_found, int(clusters.sizes.sum()), distance)
    checks = (*stray_rows(clusters), separated, same, achieved, model)
    return Certificate(fit.method, checks, bounds, measures, estimates)


def inequality_1(angles: NDArray[np.float64], between: NDArray[np.float64]) -> Check:
    """Liu17, inequality (1), for size angles and the pairwise angles of the axes."""
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
    """max over i ≠ j of α_i + 3α_j: three times the largest size angle plus the second."""
    second, first = np.sort(angles)[-2:]
    return float(3 * first + second) * (1 + 4 * sys.float_info.epsilon)


def lemma_1(
    angles: NDArray[np.float64], between: NDArray[np.float64], rounding: float = 0.0
) -> Check:
    """What Lemma 1 needs of the cones: rows of two cones farther apart than rows of one.

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
    """A condition on the clusters where not every component asked for has one."""
    note = "not every component that was asked for has a cluster, or not every row is in one"
    return replace(check, status="unknown", note=note)


def choice_rounding(fit: Fit) -> float:
    """By how much cosines must differ for farthest-first to see it, in the precision it worked in.

    It rounds them to a number of decimals and takes those as near that differ by less than one
    unit of the last; each has a rounding error beside.
    """
    dtype = fit.given.dtype
    computed = (2 * fit.blocks.n_columns + 8) * float(np.finfo(dtype).eps)
    return 2 * 10.0 ** -similarity_decimals(dtype) + 2 * computed


def factor_rounding(fit: Fit) -> float:
    """What rounding the factors to the precision of the data can add to the relative error."""
    return 16 * float(np.finfo(fit.given.dtype).eps)


def error_at_most(fit: Fit) -> float:
    """The relative error, rounding of its measurement added."""
    k, d = fit.components.shape
    terms = product_rounding(k) + product_rounding(d) + product_rounding(len(fit.lengths))
    expanded = EXPANDED if fit.blocks.is_sparse else 1.0
    return fit.relative_error + terms * expanded * (2 + fit.relative_error)


def error_check(error: float, bound: float) -> Check:
    """The factorization at hand against the bound of its clusters."""
    status: Status = "holds" if error <= bound else "fails"
    note = "" if status == "holds" else "not the rank-one fits of these clusters: no bound follows"
    return Check(
        "error within the cones' bound", f"{PAPER} (5) and (6)", status, error, bound, note
    )


def rowwise_error(cosines: NDArray[np.float64], lengths: NDArray[np.float64]) -> float:
    """Root of D_N, Eq. (9): relative distance of the rows from the axes of their cones."""
    squared_sines = np.maximum(1.0 - cosines**2, 0.0)
    return math.sqrt(float(squared_sines @ lengths**2 / (lengths @ lengths)))


def weighted_bound(angles: NDArray[np.float64], clusters: Clusters) -> float:
    """sqrt(Σ ‖X_k‖² sin²α_k / Σ ‖X_k‖²), the end of the proof of Theorem 4, rounded up.

    Rows in no cluster count as a whole: nothing of them is explained.
    """
    left = float(clusters.energy @ np.sin(angles) ** 2) + clusters.outside
    mean = left / (float(clusters.energy.sum()) + clusters.outside)
    return min(1.0, math.sqrt(mean) * (1 + product_rounding(len(clusters.lengths))))


def max_bound(angles: NDArray[np.float64]) -> float:
    """max_k sin α_k (Eq. (4)), rounded up."""
    return min(1.0, float(np.sin(angles.max())) * (1 + 4 * sys.float_info.epsilon))
