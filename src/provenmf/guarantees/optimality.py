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
from provenmf.linalg.spectral import GRAM_COLUMNS, Spectrum, gram_of_columns, leading_eigenpairs
from provenmf.records import Certificate, Check, Measure


def certify(fit: Fit) -> Certificate:
    """Assumption-free statements about one factorization."""
    if fit.norm == 0:
        return Certificate(fit.method, measures={"relative_error": 0.0})
    measures: dict[str, Measure] = {
        "relative_error": fit.relative_error,
        "weights_optimality_residual": weights_residual(fit) / fit.norm,
    }
    lower = eckart_young_lower_bound(fit)
    if lower is None:
        check = Check(
            "distance to the best rank-k error",
            "Eckart-Young",
            "unknown",
            note="too many columns on disk for the singular values; not computed",
        )
        return Certificate(fit.method, checks=(check,), measures=measures)
    bounds = {
        "relative_error_lower_bound": lower,
        "relative_error_gap": max(fit.relative_error - lower, 0.0),
    }
    return Certificate(fit.method, bounds=bounds, measures=measures)


def eckart_young_lower_bound(fit: Fit) -> float | None:
    """No rank-k product comes closer to the data than this relative error.

    ‖X‖² − Σ_{i≤k} σ_i², every leading σ_i² enlarged by its error bound and the difference
    lowered by the rounding error of the sums, so that the statement is safe.
    """
    spectrum = _leading_spectrum(fit)
    if spectrum is None or not spectrum.converged:
        return None
    rounding = np.finfo(np.float64).eps * max(fit.blocks.shape) * fit.squared_norm
    tail = fit.squared_norm - float((spectrum.values + spectrum.errors).sum()) - rounding
    return math.sqrt(max(tail, 0.0) / fit.squared_norm)


def _leading_spectrum(fit: Fit) -> Spectrum | None:
    """Leading eigenvalues of XᵀX, from whichever of XᵀX, XXᵀ or their products is cheap."""
    blocks, (n, d), k = fit.blocks, fit.blocks.shape, fit.n_components
    if fit.gram is not None:
        return leading_eigenpairs(fit.gram, d, k)
    if not blocks.in_memory:
        return None
    matrix = blocks.everything()
    if n < d:
        if n <= GRAM_COLUMNS:
            return leading_eigenpairs(gram_of_columns(matrix.T), n, k)
        return leading_eigenpairs(lambda v: matrix @ (matrix.T @ v), n, k)
    return leading_eigenpairs(lambda v: matrix.T @ (matrix @ v), d, k)


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
