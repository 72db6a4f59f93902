"""What is true of any factorization with no assumption at all.

For data X (n, d), weights W (n, k) and components C (k, d):
relative error ‖X − WC‖_F / ‖X‖_F; the least relative error of *any* rank-k product, from the
singular values (Eckart & Young 1936), sqrt(Σ_{i>k} σ_i²)/‖X‖_F; the gap between the two; and
how far the weights are from the best weights of these components.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.linalg.norms import squared_frobenius_norm, squared_residual_rows
from provenmf.linalg.spectral import GRAM_COLUMNS, Spectrum, gram_of_columns, leading_eigenpairs
from provenmf.records import Certificate, Check, Factorization


def frobenius_error(blocks: Blocks, weights: NDArray[Any], components: NDArray[Any]) -> float:
    """‖X − WC‖_F in one pass."""
    squared = blocks.map_reduce(
        lambda block, w: squared_residual_rows(block, w, components).sum(), weights
    )
    return math.sqrt(squared)


def certify(
    blocks: Blocks,
    factorization: Factorization,
    *,
    constraint: str = "nonnegative",
    error: float | None = None,
) -> Certificate:
    """Assumption-free statements about one factorization.

    `error` is its `frobenius_error`, where that is known already; it saves a pass.
    """
    weights, components = factorization.weights, factorization.components
    squared_norm = blocks.map_reduce(squared_frobenius_norm)
    measures: dict[str, Any] = {}
    if squared_norm == 0:
        return Certificate(factorization.method, measures={"relative_error": 0.0})
    if error is None:
        error = frobenius_error(blocks, weights, components)
    error /= math.sqrt(squared_norm)
    measures["relative_error"] = error
    measures["weights_optimality_residual"] = weights_residual(
        blocks, weights, components, constraint
    ) / math.sqrt(squared_norm)
    lower = eckart_young_lower_bound(blocks, factorization.n_components, squared_norm)
    if lower is None:
        check = Check(
            "distance to the best rank-k error",
            "Eckart-Young",
            "unknown",
            note="too many columns on disk for the singular values; not computed",
        )
        return Certificate(factorization.method, checks=(check,), measures=measures)
    measures["relative_error_lower_bound"] = lower
    measures["relative_error_gap"] = max(error - lower, 0.0)
    return Certificate(factorization.method, measures=measures)


def eckart_young_lower_bound(blocks: Blocks, k: int, squared_norm: float) -> float | None:
    """No rank-k product comes closer to the data than this relative error.

    ‖X‖² − Σ_{i≤k} σ_i², every leading σ_i² enlarged by its error bound and the difference
    lowered by the rounding error of the sums, so that the statement is safe.
    """
    spectrum = _leading_spectrum(blocks, k)
    if spectrum is None or not spectrum.converged:
        return None
    rounding = np.finfo(np.float64).eps * max(blocks.shape) * squared_norm
    tail = squared_norm - float((spectrum.values + spectrum.errors).sum()) - rounding
    return math.sqrt(max(tail, 0.0) / squared_norm)


def _leading_spectrum(blocks: Blocks, k: int) -> Spectrum | None:
    """Leading eigenvalues of XᵀX, from whichever of XᵀX, XXᵀ or their products is cheap."""
    n, d = blocks.shape
    if blocks.in_memory and n < d:
        matrix = blocks.everything()
        if n <= GRAM_COLUMNS:
            return leading_eigenpairs(gram_of_columns(matrix.T), n, k)
        return leading_eigenpairs(lambda v: matrix @ (matrix.T @ v), n, k)
    if d <= GRAM_COLUMNS:
        return leading_eigenpairs(blocks.map_reduce(gram_of_columns), d, k)
    if not blocks.in_memory:
        return None
    matrix = blocks.everything()
    return leading_eigenpairs(lambda v: matrix.T @ (matrix @ v), d, k)


def weights_residual(
    blocks: Blocks, weights: NDArray[Any], components: NDArray[Any], constraint: str
) -> float:
    """How far the weights are from optimal for these components, in the units of ‖X‖_F.

    nonnegative: length of the projected gradient of ½‖X − WC‖² divided by ‖C‖₂; it is zero
    exactly at the least-squares weights.
    simplex: sqrt of the sum of the rows' Frank-Wolfe gaps ⟨g, w⟩ − min_j g_j, which bounds
    ½‖X − WC‖² − min over the simplex.
    """
    wide = components.astype(np.float64, copy=False)
    gram = wide @ wide.T

    def squared_residual(block: Block, w: NDArray[Any]) -> float:
        gradient = w @ gram - np.asarray(block @ wide.T)
        if constraint == "simplex":
            gap = np.einsum("ij,ij->i", gradient, w) - gradient.min(axis=1)
            return float(np.maximum(gap, 0.0).sum())
        projected = np.where(w > 0, gradient, np.minimum(gradient, 0.0))
        return float(np.einsum("ij,ij->", projected, projected))

    squared = blocks.map_reduce(squared_residual, weights)
    if constraint == "simplex":
        return math.sqrt(squared)
    largest = float(np.linalg.eigvalsh(gram)[-1])
    return math.sqrt(squared / largest) if largest > 0 else 0.0
