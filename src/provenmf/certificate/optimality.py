"""Statements about any factorization that need no assumption.

For data X (n, d), weights W (n, k) and components C (k, d):
relative error ‖X − WC‖_F / ‖X‖_F; the least relative error of *any* rank-k product, from the
singular values (Eckart & Young 1936), sqrt(Σ_{i>k} σ_i²)/‖X‖_F; the gap between the two; and
how far the weights are from the best weights of these components.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.certificate.singular_values import gap_at_least, smaller_gram
from provenmf.data import Rows
from provenmf.linalg.norms import inverse_where_positive
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
    """Say that other fits span the same space, where that is narrow enough to be of use."""
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
