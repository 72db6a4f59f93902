"""Guarantees for anchors found by SPA, FastAnchor, XRAY and FastGradient.

Every statement is about the explanation that was returned (`margins.py`): each row is its nearest
point among those that the model allows plus noise, and ε, the largest noise in a row, is measured.
If a theorem's condition holds for this explanation, the method provably finds it, up to the
theorem's error, from any data within ε of its noiseless rows; whether nature made the data that way
no computation can tell.

    GV14     Gillis & Vavasis 2014, Theorem 3: SPA, with f the squared Euclidean length; for
             k ≥ 3 the order of its error is tight (Barbarino & Gillis 2024, arXiv 2411.16195)
    Arora13  Arora et al. 2013, Theorem 4.3: FastAnchorWords
    Kumar13  Kumar, Sindhwani & Kambadur 2013: XRAY, for data without noise

Conditions are judged with rounding on the safe side: noise is rounded up, what is allowed down.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.linalg.hull import product_rounding
from provenmf.methods.separable.margins import (
    EXACT,
    Explanation,
    independent_components,
    margin_statements,
    other_components,
    singular_value_rounding,
    smallest_singular_value,
)
from provenmf.results import Certificate, Check


def certify_spa(fit: Fit, *, scale_rows: bool = False) -> Certificate:
    """Check GV14's condition ε < σ_k min(1/(2√(k−1)), 1/4) / (1 + 80 ‖C‖²/σ_k²)."""
    refused = other_components(fit)
    if refused is not None:
        return refused
    points = Explanation(fit, "hull and 0", scale_rows=scale_rows)
    allowed = spa_noise_allowed(points.components)
    check = Check(
        "noise within SPA's tolerance",
        "GV14, Theorem 3",
        "holds" if points.largest < allowed else "fails",
        value=points.largest * points.unit,
        threshold=allowed * points.unit,
        note="noise: largest distance of a row to the hull of the anchors and zero"
        + points.of_rows,
    )
    own = independent_components(fit.components)  # a row without a positive sum is scaled to zero
    return certificate(points, own, check)


def certify_fast_anchor(fit: Fit, *, scale_rows: bool = False) -> Certificate:
    """Check Arora13's condition 20 k ε < γ³, rows scaled into the unit ball."""
    refused = other_components(fit)
    if refused is not None:
        return refused
    points = Explanation(fit, "hull", scale_rows=scale_rows)
    gamma = robustness(points.components) / points.scale
    allowed = gamma**3 / (20 * len(points.components)) * points.scale
    error = (
        f"; finds the anchors up to the order of {points.largest / gamma * points.unit:.3g} only"
        if gamma > 0
        else ""
    )
    check = Check(
        "noise within its tolerance",
        "Arora13, Thm 4.3",
        "holds" if points.largest < allowed else "fails",
        value=points.largest * points.unit,
        threshold=allowed * points.unit,
        note="noise: largest distance of a row to the hull of the anchors" + points.of_rows + error,
    )
    return certificate(points, check, robustness=gamma)


def certify_cone(fit: Fit) -> Certificate:
    """Check that the cone of the anchors contains all rows: then XRAY's theorem applies.

    Margins are those of the rows divided by their sums, which turns the cone into a hull.
    """
    refused = other_components(fit)
    if refused is not None:
        return refused
    cone = Explanation(fit, "cone")
    share = cone.largest_share
    check = Check(
        "rows within 1e-7 of the anchors' cone",
        "Kumar13",
        "holds" if share is not None and share <= EXACT else "fails",
        value=share,
        threshold=EXACT,
        note="largest distance of a row to the cone as a share of that row's own length; the "
        "theory of conical hulls speaks of data without noise only",
    )
    return certificate(cone, check, margins=Explanation(fit, "hull", scale_rows=True))


def certificate(
    points: Explanation, *checks: Check, margins: Explanation | None = None, **measures: float
) -> Certificate:
    """Join the checks, what the margins prove, and the measures of separability."""
    of_margins = margin_statements(points if margins is None else margins)
    return Certificate(
        points.fit.method,
        checks=of_margins.checks + checks,
        bounds=of_margins.bounds,
        measures={
            "separability_residual": points.largest / points.scale,
            "typical_separability_residual": points.typical / points.scale,
            "smallest_singular_value": smallest_singular_value(points.components) * points.unit,
            **measures,
            **of_margins.measures,
        },
    )


def spa_noise_allowed(components: NDArray[np.float64]) -> float:
    """Return the noise per row below which SPA finds the components (GV14, Thm 3), rounded down."""
    sigma = smallest_singular_value(components) - singular_value_rounding(components)
    if sigma <= 0:
        return 0.0
    k = len(components)
    longest = float(np.linalg.norm(components, axis=1).max())
    share = min(0.25, 1 / (2 * math.sqrt(k - 1)) if k > 1 else 0.25)
    allowed = sigma * share / (1 + 80 * (longest / sigma) ** 2)
    return allowed * (1 - product_rounding(components.shape[1]))


def robustness(components: NDArray[np.float64]) -> float:
    """Return Arora13's γ: least distance of a component to the others' affine hull, rounded down.

    Heights of a simplex are one over the lengths of its dual vectors. Their error grows with the
    condition number.
    """
    k, d = components.shape
    rounding = product_rounding(max(k, d))
    longest = float(np.linalg.norm(components, axis=1).max())
    if k == 1:
        return longest * (1 - rounding)
    centred = components - components.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    if k - 1 > d or values[k - 2] <= 1e-9 * values[0]:
        return 0.0  # not the corners of a simplex, as far as can be told
    heights = 1 / np.linalg.norm(np.linalg.pinv(centred, rcond=1e-9), axis=0)
    slack = 4 * rounding * values[0] / values[k - 2] * longest
    return float(max(0.0, heights.min() - slack))
