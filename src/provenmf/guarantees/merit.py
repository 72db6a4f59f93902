"""What can be believed about anchors found by MERIT (Nguyen, Fu & Wu 2021, Nguyen22).

Everything is measured on the returned explanation, x_i = sum_k h_ik w_k + v_i: W the chosen rows,
H the weights on the simplex, V what is left. Anchors have v = 0.

The certificate that can hold on real data is the margin: if row k is farther than 2 delta from the
hull of all other rows (near-duplicates of it left out), then it is an anchor under *every*
explanation whose noise is at most delta in each row. For suppose not: then its clean row is a
mixture of other clean rows, and the same mixture of the data rows is within 2 delta of row k.

Theorems 1 to 4 are the paper's, with these corrections: in Theorem 3 the term 2 delta stands
outside the root, and an inexact solution adds its duality gap to f(C*) >= f(C).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.guarantees.fit import Fit
from provenmf.guarantees.margins import anchor_margins, check_margins
from provenmf.linalg.hull import distances_to_other_points
from provenmf.linalg.norms import squared_row_norms
from provenmf.records import Certificate, Check
from provenmf.records.states import MeritState

Floats = NDArray[np.float64]

# Residuals up to this fraction of the largest row are rounding.
EXACT = 1e-7


def certify(fit: Fit) -> Certificate:
    """Margins, Theorem 3 with the measured gap, and the memory theorems 1, 2 and 4."""
    explanation = explain(fit)
    state = MeritState.of(fit.factorization)
    lower, upper = anchor_margins(
        fit.blocks,
        fit.components,
        radius=state.group_radius,
        scale=explanation.scale,
    )
    lam, mu, gap = state.lam, state.mu, state.duality_gap
    objective = state.objective or 1.0  # an objective of zero has no gap
    e = explanation
    checks = (
        check_margins(e.delta, lower, upper),
        check_theorem_3(e, lam, mu, gap),
        check_theorem_3(e, lam, mu, gap, measured_noise=True),
        check_theorem_1(e),
        check_theorem_2(e),
        check_theorem_4(e, lam),
    )
    bounds = {
        "noise_that_all_anchors_survive": float(lower.min() / 2),
        "distance_of_any_row_to_the_anchors_hull": e.delta,
        "distance_to_optimal_objective": gap,
        "distance_to_optimal_fit": math.sqrt(2 * gap),
    }
    measures: dict[str, Any] = {
        "anchor_margin": tuple(lower.tolist()),
        "anchors_beyond_twice_the_residual": float(np.count_nonzero(lower > 2 * e.delta)),
        "separability_residual": e.delta / e.scale,
        "typical_separability_residual": e.typical / e.scale,
        "relative_duality_gap": gap / objective,
        "relative_dictionary_gap": state.dictionary_gap / objective,
        "gap_searched_all_rows": float(state.gap_searched),
        "number_margin": state.number_margin,
        "kappa": e.kappa,
        "purest_other_row": e.d,
        "delta": e.delta,
        "rho": e.rho,
        "gamma": e.gamma,
    }
    return Certificate(fit.method, checks=checks, bounds=bounds, measures=measures)


@dataclass(frozen=True)
class Explanation:
    """Measured quantities of X = W H + V, named as in Nguyen22, Definitions 1 and 2."""

    n: int
    k: int
    scale: float  # longest row of the data
    delta: float  # longest row of V
    typical: float  # its median
    noise: float  # ||V||_F^2
    d: float  # d(H): largest weight of any row that is no anchor
    kappa: float  # least distance of an anchor to the hull of the others, from below
    gamma: float  # longest anchor
    singular_values: NDArray[np.floating]  # of W

    @property
    def rho(self) -> float:
        """Least rho with ||v_i||^2 <= (rho / n) ||V||_F^2."""
        return self.n * self.delta**2 / self.noise if self.noise > 0 else 1.0

    @property
    def full_rank(self) -> bool:
        """Whether the anchors are linearly independent beyond rounding."""
        smallest = self.singular_values[-1] if len(self.singular_values) == self.k else 0.0
        return bool(smallest > 1e-12 * self.singular_values[0])


def explain(fit: Fit) -> Explanation:
    """Measure the returned explanation; weights off the simplex are replaced by the best on it."""
    components = fit.components
    anchors = fit.factorization.anchors
    assert anchors is not None
    distances, weights = fit.nearest("hull")
    distances, largest = distances.copy(), weights.max(axis=1)
    distances[anchors], largest[anchors] = 0.0, 0.0
    lower, _ = distances_to_other_points(components)
    return Explanation(
        n=fit.blocks.n_rows,
        k=len(components),
        scale=float(fit.lengths.max()) or 1.0,
        delta=float(distances.max()),
        typical=float(np.median(distances)),
        noise=float((distances**2).sum()),
        d=float(largest.max()),
        kappa=float(lower.min()),
        gamma=math.sqrt(squared_row_norms(components).max()),
        singular_values=np.linalg.svd(components, compute_uv=False),
    )


def theorem_3_sides(
    e: Explanation, lam: float, mu: float, gap: float, *, measured_noise: bool = False
) -> tuple[float, float]:
    """Eq. (20): what the maxima of anchors exceed, and what those of other rows do not.

    The paper bounds f(C*) by 2 rho (1 - K/N) ||V||^2 + lam K and the noise in row k by 2 delta.
    With `measured_noise` both are what they are for this explanation, in which anchors have no
    noise: ||V||^2 / 2 + lam K, and delta.
    """
    if lam == 0 or e.kappa <= 0 or e.d >= 1:
        return -math.inf, math.inf
    fit = e.noise / 2 if measured_noise else 2 * e.rho * (1 - e.k / e.n) * e.noise
    shift = e.delta if measured_noise else 2 * e.delta
    beta = (math.sqrt(2 * (fit + lam * e.k + gap)) + shift) / (e.kappa * (1 - e.d))
    others = (fit + gap) / lam + mu * e.n * math.log(e.n) + beta * e.k
    return 1 - beta, others


def check_theorem_3(
    e: Explanation, lam: float, mu: float, gap: float, *, measured_noise: bool = False
) -> Check:
    """Whether Theorem 3 separates the anchors' maxima from those of all other rows."""
    anchors, others = theorem_3_sides(e, lam, mu, gap, measured_noise=measured_noise)
    return Check(
        "maxima separate, noise measured" if measured_noise else "maxima separate",
        "Nguyen22, Thm 3",
        "holds" if others < anchors and e.full_rank else "fails",
        value=others,
        threshold=anchors,
        note="bound on max C of other rows, against that of anchors; the duality gap is included",
    )


def check_theorem_1(e: Explanation) -> Check:
    """Noiseless rows, independent anchors, none repeated: then every step picks an anchor."""
    exact = e.delta <= EXACT * e.scale
    return Check(
        "no noise, no repeated anchor",
        "Nguyen22, Thm 1",
        "holds" if exact and e.full_rank and e.d < 1 - EXACT else "fails",
        value=e.delta / e.scale,
        threshold=EXACT,
        note="memory stays below n_components pairs per row if no gradient entries tie (Eq. (15))",
    )


def check_theorem_2(e: Explanation) -> Check:
    """Eq. (17) solved for nu eta, a gap of the gradient along the path that nobody records."""
    needed = math.inf
    if e.d < 1:
        excess = (e.delta + e.gamma) ** 2 - e.gamma**2
        needed = 4 * e.singular_values[0] * excess / (1 - e.d)
    return Check(
        "gradient gap (nu eta) needed",
        "Nguyen22, Thm 2",
        "fails" if e.d >= 1 or not e.full_rank else "unknown",
        value=needed,
        note="lam = 0: memory stays linear if the gap along the path is at least this",
    )


def check_theorem_4(e: Explanation, lam: float) -> Check:
    """Eq. (22) with its term in psi left out, which only makes the condition easier."""
    spread = max(2 * (e.d - 0.5) ** 2, 2 * (0.5 - 1 / e.k) ** 2) + 0.5
    curvature = (spread + 2 * math.sqrt(spread) + 5) * e.singular_values[0] ** 2 / 2
    v = (lam / e.n - curvature) / 4
    allowed = math.sqrt(e.gamma**2 + v) - e.gamma if e.gamma**2 + v >= 0 else -math.inf
    return Check(
        "noise within memory theorem",
        "Nguyen22, Thm 4",
        "fails" if e.delta > allowed else "unknown",
        value=e.delta,
        threshold=allowed,
        note="lam > 0: needs lam / n above the largest squared singular value of the anchors",
    )
