"""How far the weights of a row can move when the row moves.

Least-squares weights of a row x over a closed convex set K (w ≥ 0, or the simplex) minimise
½‖x − wC‖². In the inner product of G = CCᵀ that is the projection of xCᵀG⁻¹ onto K, and
projections do not expand, so for two rows x, x′

    ‖w − w′‖_G  ≤  ‖(x − x′)CᵀG⁻¹‖_G  =  ‖(x − x′)P‖  ≤  ‖x − x′‖,    P onto the rows' span,

and ‖v‖_G = ‖vC‖ ≥ σ ‖v‖ gives ‖w − w′‖ ≤ ‖x − x′‖/σ, with σ the smallest singular value of C; on
the simplex, where differences of weights sum to zero, the smallest ‖vC‖ over unit v with Σv = 0.
In particular weights are within ‖noise‖/σ of those of the row without its noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.certificate.singular_values import least_stretch as least_stretch_of
from provenmf.linalg.norms import power_of_two
from provenmf.linalg.scaling import unit_rows
from provenmf.results import Certificate, Check
from provenmf.results.certificate import rounded_up

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
NAME, THEOREM = "weights move less than rows", "projections"
# Amplification of relative changes up to which weights are called stable.
STABLE = 100.0


def certify(fit: Fit) -> Certificate:
    """The factor between the movement of a row and that of its weights."""
    if not fit.least_squares:
        note = "known for weights by least squares only, and these are found in another way"
        return Certificate(fit.method, (Check(NAME, THEOREM, "unknown", note=note),))
    if fit.norm == 0:
        return Certificate(fit.method)
    least = least_stretch(fit)
    if least == 0:
        note = "the components are too nearly dependent: other weights explain a row as well"
        words = "The weights are not unique: some components are combinations of others."
        return Certificate(fit.method, (Check(NAME, THEOREM, "fails", note=note, in_words=words),))
    lengths = fit.given_rows.array(_lengths)
    used = lengths > 0
    stretch = least / fit.unit
    moved = float(np.median(fit.lengths[used] / (stretch * lengths[used]))) if used.any() else 0.0
    check = Check(
        NAME,
        THEOREM,
        "holds" if moved <= STABLE else "fails",
        value=moved,
        threshold=STABLE,
        note="relative movement of the weights of a typical row over that of the row, at most; "
        "for weights by least squares, rounding apart",
        in_words=_in_words(moved),
    )
    return Certificate(
        fit.method,
        (check,),
        bounds={"weight_amplification": (1 + 4 * EPS) / least},
        measures={"smallest_stretch": least},
    )


def _lengths(weights: NDArray[np.floating]) -> Floats:
    return np.asarray(np.linalg.norm(weights.astype(np.float64, copy=False), axis=1))


def least_stretch(fit: Fit) -> float:
    """A number that ‖vC‖/‖v‖ does not fall below, for differences v of weights; 0 if none is known.

    Components that the solver may take for dependent (within √(kε) of the span of others) have
    none: it would give them weight zero.
    """
    components = fit.given_components
    k, d = components.shape
    size = float(np.abs(components).max(initial=0.0))
    if size == 0 or k > d + (fit.constraint == "simplex"):
        return 0.0
    unit = float(power_of_two(size))
    if len(components) == 1 and fit.constraint == "simplex":  # no difference, whatever the number
        return float(np.linalg.norm(components / unit) * unit * (1 - 8 * d * EPS))
    differences = fit.constraint == "simplex"
    alike = components / size if differences else unit_rows(components)
    if least_stretch_of(alike, of_differences=differences) <= 4 * np.sqrt(k * EPS):
        return 0.0
    return least_stretch_of(components / unit, of_differences=differences) * unit


def _in_words(moved: float) -> str:
    if moved <= STABLE:
        return (
            "The weights are stable: with these components, changing a typical row by 1 % changes "
            f"its weights by at most {rounded_up(moved)} %."
        )
    return (
        "The weights are not known to be stable: changing a typical row by 1 % may change its "
        f"weights by up to {rounded_up(moved)} %."
    )
