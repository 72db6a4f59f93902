"""Bound how far the weights of a row can move when the row moves.

Least-squares weights of a row x over a closed convex set K (w ≥ 0, or the simplex) minimise
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

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.certificate.optimality import weight_residuals
from provenmf.certificate.singular_values import Amplification, amplification_of
from provenmf.linalg.norms import power_of_two, unit_rows
from provenmf.results import Certificate, Check
from provenmf.results.certificate import rounded_up

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
NAME, THEOREM = "weights move less than rows", "projections"
STABLE = 10.0  # amplification of relative changes up to which weights are called stable
# Weights whose projected gradient step is longer than this share of their row are not the best
# ones; single precision leaves about 1e-6.
LEAST_SQUARES = 1e-5


def certify(fit: Fit) -> Certificate:
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
    return Certificate(fit.method, (_check(fit, found),), bounds, measures)


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


def _check(fit: Fit, found: Amplification) -> Check:
    """Compare the relative movement of the weights of half of the rows with that of the rows."""
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
        words = "The weights are not known to be stable: most of them are not the best ones."
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
    """Return factor·‖x‖/‖w‖ of each row: infinite without weights or where they are not the best.

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
