"""Certify anchors found by MERIT (Nguyen, Fu & Wu 2021, Nguyen22).

Everything is measured on the returned explanation, x_i = sum_k h_ik w_k + v_i: W the chosen rows,
H the weights on the simplex, V what is left. Anchors have v = 0.

The certificate that can hold on real data is the margin (`separable/margins.py`), which speaks of
every explanation with that noise. Theorems 1 to 4 are the paper's. Theorem 3 speaks of the optimum
of MERIT's problem; in it the term 2 delta stands outside the root, a correction. How far the
mixing matrix of the run was from the optimum cannot be recomputed, since the matrix is not kept.
Theorems 2 and 4 speak of the path of Algorithm 1 from C = 0, which is followed anew (`follow_path`)
where the run took its open-loop steps and the rows are few.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.errors import InvalidInput
from provenmf.linalg.hull import distances_to_other_points
from provenmf.linalg.storage import as_dense
from provenmf.methods.separable.margins import (
    EXACT,
    ROUNDING,
    Explanation,
    independent_components,
    margin_statements,
    other_components,
    smallest_singular_value,
)
from provenmf.results import Certificate, Check, Measure, Status
from provenmf.results.states import MeritState

Floats = NDArray[np.float64]

PATH_ROWS = 1000  # up to which the path is followed anew, by dense matrices of rows by rows


def certify(fit: Fit) -> Certificate:
    """Certify margins, Theorem 3 for the optimum, and the memory theorems 1, 2 and 4."""
    refused = other_components(fit)
    if refused is not None:
        return refused
    points = Explanation(fit, "hull")
    margins = margin_statements(points)
    e = quantities(points)
    state = fit.factorization.state
    if not isinstance(state, MeritState):
        raise InvalidInput("the result does not say what MERIT solved: fit the data again")
    penalty = Penalty(state.lam / fit.unit / fit.unit, state.mu, state.lam)
    path = path_of_run(points, penalty)
    checks = (
        *margins.checks,
        check_theorem_3(e, penalty),
        check_theorem_3(e, penalty, measured_noise=True),
        distance_to_the_optimum(),
        check_theorem_1(e, points),
        check_theorem_2(e, path if penalty.lam == 0 else None),
        check_theorem_4(e, penalty, path),
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
    """The penalty of a run: weight in squared units of the fit, smoothness, weight as given."""

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
    smallest_singular_value: float
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
        largest_singular_value=float(np.linalg.svd(points.components, compute_uv=False)[0]),
        smallest_singular_value=smallest_singular_value(points.components),
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


@dataclass(frozen=True, eq=False)
class PathQuantities:
    """Quantities along the path of Algorithm 1 from C = 0, for each step t and row l.

    gaps : (T, n), how far the smallest entry of W Wᵀ (c_l H - h_l) / ||c_l H - h_l|| is below the
        second smallest; the least of them is nu of Eq. (16). Zero where c_l uses other rows than
        anchors.
    residuals : (T + 1, n), ||x_l - c_l X||, the last of them after the path.
    psi : smallest difference of two entries in a column of an anchor, from t = 1 on; zero if all
        are equal.
    inside : whether all rows use anchors alone, all along.
    """

    gaps: Floats
    residuals: Floats
    psi: float
    inside: bool


def path_of_run(points: Explanation, penalty: Penalty) -> PathQuantities | None:
    """Follow the path of a run that took the paper's steps from C = 0 over few rows, else None."""
    parameters = points.fit.factorization.parameters
    papers = parameters.get("step") == "open-loop" and parameters.get("init") is None
    if not papers or len(points.distances) > PATH_ROWS:
        return None
    X = as_dense(points.fit.blocks.everything()).astype(np.float64)
    steps = int(parameters.get("max_iter") or 100)  # the trace is not part of the evidence
    weights = points.weights.array().astype(np.float64)
    return follow_path(X, points.anchors, weights, penalty.lam, penalty.mu, steps)


def algorithm_1(
    X: Floats, lam: float, mu: float, *, C: Floats | None = None, first_step: int = 0
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield C, the residuals C X - X and the gradient before each step of Algorithm 1, as printed.

    From C = 0, or from a given C and the number of its step (Nguyen22, V-B). The gradient that was
    yielded decides about the step; the caller may change it.
    """
    C = np.zeros((len(X), len(X))) if C is None else C
    for t in itertools.count(first_step):
        residual = C @ X - X
        share = np.exp((C - C.max(axis=0)) / mu)
        gradient = residual @ X.T + lam * share / share.sum(axis=0)
        yield C, residual, gradient
        alpha = 2 / (t + 2)
        C = (1 - alpha) * C
        C[np.arange(len(X)), gradient.argmin(axis=1)] += alpha


def follow_path(
    X: Floats, anchors: NDArray[np.intp], H: Floats, lam: float, mu: float, steps: int
) -> PathQuantities:
    """Follow Algorithm 1 from C = 0 and measure what Theorems 2 and 4 ask for.

    H are the weights (n, k) of the explanation. Takes `steps` products of n x n matrices.
    """
    gram, outside = X[anchors] @ X[anchors].T, np.ones(len(X), dtype=bool)
    outside[anchors] = False
    gaps, residuals = np.zeros((steps, len(X))), np.zeros((steps + 1, len(X)))
    psi, inside = math.inf, True
    for t, (C, residual, _) in zip(range(steps + 1), algorithm_1(X, lam, mu)):
        residuals[t] = np.linalg.norm(residual, axis=1)
        pure = ~C[:, outside].any(axis=1)
        inside = inside and bool(pure.all())
        if t > 0:
            psi = min(psi, smallest_difference(C[:, anchors]))
        if t < steps:
            gaps[t] = np.where(pure, gradient_gaps(C[:, anchors] - H, gram), 0.0)
    return PathQuantities(gaps, residuals, psi if math.isfinite(psi) else 0.0, inside)


def gradient_gaps(errors: Floats, gram: Floats) -> Floats:
    """Return nu of each row, Eq. (16): the gap of q = e W Wᵀ / ||e|| behind its smallest entry.

    Fact 1: for anchors W from a continuous distribution it is zero with probability zero.

    Parameters
    ----------
    errors : array (n, k)
        e = c_l H - h_l.
    gram : array (k, k)
        W Wᵀ.

    Returns
    -------
    array (n,)
        Infinite where e is zero, so that the row is explained, and for one anchor.
    """
    lengths = np.linalg.norm(errors, axis=1)
    q = np.sort(errors @ gram, axis=1)
    if q.shape[1] == 1:
        return np.full(len(errors), math.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(lengths > 0, (q[:, 1] - q[:, 0]) / lengths, math.inf)


def smallest_difference(columns: Floats) -> float:
    """Return the smallest difference of two different entries of a column; infinite if none."""
    differences = np.diff(np.sort(columns, axis=0), axis=0)
    apart = differences[differences > ROUNDING]
    return float(apart.min()) if apart.size else math.inf


def lemma_1_bound(omega: float, k: int) -> float:
    """Return what the largest entries of anchors exceed, 1 - omega sqrt(K) / 2 (Lemma 1).

    omega is the largest ||c_l H - h_l||, where all rows use anchors alone: other rows then have
    largest entry zero, so that anchors are recognized if this is positive, omega < 2 / sqrt(K).
    """
    return 1 - omega * math.sqrt(k) / 2


def proposition_1_bound(C: Floats, first_step: int, last_step: int) -> float:
    """Return a lower bound of psi from step first_step + 1 to last_step (Proposition 1).

    2 xi / (T (T + 1)), xi the least distance of t (t + 1) |c_i - c_j| / 2 to an integer, over pairs
    of entries of a column for which it is none; zero if it is one for all: nothing follows.

    Parameters
    ----------
    C : array (n, k)
        Columns of the anchors in the start.
    first_step, last_step : int
        t_init, at least 1, and T.
    """
    differences = np.abs(C[:, None, :] - C[None, :, :]) * (first_step * (first_step + 1) / 2)
    away = np.abs(differences - np.round(differences))
    away = away[away > ROUNDING * max(1.0, float(differences.max(initial=0.0)))]
    return 2 * float(away.min()) / (last_step * (last_step + 1)) if away.size else 0.0


def theorem_2_gap(e: Quantities, path: PathQuantities) -> float:
    """Return the largest nu eta with which Theorem 2 lets Lemma 1 recognize the anchors.

    eta is free: a row's path ends once its residual is at most eta + 2 delta, so that a larger eta
    asks for the gaps of fewer steps; but (eta + 4 delta) / sigma_min must stay below 2 / sqrt(K),
    and the last residuals must have come as low.
    """
    order = np.argsort(-path.residuals[:-1].ravel(), kind="stable")
    residuals = path.residuals[:-1].ravel()[order]
    before = np.minimum.accumulate(path.gaps.ravel()[order])
    nu = np.concatenate([[math.inf], before[:-1]])  # of steps with larger residuals
    eta = residuals - 2 * e.delta
    omega = (eta + 4 * e.delta) / max(e.smallest_singular_value, 1e-300)
    reached = residuals >= float(path.residuals[-1].max())
    possible = (eta > 0) & reached & (omega < 2 / math.sqrt(e.k)) & np.isfinite(nu)
    return float((nu[possible] * eta[possible]).max(initial=0.0)) * (1 - ROUNDING)


def check_theorem_2(e: Quantities, path: PathQuantities | None) -> Check:
    """Compare nu eta along the path with what Eq. (17) needs; unknown without a path."""
    name, theorem = "gradient gap (nu eta) needed", "Nguyen22, Thm 2"
    if e.d >= 1 or e.independent == "fails":
        note = "another row is as pure as an anchor, or the anchors are dependent"
        return Check(name, theorem, "fails", note=note)
    excess = (e.delta + e.gamma) ** 2 - e.gamma**2
    needed = 4 * e.largest_singular_value * excess / (1 - e.d)
    unit = e.gamma**3 if e.gamma > 0 else 1.0
    note = "lam = 0: memory stays linear if the gap along the path is at least this, anchors "
    note += "divided by the longest"
    if path is None:
        note += "; the path is followed for lam = 0, step='open-loop' from C = 0"
        return Check(name, theorem, "unknown", value=needed / unit, note=note)
    gap = theorem_2_gap(e, path)
    status: Status = e.independent if needed <= gap and gap > 0 else "fails"
    return Check(name, theorem, status, value=needed / unit, threshold=gap / unit, note=note)


def check_theorem_4(e: Quantities, penalty: Penalty, path: PathQuantities | None) -> Check:
    """Check Eq. (22) with psi of the path; without a path, check it without the term of psi."""
    lam = penalty.lam
    spread = max(2 * (e.d - 0.5) ** 2, 2 * (0.5 - 1 / e.k) ** 2) + 0.5
    curvature = (spread + 2 * math.sqrt(spread) + 5) * e.largest_singular_value**2 / 2
    smoothing = math.exp(-path.psi / penalty.mu) if path is not None else 0.0
    v = (lam * (1 / e.n - smoothing) - curvature) / 4
    allowed = math.sqrt(e.gamma**2 + v) - e.gamma if e.gamma**2 + v >= 0 else None
    note = "as shares of the longest anchor; lam > 0: needs lam / n above the largest squared "
    note += "singular value of the anchors"
    status: Status = "unknown"
    if allowed is None or e.delta * (1 - ROUNDING) > allowed:
        status = "fails"
    elif path is not None:
        note += f"; psi along the path is {path.psi:.3g}"
        status = e.independent if path.inside and path.psi > 0 else "fails"
    return Check(
        "noise within memory theorem",
        "Nguyen22, Thm 4",
        status,
        value=e.delta / e.gamma if e.gamma > 0 else None,
        threshold=allowed / e.gamma if allowed is not None and e.gamma > 0 else None,
        note=note,
    )
