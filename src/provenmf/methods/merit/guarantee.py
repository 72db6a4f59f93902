"""What can be believed about anchors found by MERIT (Nguyen, Fu & Wu 2021, Nguyen22).

Everything is measured on the returned explanation, x_i = sum_k h_ik w_k + v_i: W the chosen rows,
H the weights on the simplex, V what is left. Anchors have v = 0.

The certificate that can hold on real data is the margin (guarantees/margins.py), which speaks of
every explanation with that noise. Theorems 1 to 4 are the paper's. Theorem 3 speaks of the optimum
of MERIT's problem; in it the term 2 delta stands outside the root, a correction. How far the
mixing matrix of the run was from the optimum cannot be recomputed, since the matrix is not kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from provenmf.certificate.measurement import Fit
from provenmf.linalg.hull import distances_to_other_points
from provenmf.methods.separable.guarantee import EXACT, independent_components
from provenmf.methods.separable.margins import Explanation, margin_statements, other_components
from provenmf.results import Certificate, Check, Measure, Status
from provenmf.results.states import MeritState

ROUNDING = 1e-11  # more than rounding can change in the few operations on measured quantities


def certify(fit: Fit) -> Certificate:
    """Margins, Theorem 3 for the optimum, and the memory theorems 1, 2 and 4."""
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
        check_theorem_2(e),
        check_theorem_4(e, penalty.lam),
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
    found = margins.measures.get("anchor_margin")
    if isinstance(found, tuple):
        beyond = sum(margin is not None and margin > 2 * delta for margin in found)
        measures["anchors_that_stand_out"] = float(beyond)
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
    largest_singular_value: float  # of W
    independent: Status  # whether the anchors are linearly independent

    @property
    def rho(self) -> float:
        """Least rho with ||v_i||^2 <= (rho / n) ||V||_F^2."""
        return self.n * self.delta**2 / self.noise if self.noise > 0 else 1.0


def quantities(points: Explanation) -> Quantities:
    """What the theorems speak of; an only anchor has no others to stand apart from: kappa is 0."""
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
        largest_singular_value=float(np.linalg.svd(points.components, compute_uv=False)[0]),
        independent=independent_components(points.components).status,
    )


def theorem_3_sides(
    e: Quantities, penalty: Penalty, *, gap: float = 0.0, measured_noise: bool = False
) -> tuple[float, float] | None:
    """Eq. (20): what the maxima of anchors exceed, and what those of other rows do not.

    The paper bounds f(C*) by 2 rho (1 - K/N) ||V||^2 + lam K and the noise in row k by 2 delta.
    With `measured_noise` both are what they are for this explanation, in which anchors have no
    noise: ||V||^2 / 2 + lam K, and delta. An objective above the optimum by `gap` adds it. None
    where nothing follows: without a penalty, or with a row as pure as an anchor.
    """
    lam = penalty.lam
    if lam == 0 or e.kappa <= 0 or e.d >= 1:
        return None
    fit = e.noise / 2 if measured_noise else 2 * e.rho * (1 - e.k / e.n) * e.noise
    shift = e.delta if measured_noise else 2 * e.delta
    beta = (math.sqrt(2 * (fit + lam * e.k + gap)) + shift) / (e.kappa * (1 - e.d))
    others = (fit + gap) / lam + penalty.mu * e.n * math.log(e.n) + beta * e.k
    if not math.isfinite(others):
        return None
    return 1 - beta * (1 + ROUNDING), others * (1 + ROUNDING)


def check_theorem_3(e: Quantities, penalty: Penalty, *, measured_noise: bool = False) -> Check:
    """Whether the anchors' maxima exceed those of all other rows in every optimal C."""
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
    """What would make Theorem 3 a statement about the run itself."""
    note = "the mixing matrix is not kept; the run's own figure is factorization.state.duality_gap"
    return Check("objective near its optimum", "Nguyen22, Eq. (18)", "unknown", note=note)


def check_theorem_1(e: Quantities, points: Explanation) -> Check:
    """Noiseless rows, independent anchors, none repeated: then every step picks an anchor."""
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


def check_theorem_2(e: Quantities) -> Check:
    """Eq. (17) solved for nu eta, a gap of the gradient along the path that nobody records."""
    name, theorem = "gradient gap (nu eta) needed", "Nguyen22, Thm 2"
    if e.d >= 1 or e.independent == "fails":
        note = "another row is as pure as an anchor, or the anchors are dependent"
        return Check(name, theorem, "fails", note=note)
    excess = (e.delta + e.gamma) ** 2 - e.gamma**2
    needed = 4 * e.largest_singular_value * excess / (1 - e.d)
    return Check(
        name,
        theorem,
        "unknown",
        value=needed / e.gamma**3 if e.gamma > 0 else 0.0,
        note="lam = 0: memory stays linear if the gap along the path is at least this, anchors "
        "divided by the longest",
    )


def check_theorem_4(e: Quantities, lam: float) -> Check:
    """Eq. (22) with its term in psi left out, which only makes the condition easier."""
    spread = max(2 * (e.d - 0.5) ** 2, 2 * (0.5 - 1 / e.k) ** 2) + 0.5
    curvature = (spread + 2 * math.sqrt(spread) + 5) * e.largest_singular_value**2 / 2
    v = (lam / e.n - curvature) / 4
    allowed = math.sqrt(e.gamma**2 + v) - e.gamma if e.gamma**2 + v >= 0 else None
    return Check(
        "noise within memory theorem",
        "Nguyen22, Thm 4",
        "fails" if allowed is None or e.delta * (1 - ROUNDING) > allowed else "unknown",
        value=e.delta / e.gamma if e.gamma > 0 else None,
        threshold=allowed / e.gamma if allowed is not None and e.gamma > 0 else None,
        note="as shares of the longest anchor; lam > 0: needs lam / n above the largest squared "
        "singular value of the anchors",
    )
