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
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.blocks import Blocks
from provenmf.guarantees.caps import cosines_to_own_axis, direction_sums, smallest_caps
from provenmf.guarantees.cone_model import PAPER, fitted_model, theorem_5_bound, theorem_5_limit
from provenmf.guarantees.fit import Fit
from provenmf.linalg.angles import angle_at_least, angle_at_most
from provenmf.linalg.scaling import unit_rows
from provenmf.records import Certificate, Check, Factorization, Measure, Status
from provenmf.records.states import ConeState


@dataclass(frozen=True)
class Clusters:
    """Clusters that have rows, numbered without gaps, and the lengths of all rows.

    labels : −1 for rows of zeros. energy : ‖X_k‖² of each cluster. sizes : its number of rows.
    """

    labels: NDArray[np.intp]
    lengths: NDArray[np.float64]
    energy: NDArray[np.float64]
    sizes: NDArray[np.int64]


def certify(
    fit: Fit,
    *,
    size_angles: ArrayLike | None = None,
    rates: ArrayLike | None = None,
) -> Certificate:
    """Enclose each cluster in a cone and say what follows.

    `size_angles` and `rates` are parameters of Theorem 5's model where they are known; its bound,
    which holds with a probability, is then among the measures.
    """
    blocks, factorization = fit.blocks, fit.factorization
    clusters = measured_clusters(fit)
    if not clusters.sizes.size:
        return Certificate(factorization.method)
    caps = smallest_caps(blocks, clusters.labels, clusters.lengths, clusters.sizes.size)
    between = axis_angles(caps.axes)
    cosines = cosines_to_own_axis(blocks, clusters.labels, clusters.lengths, caps.axes)
    distance = rowwise_error(cosines, clusters.lengths)
    weighted = weighted_bound(caps.angles, clusters.energy)
    error = fit.error / math.sqrt(clusters.energy.sum())
    separated = inequality_1(caps.angles, between)
    achieved = error_check(error, weighted, 16 * float(np.finfo(blocks.dtype).eps))
    bounds = {}
    if achieved.status == "holds":
        if separated.status == "holds":
            bounds["relative_error"] = weighted
            bounds["relative_error_max_form"] = max_bound(caps.angles)
        bounds["relative_error_of_these_clusters"] = weighted
    measures: dict[str, Measure] = {
        "size_angles": tuple(caps.angles),
        "size_angles_slack": float((caps.angles - caps.least_angles).max()),
        "largest_sine": max_bound(caps.angles),
        "relative_distance_from_axes": distance,
        **rows_apart(clusters, factorization),
    }
    state = factorization.state
    if isinstance(state, ConeState) and state.farthest_first_angles is not None:
        measures |= gap_of_the_angles(state.farthest_first_angles, factorization.n_components)
    if clusters.sizes.size > 1:
        measures["smallest_axis_angle"] = smallest(between)
        measures |= core_of_the_clusters(blocks, clusters)
    if size_angles is not None and rates is not None:
        measures["theorem_5_limit"] = theorem_5_limit(size_angles, rates)
        measures["theorem_5_bound_with_probability_0.99"] = theorem_5_bound(
            size_angles, rates, blocks.n_rows, probability=0.99
        )
    rates_found = clusters.sizes / clusters.energy
    model = fitted_model(caps.angles, rates_found, int(clusters.sizes.sum()), distance)
    checks = (separated, lemma_1(caps.angles, between), achieved, model)
    return Certificate(factorization.method, checks=checks, bounds=bounds, measures=measures)


def measured_clusters(fit: Fit) -> Clusters:
    """Lengths of the rows, and what they add up to in each cluster."""
    found = fit.factorization.labels
    assert found is not None  # cone NMF always labels its rows
    squared = fit.lengths**2
    directed = found >= 0
    _, members, sizes = np.unique(found[directed], return_inverse=True, return_counts=True)
    labels = np.full(len(squared), -1, dtype=np.intp)
    labels[directed] = members
    energy = np.bincount(members, squared[directed], minlength=sizes.size).astype(np.float64)
    return Clusters(labels, fit.lengths, energy, sizes)


def rows_apart(clusters: Clusters, factorization: Factorization) -> dict[str, Measure]:
    """Rows of zeros; if rows have one weight each, rows coded outside their cluster."""
    directed = clusters.labels >= 0
    apart: dict[str, Measure] = {"rows_without_direction": float(np.count_nonzero(~directed))}
    coded = factorization.weights[directed]
    if np.count_nonzero(coded, axis=1).max() <= 1:
        elsewhere = coded.argmax(axis=1) != np.asarray(factorization.labels)[directed]
        apart["rows_coded_outside_their_cluster"] = float(np.count_nonzero(elsewhere))
    return apart


def gap_of_the_angles(angles: NDArray[np.float64], k: int) -> dict[str, Measure]:
    """How clearly the farthest-first angles speak for k cones.

    angles[j] is the largest angle of any row to the first j centroids. The last centroid was chosen
    at the first measure, no row is farther from its centroid than the second; the third compares
    this drop with the largest other drop that was looked at: above 1 it is the largest.
    """
    drops = angles[:-1] - angles[1:]
    other = float(np.delete(drops, k - 1).max(initial=0.0))
    gap: dict[str, Measure] = {
        "angle_of_last_centroid": float(angles[k - 1]),
        "largest_angle_to_centroid": float(angles[k]),
    }
    if other > 0:
        gap["drop_over_largest_other_drop"] = float(drops[k - 1]) / other
    return gap


def core_of_the_clusters(blocks: Blocks, clusters: Clusters) -> dict[str, Measure]:
    """How nearly inequality (1) holds: the share of the rows that lie in cones satisfying it.

    Axes are the mean directions of the clusters, all cones get the same size angle, a quarter of
    the smallest angle between two axes. Theorem 4 is true of the rows inside, without the others.
    """
    sums = direction_sums(blocks, clusters.labels, clusters.lengths, clusters.sizes.size)
    axes = unit_rows(sums)
    size = smallest(axis_angles(axes)) / 4
    cosines = cosines_to_own_axis(blocks, clusters.labels, clusters.lengths, axes)
    inside = (clusters.labels >= 0) & (angle_at_most(cosines, blocks.n_columns) < size)
    squared = clusters.lengths**2
    return {
        "core_size_angle": size,
        "core_share_of_rows": float(np.count_nonzero(inside) / clusters.sizes.sum()),
        "core_share_of_energy": float(squared[inside].sum() / squared.sum()),
    }


def inequality_1(angles: NDArray[np.float64], between: NDArray[np.float64]) -> Check:
    """Liu17, inequality (1), for size angles and the pairwise angles of the axes."""
    name, theorem = "cones far apart, inequality (1)", f"{PAPER} Theorem 4"
    if angles.size == 1:
        return Check(name, theorem, "holds", note="one cone: there is nothing to keep apart")
    needed = largest_side_of_inequality_1(angles)
    nearest = smallest(between)
    status: Status = "holds" if nearest > needed else "fails"
    note = (
        "the clusters and the bound are proved for this data, from any start"
        if status == "holds"
        else f"the nearest axes are {needed - nearest:.3g} rad too close for these size angles"
    )
    return Check(name, theorem, status, nearest, needed, note, ">=")


def largest_side_of_inequality_1(angles: NDArray[np.float64]) -> float:
    """max over i ≠ j of α_i + 3α_j: three times the largest size angle plus the second."""
    second, first = np.sort(angles)[-2:]
    return float(3 * first + second) * (1 + 4 * sys.float_info.epsilon)


def lemma_1(angles: NDArray[np.float64], between: NDArray[np.float64]) -> Check:
    """What Lemma 1 needs of the cones: rows of two cones farther apart than rows of one."""
    name, theorem = "same clusters from any start", f"{PAPER} Lemma 1"
    if angles.size == 1:
        return Check(name, theorem, "holds", note="one cluster")
    apart = smallest(between - angles[:, None] - angles[None, :])
    widest = 2 * float(angles.max())
    if apart > widest:
        note = "rows of different clusters are farther apart than any two of one cluster"
        return Check(name, theorem, "holds", apart, widest, note, ">=")
    note = "not shown by these cones; another first centroid may give other clusters"
    return Check(name, theorem, "unknown", apart, widest, note, ">=")


def error_check(error: float, bound: float, rounding: float) -> Check:
    """The factorization at hand against the bound of its clusters."""
    status: Status = "holds" if error <= bound + rounding else "fails"
    note = "" if status == "holds" else "not the rank-one fits of these clusters: no bound follows"
    return Check(
        "error within the cones' bound", f"{PAPER} (5) and (6)", status, error, bound, note
    )


def rowwise_error(cosines: NDArray[np.float64], lengths: NDArray[np.float64]) -> float:
    """Root of D_N, Eq. (9): relative distance of the rows from the axes of their cones."""
    squared_sines = np.maximum(1.0 - cosines**2, 0.0)
    return math.sqrt(float(squared_sines @ lengths**2 / (lengths @ lengths)))


def weighted_bound(angles: NDArray[np.float64], energy: NDArray[np.float64]) -> float:
    """sqrt(Σ ‖X_k‖² sin²α_k / Σ ‖X_k‖²), the end of the proof of Theorem 4, rounded up."""
    mean = float(energy @ np.sin(angles) ** 2 / energy.sum())
    return min(1.0, math.sqrt(mean) * (1 + (angles.size + 8) * sys.float_info.epsilon))


def max_bound(angles: NDArray[np.float64]) -> float:
    """max_k sin α_k (Eq. (4))."""
    return float(np.sin(angles.max()))


def axis_angles(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pairwise angles of the axes, not more than the true ones; infinite on the diagonal."""
    between = angle_at_least(axes @ axes.T, axes.shape[1])
    np.fill_diagonal(between, np.inf)
    return between


def smallest(between: NDArray[np.float64]) -> float:
    """The smallest angle of two different axes; infinite for one axis."""
    return float(between.min())
