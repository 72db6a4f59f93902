"""What is true of any factorization with no assumption at all.

For data X (n, d), weights W (n, k) and components C (k, d):
relative error ‖X − WC‖_F / ‖X‖_F; the least relative error of *any* rank-k product, from the
singular values (Eckart & Young 1936), sqrt(Σ_{i>k} σ_i²)/‖X‖_F; the gap between the two; and
how far the weights are from the best weights of these components.
"""

from __future__ import annotations

import math

import numpy as np

from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate, Check, Measure


def certify(fit: Fit) -> Certificate:
    """Assumption-free statements about one factorization."""
    if fit.norm == 0:
        return Certificate(fit.method, measures={"error": fit.error * fit.unit})
    measures: dict[str, Measure] = {
        "relative_error": fit.relative_error,
        "weights_optimality_residual": weights_residual(fit) / fit.norm,
    }
    lower = fit.rank_bound.relative_error
    if lower is None:
        note = f"{fit.rank_bound.reason}: the singular values were not computed"
        check = Check("distance to the best rank-k error", "Eckart-Young", "unknown", note=note)
        return Certificate(fit.method, checks=(check,), measures=measures)
    bounds = {
        "relative_error_lower_bound": lower,
        "relative_error_gap": max(fit.relative_error - lower, 0.0) + fit.error_rounding,
    }
    return Certificate(fit.method, bounds=bounds, measures=measures)


def weights_residual(fit: Fit) -> float:
    """How far the weights are from optimal for these components, in the units of ‖X‖_F.

    nonnegative: length of the projected gradient of ½‖X − WC‖² divided by ‖C‖₂; it is zero
    exactly at the least-squares weights.
    simplex: sqrt of the sum of the rows' Frank-Wolfe gaps ⟨g, w⟩ − min_j g_j, which bounds
    ½‖X − WC‖² − min over the simplex.
    """
    gradient = fit.weights @ fit.components_gram - fit.cross
    if fit.constraint == "simplex":
        gap = np.einsum("ij,ij->i", gradient, fit.weights) - gradient.min(axis=1)
        return math.sqrt(float(np.maximum(gap, 0.0).sum()))
    projected = np.where(fit.weights > 0, gradient, np.minimum(gradient, 0.0))
    largest = float(np.linalg.eigvalsh(fit.components_gram)[-1])
    return float(np.linalg.norm(projected)) / math.sqrt(largest) if largest > 0 else 0.0
