"""Gradient steps on a least-squares problem without taking them one by one.

For fixed weights Z and data Y the loss ½‖Y − ZC‖²_F has the gradient G C − B with G = ZᵀZ (k, k)
and B = ZᵀY (k, d). A step C ← C + η (B − G C) only needs these two, and in the eigenvectors of G
every coordinate moves on its own, so that T steps have a closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.scaling import inverse_where_positive

Array = NDArray[np.float64]

# Directions in which a Gram matrix of unit diagonal is smaller than this carry no information.
NULL_DIRECTION = 1e-13


def after_gradient_steps(
    start: Array, cross: Array, gram: Array, *, step_size: float, steps: int
) -> Array:
    """The iterate after exactly `steps` steps C ← C + η (B − G C) from `start`.

    With G = V diag(w) Vᵀ, a coordinate c of VᵀC ends at (1 − ηw)^T c + (1 − (1 − ηw)^T)/w b.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = (1.0 - step_size * values) ** steps
    taken = _geometric_sum(step_size * values, steps) * step_size
    moved = kept[:, None] * (vectors.T @ start) + taken[:, None] * (vectors.T @ cross)
    return vectors @ moved


def after_all_gradient_steps(start: Array, cross: Array, gram: Array) -> Array:
    """The limit of the steps: the least-squares solution that is nearest to `start`.

    Components without any weight keep their value; so do directions in which G vanishes, measured
    after G is scaled to unit diagonal.
    """
    inverse = inverse_where_positive(np.sqrt(np.diag(gram)))
    values, vectors = np.linalg.eigh(gram * np.multiply.outer(inverse, inverse))
    known = values > NULL_DIRECTION * values[-1] if values[-1] > 0 else values > 0
    basis = vectors[:, known]
    residual = inverse[:, None] * (cross - gram @ start)
    return np.asarray(
        start + inverse[:, None] * (basis @ ((basis.T @ residual) / values[known, None]))
    )


def _geometric_sum(x: Array, terms: int) -> Array:
    """Σ_{t<T} (1 − x)^t = (1 − (1 − x)^T)/x, accurate for tiny x too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        small = -np.expm1(terms * np.log1p(-x)) / x
        large = (1.0 - (1.0 - x) ** terms) / x
    total = np.where(x < 0.5, small, large)
    return np.where(np.abs(x) < 1e-300, float(terms), total)
