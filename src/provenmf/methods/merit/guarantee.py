"""Certify anchors found by MERIT (Nguyen, Fu & Wu 2021, Nguyen22).

Everything is measured on the returned explanation, x_i = sum_k h_ik w_k + v_i: W the chosen rows,
H the weights on the simplex, V what is left. Anchors have v = 0.

The certificate that can hold on real data is the margin (`separable/margins.py`), which speaks of
every explanation with that noise. Theorems 1 to 4 are the paper's. Theorem 3 speaks of the optimum
of MERIT's problem; in it the term 2 delta stands outside the root, a correction. How far the
mixing matrix of the run was from the optimum cannot be recomputed, since the matrix is not kept.
Theorems 2 and 4 are left out: they bound the memory of Algorithm 1 along its path from C = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.linalg.hull import distances_to_other_points
from provenmf.methods.separable.margins import (
    EXACT,
    ROUNDING,
    Explanation,
    independent_components,
    margin_statements,
    other_components,
)
from provenmf.results import Certificate, Check, Measure, Status
from provenmf.results.states import MeritState

Floats = NDArray[np.float64]


def certify(fit: Fit) -> Certificate:
    """Certify margins, Theorem 3 for the optimum, and Theorem 1."""
    refused = other_components(fit)
    if refused is not None:
        return refused
    points = Explanation(fit, "hull")
    margins = margin_statements(points)
    e = quantities(points)
    state = MeritState.of(fit.factorization)
    penalty = Penalty(state.lam / fit.unit / fit.unit, state.mu, state.lam)
    checks = (
        *margins.checks,
        check_theorem_3(e, penalty),
        check_theorem_3(e, penalty, measured_noise=True),
        distance_to_the_optimum(),
        check_theorem_1(e, points),
    )
    delta = e.delta * fit.unit
    measures: dict[str, Measure] = {
        **margins.measures,
        "separability_residual": e.delta / points.scale,
        "typical_separability_residual": points.typical / points.scale,
        "purest_other_row": e.d,
        "delta": delta,
        "rho": e.rho,
        "gamma": e.gamma * fit.unit,
    }
    if e.k > 1:
        measures["kappa"] = e.kappa * fit.unit
    bounds = {**margins.bounds, "largest_hull_distance": delta}
    return Certificate(fit.method, checks=checks, bounds=bounds, measures=measures)


@dataclass(frozen=True)
class Penalty:
    """Weight, divided by the square of the unit, and smoothness of the penalty; weight as given."""

    lam: float
    mu: float
    given: float | None = None


@dataclass(frozen=True)
class Quantities:
    """Measured on X = W H + V, named as in Nguyen22, Definitions 1 and 2, and divided by the unit.

    Noise and d are rounded up, kappa down.
    """

    n: int
    k: int
    delta: float  # longest row of V
    noise: float  # ||V||_F^2
    d: float  # d(H): largest weight of any row that is no anchor
    kappa: float  # least distance of an anchor to the hull of the others
    gamma: float  # longest anchor
    independent: Status  # whether the anchors are linearly independent

    @property
    def rho(self) -> float:
        """Least rho with ||v_i||^2 <= (rho / n) ||V||_F^2."""
        return self.n * self.delta**2 / self.noise if self.noise > 0 else 1.0


def quantities(points: Explanation) -> Quantities:
    """Measure what the theorems speak of; for a single anchor kappa is 0."""
    largest = np.array(points.weights.array(lambda weights: weights.max(axis=1)))
    largest[points.anchors] = 0.0
    lengths = np.linalg.norm(points.components, axis=1)
    lower = distances_to_other_points(points.components)[0] if len(lengths) > 1 else np.zeros(1)
    return Quantities(
        n=len(points.distances),
        k=len(points.components),
        delta=points.largest,
        noise=float((points.distances**2).sum()) * (1 + ROUNDING),
        d=float(largest.max()) * (1 + ROUNDING),
        kappa=float(lower.min()),
        gamma=float(lengths.max()),
        independent=independent_components(points.components).status,
    )


def theorem_3_sides(
    e: Quantities, penalty: Penalty, *, measured_noise: bool = False
) -> tuple[float, float] | None:
    """Return both sides of Eq. (20): lower bound of anchors' maxima, upper bound of all others'.

    The paper bounds f(C*) by 2 rho (1 - K/N) ||V||^2 + lam K and the noise in row k by 2 delta.
    With `measured_noise` both are what they are for this explanation, in which anchors have no
    noise: ||V||^2 / 2 + lam K, and delta. None where nothing follows: without a penalty, or with a
    row as pure as an anchor.
    """
    lam = penalty.lam
    if lam == 0 or e.kappa <= 0 or e.d >= 1:
        return None
    fit = e.noise / 2 if measured_noise else 2 * e.rho * (1 - e.k / e.n) * e.noise
    shift = e.delta if measured_noise else 2 * e.delta
    beta = (math.sqrt(2 * (fit + lam * e.k)) + shift) / (e.kappa * (1 - e.d))
    others = fit / lam + penalty.mu * e.n * math.log(e.n) + beta * e.k
    if not math.isfinite(others):
        return None
    return 1 - beta * (1 + ROUNDING), others * (1 + ROUNDING)


def check_theorem_3(e: Quantities, penalty: Penalty, *, measured_noise: bool = False) -> Check:
    """Check that the anchors' maxima exceed those of all other rows in every optimal C."""
    name = "maxima separate, noise measured" if measured_noise else "maxima separate at the optimum"
    sides = theorem_3_sides(e, penalty, measured_noise=measured_noise)
    if sides is None:
        note = "no penalty, or another row is as pure as an anchor: nothing follows"
        return Check(name, "Nguyen22, Thm 3", "fails", note=note)
    anchors, others = sides
    status: Status = "holds" if others < anchors else "fails"
    if status == "holds" and e.independent != "holds":
        status = e.independent
    note = (
        "bound on max C of other rows, against that of anchors, in the optimum of the problem with "
        f"lam = {penalty.given or penalty.lam:.3g}"
    )
    return Check(name, "Nguyen22, Thm 3", status, value=others, threshold=anchors, note=note)


def distance_to_the_optimum() -> Check:
    """Return the unknown check that would make Theorem 3 a statement about the run itself."""
    note = "the mixing matrix is not kept; the run's own figure is factorization.state.duality_gap"
    return Check("objective near its optimum", "Nguyen22, Eq. (18)", "unknown", note=note)


def check_theorem_1(e: Quantities, points: Explanation) -> Check:
    """Check for no noise and independent anchors, none repeated: every step picks an anchor."""
    share = points.largest_share
    status: Status = e.independent
    if share is None or share > EXACT or e.d >= 1 - EXACT:
        status = "fails"
    return Check(
        "no noise, no repeated anchor",
        "Nguyen22, Thm 1",
        status,
        value=share,
        threshold=EXACT,
        note="largest residual of a row as a share of that row's own length; memory stays below "
        "n_components pairs per row if no gradient entries tie (Eq. (15))",
    )
