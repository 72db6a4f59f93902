"""Statements about any factorization that need no assumption.

For data X (n, d), weights W (n, k) and components C (k, d):
relative error ‖X − WC‖_F / ‖X‖_F; the least relative error of *any* rank-k product, from the
singular values (Eckart & Young 1936), sqrt(Σ_{i>k} σ_i²)/‖X‖_F; the gap between the two; and
how far the weights are from the best weights of these components.

How far the weights of a row can move when the row moves:
least-squares weights of a row x over a closed convex set K (w ≥ 0, or the simplex) minimise
½‖x − wC‖². In the inner product of G = CCᵀ that is the projection of xCᵀG⁻¹ onto K, and
projections do not expand, so for two rows x, x′ and the difference v of their weights

    ‖vC‖ = ‖v‖_G  ≤  ‖(x − x′)CᵀG⁻¹‖_G  ≤  ‖x − x′‖.

If N is a right inverse of C, v = vC N gives ‖v‖ ≤ ‖vC‖ ‖N‖ for all weights together and
|v_j| ≤ ‖vC‖ ‖N e_j‖ for component j alone; for the N with the shortest columns that is
√((CCᵀ)⁻¹)_jj. On the simplex, where differences of weights sum to zero, v is (q, −Σq), and the same
holds with the differences of the rows of C. So least-squares weights are within ‖noise‖ times the
bound of those of the row without its noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.certificate.singular_values import (
    Amplification,
    amplification_of,
    gap_at_least,
    smaller_gram,
)
from provenmf.data import Rows
from provenmf.linalg.norms import inverse_where_positive, power_of_two, unit_rows
from provenmf.results import Certificate, Check, Measure, Status
from provenmf.results.certificate import rounded_up

Floats = NDArray[np.float64]
NARROW = 30.0  # degrees up to which spaces are called nearly the same


def certify(fit: Fit) -> Certificate:
    """Certify what holds of one factorization without any assumption."""
    if fit.norm == 0:
        return Certificate(fit.method, measures={"error": fit.error * fit.unit})
    measures: dict[str, Measure] = {
        "relative_error": fit.relative_error,
        "weights_optimality_residual": weights_residual(fit) / fit.norm,
    }
    checks = nonnegativity(fit)
    lower = fit.rank_bound.relative_error
    if lower is None:
        note = fit.rank_bound.reason
        check = Check("distance to the best rank-k error", "Eckart-Young", "unknown", note=note)
        return Certificate(fit.method, checks=(*checks, check), measures=measures)
    bounds = {
        "relative_error_lower_bound": lower,
        "relative_error_gap": max(fit.relative_error - lower, 0.0) + fit.error_rounding,
    }
    angle = space_angle(fit, lower)
    if angle is None:
        return Certificate(fit.method, checks, bounds, measures)
    bounds["space_angle_degrees"] = angle
    return Certificate(fit.method, (*checks, _check_space(angle)), bounds, measures)


def space_angle(fit: Fit, lower: float) -> float | None:
    """Bound the angle between the spaces of all products that fit as well and the leading one.

    Let Y have rank k and ‖X − Y‖ ≤ e, and let P project onto its row space. With λ and v the
    eigenpairs of XᵀX and p_i = ‖P v_i‖², ‖X − Y‖² ≥ ‖X‖² − Σ λ_i p_i and Σ p_i = k, so that

        e² − f²  ≥  Σ_{i≤k} λ_i (1 − p_i) − Σ_{i>k} λ_i p_i  ≥  (λ_k − λ_{k+1}) Σ_{i≤k} (1 − p_i),

    f² being the least squared error and the last sum ‖sin Θ‖² of the angles between the two spaces.
    The same holds of column spaces. In degrees; None if nothing below 90 is proved, or if it takes
    longer than the certificate may.
    """
    k = fit.n_components
    if k >= min(fit.blocks.shape) or not fit.affords(2 * fit.rank_bound_seconds):
        return None
    smaller = smaller_gram(fit.blocks, fit.gram)
    if smaller is None:
        return None
    gap = gap_at_least(smaller[0], k, fit.norm**2, smaller[1])
    error = fit.relative_error + fit.error_rounding
    excess = max(error**2 - lower**2, 0.0) * fit.norm**2 * (1 + 1e-9)
    if not excess < gap:
        return None
    return math.degrees(math.asin(math.sqrt(excess / gap))) * (1 + 1e-9)


def _check_space(angle: float) -> Check:
    """Report how near the spaces of other fits are, if the bound is narrow enough to be useful."""
    words = (
        "Every factorization of this rank that fits at least as well spans nearly the same space: "
        f"within {rounded_up(angle)} degrees of the leading singular vectors."
    )
    name, theorem = "space of all fits as good", "Eckart-Young"
    status: Status = "holds" if angle <= NARROW else "fails"
    note = "largest angle between the row, or column, space of such a fit and the leading one"
    said = words if angle <= NARROW else ""
    return Check(name, theorem, status, angle, NARROW, note, in_words=said)


def nonnegativity(fit: Fit) -> tuple[Check, ...]:
    """Check that no weight is negative; empty if none is."""
    lowest = fit.lowest_weight
    if lowest >= 0:
        return ()
    words = "Some weights are negative, so this is not a nonnegative factorization."
    name, theorem = "weights not negative", "definition"
    return (Check(name, theorem, "fails", lowest, 0.0, direction=">=", in_words=words),)


def weights_residual(fit: Fit) -> float:
    """Measure how far the weights are from the best ones, in the units of ‖X‖_F."""
    return float(np.linalg.norm(weight_residuals(fit)))


def weight_residuals(fit: Fit) -> Floats:
    """Measure how far the weights of each row are from the best ones, in the units of the rows.

    nonnegative: see `projected_residual`, zero exactly at the least-squares weights.
    simplex: the root of the Frank-Wolfe gap ⟨g, w⟩ − min_j g_j, which bounds ½‖x − wC‖² minus its
    minimum over the simplex.
    """
    gram = fit.components_gram
    if fit.constraint != "simplex":
        return projected_residuals(fit.weight_rows, gram, fit.cross)

    def gaps(weights: Floats, cross: Floats) -> Floats:
        gradient = weights @ gram - cross
        gap = np.einsum("ij,ij->i", gradient, weights) - gradient.min(axis=1, initial=np.inf)
        return np.asarray(np.sqrt(np.maximum(gap, 0.0)))

    return np.concatenate(list(fit.weight_rows.each(gaps, fit.cross)))


def projected_residual(factor: Rows, gram: Floats, cross: Rows) -> float:
    """Measure how far a factor F ≥ 0 (m, k) is from minimising ½‖Y − FA‖², in the units of Y."""
    return float(np.linalg.norm(projected_residuals(factor, gram, cross)))


def projected_residuals(factor: Rows, gram: Floats, cross: Rows) -> Floats:
    """Measure how far each row of F ≥ 0 (m, k) is from minimising ½‖Y − FA‖².

    `gram` is AAᵀ, `cross` is YAᵀ. The rows of A are scaled to unit length first, so that a
    component that is long in one factor and short in the other counts like any other. One step
    of projected gradient descent of length 1/L, L = ‖AAᵀ‖₂, then moves F by ‖F − F⁺‖; the
    residual is √L times that, and zero exactly at a minimum.
    """
    sizes = np.sqrt(np.maximum(np.diag(gram), 0.0))
    inverse = inverse_where_positive(sizes)
    unit_gram = gram * np.outer(inverse, inverse)
    largest = max(float(np.linalg.eigvalsh(unit_gram)[-1]), np.finfo(np.float64).tiny)

    def moves(factor: Floats, cross: Floats) -> Floats:
        scaled = factor * sizes
        gradient = scaled @ unit_gram - cross * inverse
        moved = scaled - np.maximum(scaled - gradient / largest, 0.0)
        return math.sqrt(largest) * np.asarray(np.linalg.norm(moved, axis=1))

    return np.concatenate(list(factor.each(moves, cross)))


# Movements of the weights.

EPS = float(np.finfo(np.float64).eps)
NAME, THEOREM = "weights move less than rows", "projections"
STABLE = 10.0  # amplification of relative changes up to which weights are called stable
# Weights whose projected gradient step is longer than this share of their row are not the best
# ones; single precision leaves about 1e-6.
LEAST_SQUARES = 1e-5


def certify_weights(fit: Fit) -> Certificate:
    """Certify the factor between the movement of a row and that of its weights."""
    if not fit.least_squares:
        note = "known for weights by least squares only, and these are found in another way"
        return Certificate(fit.method, (Check(NAME, THEOREM, "unknown", note=note),))
    if fit.norm == 0:
        return Certificate(fit.method)
    found = amplification(fit)
    if found is None:
        return Certificate(fit.method, (_without_bound(fit),))
    bounds = {"weight_amplification": found.all_weights}
    measures = {"component_amplification": tuple(found.by_component.tolist())}
    return Certificate(fit.method, (_check_movement(fit, found),), bounds, measures)


def _without_bound(fit: Fit) -> Check:
    """Return the check for components without a bound: weights not unique, or unknown."""
    k, d = fit.components.shape
    repeated = len(np.unique(fit.given_components, axis=0)) < k
    zero = not fit.given_components.any(axis=1).all() and fit.constraint != "simplex"
    if k > d + (fit.constraint == "simplex") or repeated or zero:
        words = "The weights are not unique: some components are combinations of others."
        note = "other weights explain a row as well"
        return Check(NAME, THEOREM, "fails", note=note, in_words=words)
    note = "components are so nearly dependent that rounding hides how far weights may move"
    words = "The weights are not known to be stable: some components are nearly combinations of "
    return Check(NAME, THEOREM, "unknown", note=note, in_words=f"{words}others.")


def _check_movement(fit: Fit, found: Amplification) -> Check:
    """Check whether the weights of half of the rows move less, relatively, than the rows."""
    moved = float(np.median(relative_movements(fit, found.all_weights * fit.unit)))
    value = rounded_up(moved) if np.isfinite(moved) else ""
    holds = moved <= STABLE
    if holds:
        words = (
            "The weights are stable: with these components, changing a row by 1 % changes its "
            f"weights by at most {value} %, for at least half of the rows."
        )
    elif value:
        words = (
            "The weights are not known to be stable: with these components, changing a row by 1 % "
            f"may change its weights by up to {value} %, for at least half of the rows."
        )
    else:
        words = (
            "The weights are not known to be stable: in at least half of the rows they are zero or "
            "not the best ones."
        )
    return Check(
        NAME,
        THEOREM,
        "holds" if holds else "unknown",
        value=moved,
        threshold=STABLE,
        note="median over all rows of the relative movement of the weights over that of the row, "
        "at most, rounding apart; weights that are zero or not the best ones count as infinite",
        in_words=words,
    )


def relative_movements(fit: Fit, factor: float) -> Floats:
    """Return factor·‖x‖/‖w‖ of each row: infinite where weights are zero or not the best.

    A row of zeros cannot change by a share of itself and counts as zero. Weights are the best ones
    if a step of projected gradient descent moves them by less than a small share of the row.
    """
    rows = fit.lengths
    lengths = fit.given_rows.array(
        lambda weights: np.linalg.norm(weights.astype(np.float64, copy=False), axis=1)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = factor * rows / lengths
    moved[weight_residuals(fit) > LEAST_SQUARES * rows] = np.inf
    moved[rows == 0] = 0.0
    return np.asarray(moved)


def amplification(fit: Fit) -> Amplification | None:
    """Bound the movement of weights for a movement of 1 of a row; None if no bound is proved.

    Components that the solver may take for dependent (within √(kε) of the span of others) have
    none: it would give them weight zero.
    """
    components = fit.given_components
    k, d = components.shape
    size = float(np.abs(components).max(initial=0.0))
    differences = fit.constraint == "simplex"
    if k == 1 and differences:  # the only weight is one, whatever the row
        return Amplification(0.0, np.zeros(1))
    if size == 0 or k > d + differences:
        return None
    alike = components / size if differences else unit_rows(components)
    found = amplification_of(alike, of_differences=differences)
    if found is None or 1 / found.all_weights <= 4 * np.sqrt(k * EPS):
        return None
    unit = float(power_of_two(size))
    found = amplification_of(components / unit, of_differences=differences)
    if found is None:
        return None
    return Amplification(found.all_weights / unit, found.by_component / unit)
