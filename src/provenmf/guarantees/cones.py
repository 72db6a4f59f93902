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

import numpy as np
from numpy.typing import ArrayLike, NDArray

from provenmf.blocks import Blocks
from provenmf.guarantees.caps import cosines_to_own_axis, smallest_caps
from provenmf.guarantees.cone_model import theorem_5_bound, theorem_5_failure, theorem_5_limit
from provenmf.guarantees.optimality import frobenius_error
from provenmf.linalg.angles import angle_at_least
from provenmf.linalg.norms import squared_row_norms
from provenmf.records import Certificate, Check, Factorization, Status

PAPER = "Liu17"


def certify(
    blocks: Blocks,
    factorization: Factorization,
    *,
    size_angles: ArrayLike | None = None,
    rates: ArrayLike | None = None,
) -> Certificate:
    """Enclose each cluster in a cone and say what follows.

    `size_angles` and `rates` are parameters of Theorem 5's model where they are known; its bound,
    which holds with a probability, is then among the measures.
    """
    labels = factorization.labels
    assert labels is not None  # cone NMF always labels its rows
    squared_lengths = blocks.map_rows(squared_row_norms)
    directed = labels >= 0
    if not directed.any():
        return Certificate(factorization.method)
    clusters, members = np.unique(labels[directed], return_inverse=True)
    own = np.full(blocks.n_rows, -1, dtype=np.intp)  # clusters without rows are left out
    own[directed] = members
    energy = np.bincount(members, squared_lengths[directed]).astype(np.float64)
    lengths = np.sqrt(squared_lengths)
    caps = smallest_caps(blocks, own, lengths, clusters.size)
    between = axis_angles(caps.axes)
    weighted = weighted_bound(caps.angles, energy)
    error = frobenius_error(blocks, factorization.weights, factorization.components)
    error /= math.sqrt(energy.sum())
    separated = inequality_1(caps.angles, between)
    achieved = error_check(error, weighted, 16 * float(np.finfo(blocks.dtype).eps))
    bounds = {}
    if achieved.status == "holds":
        bounds["relative_error_of_these_clusters"] = weighted
        if separated.status == "holds":
            bounds["relative_error"] = weighted
            bounds["relative_error_max_form"] = max_bound(caps.angles)
    cosines = cosines_to_own_axis(blocks, own, lengths, caps.axes)
    distance = rowwise_error(cosines, squared_lengths)
    measures: dict[str, float | tuple[float, ...]] = {
        "size_angles": tuple(caps.angles),
        "size_angles_slack": float((caps.angles - caps.least_angles).max()),
        "largest_sine": max_bound(caps.angles),
        "relative_distance_from_axes": distance,
        "rows_without_direction": float(np.count_nonzero(~directed)),
        "rows_coded_outside_their_cluster": float(
            np.count_nonzero((factorization.weights.argmax(axis=1) != labels)[directed])
        ),
    }
    if clusters.size > 1:
        measures["smallest_axis_angle"] = smallest(between)
    if size_angles is not None and rates is not None:
        measures["theorem_5_limit"] = theorem_5_limit(size_angles, rates)
        measures["theorem_5_bound_with_probability_0.99"] = theorem_5_bound(
            size_angles, rates, blocks.n_rows, probability=0.99
        )
    model = theorem_5_fitted(caps.angles, np.bincount(members) / energy, distance, members.size)
    checks = (separated, lemma_1(caps.angles, between), achieved, model)
    return Certificate(factorization.method, checks=checks, bounds=bounds, measures=measures)


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
    return Check(name, theorem, status, nearest, needed, note)


def largest_side_of_inequality_1(angles: NDArray[np.float64]) -> float:
    """max over i ≠ j of α_i + 3α_j: three times the largest size angle plus the second."""
    second, first = np.sort(angles)[-2:]
    return float(3 * first + second) * (1 + 4 * np.finfo(float).eps)


def lemma_1(angles: NDArray[np.float64], between: NDArray[np.float64]) -> Check:
    """What Lemma 1 needs of the cones: rows of two cones farther apart than rows of one."""
    name, theorem = "same clusters from any start", f"{PAPER} Lemma 1"
    if angles.size == 1:
        return Check(name, theorem, "holds", note="one cluster")
    apart = smallest(between - angles[:, None] - angles[None, :])
    widest = 2 * float(angles.max())
    if apart > widest:
        note = "rows of different clusters are farther apart than any two of one cluster"
        return Check(name, theorem, "holds", apart, widest, note)
    note = "not shown by these cones; another first centroid may give other clusters"
    return Check(name, theorem, "unknown", apart, widest, note)


def error_check(error: float, bound: float, rounding: float) -> Check:
    """The factorization at hand against the bound of its clusters."""
    status: Status = "holds" if error <= bound + rounding else "fails"
    note = "" if status == "holds" else "not the rank-one fits of these clusters: no bound follows"
    return Check(
        "error within the cones' bound", f"{PAPER} (5) and (6)", status, error, bound, note
    )


def theorem_5_fitted(
    angles: NDArray[np.float64], rates: NDArray[np.float64], distance: float, n_rows: int
) -> Check:
    """Theorem 5's limit if the model is fitted to the measured cones.

    Refuted if rows of the fitted model would come this far from the axes with a probability below
    one in a million; otherwise not known, since a model that fits need not be the truth.
    """
    limit = theorem_5_limit(angles, rates)
    refuted = theorem_5_failure(distance, angles, rates, n_rows) < 1e-6
    note = (
        "the rows lie farther from the axes than uniform angles would put them"
        if refuted
        else "a model fitted to these cones is not refuted; its limit would be the one needed"
    )
    status: Status = "fails" if refuted else "unknown"
    return Check(
        "angles uniform, lengths random", f"{PAPER} Theorem 5", status, distance, limit, note
    )


def rowwise_error(cosines: NDArray[np.float64], squared_lengths: NDArray[np.float64]) -> float:
    """Root of D_N, Eq. (9): relative distance of the rows from the axes of their cones."""
    squared_sines = np.maximum(1.0 - cosines**2, 0.0)
    return math.sqrt(float(squared_sines @ squared_lengths / squared_lengths.sum()))


def weighted_bound(angles: NDArray[np.float64], energy: NDArray[np.float64]) -> float:
    """sqrt(Σ ‖X_k‖² sin²α_k / Σ ‖X_k‖²), the end of the proof of Theorem 4, rounded up."""
    mean = float(energy @ np.sin(angles) ** 2 / energy.sum())
    return min(math.sqrt(mean) * (1 + (angles.size + 8) * np.finfo(float).eps), 1.0)


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
