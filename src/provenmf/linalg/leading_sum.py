"""Upper bounds, proved, of the sum of the k largest eigenvalues of a Gram matrix.

Residuals of eigenvectors prove that some eigenvalues were found, not that they are the leading
ones. By duality (Ky Fan), for any τ and any Z ⪰ 0

    τI − G + Z ⪰ 0   implies   Σ_{i≤k} λ_i(G)  ≤  kτ + tr Z,

with equality for τ = λ_k and Z = V(Θ − λ_k)Vᵀ of the leading eigenpairs. Vectors found by any
method, good or bad, may stand in for them; what is proved is the left side, by a Cholesky factor:
one that is found in floating point shows that the smallest eigenvalue is at least −c, where
c = γ tr(M), γ = (d + 2)u / (1 − (d + 2)u) (Rump 2006, Verification of positive definiteness).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky

from provenmf.linalg.krylov import block_krylov
from provenmf.linalg.norms import power_of_two
from provenmf.linalg.spectral import DENSE_SIZE, dense_eigenpairs

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff: a factor of two in hand
TOLERANCE = 1e-9  # residuals of the vectors relative to the largest value
ATTEMPTS = 5


def leading_sum_at_most(gram: Floats, k: int) -> float | None:
    """A number that Σ_{i≤k} λ_i(gram) does not exceed; None if none could be proved.

    `gram` is symmetric and positive semidefinite up to its own rounding, and is taken as exact.
    """
    size, trace = len(gram), float(np.trace(gram))
    if trace <= 0:
        return 0.0
    if k >= size:
        return trace * (1 + size * EPS) + size * float(np.abs(gram).max()) * size * EPS
    unit = float(power_of_two(np.abs(gram).max()))
    values, vectors, residual = _leading_pairs(gram / unit, k)
    raised = np.maximum(values - values[-1], 0.0)
    lift = (vectors * raised) @ vectors.T
    lifted = float(raised @ np.einsum("ij,ij->j", vectors, vectors)) * (1 + 2 * size * EPS)
    slack = 4 * size * EPS * (values[0] + (size + 2) * values[-1]) + 2 * residual
    for _ in range(ATTEMPTS):
        tau = float(values[-1] + slack)
        proved = _least_shift(lift - gram / unit, tau, k, lifted)
        if proved is not None:
            return (k * proved + lifted) * (1 + 4 * EPS) * unit
        slack *= 100
    return None


def _leading_pairs(gram: Floats, k: int) -> tuple[Floats, Floats, float]:
    """Leading eigenpairs as well as they can be had, and the largest residual length."""
    if len(gram) <= DENSE_SIZE or 4 * k > len(gram):
        values, vectors = dense_eigenpairs(gram, k)
        residual = np.linalg.norm(gram @ vectors - vectors * values, axis=0)
    else:
        values, vectors, residual = block_krylov(lambda v: gram @ v, len(gram), k, tol=TOLERANCE)
    return values, vectors, float(residual.max())


def _least_shift(difference: Floats, tau: float, k: int, lifted: float) -> float | None:
    """A τ for which τI + Z − G ⪰ 0 is proved, if τI + (Z − G) as rounded has a Cholesky factor.

    `difference` is Z − G as computed, which is off by at most (k + 4) u (‖Z‖ + ‖G‖).
    """
    size = len(difference)
    shifted = difference.copy()
    shifted[np.diag_indices(size)] += tau
    total = float(np.trace(shifted))
    entries = (k + 4) * EPS * (2 * lifted + float(np.linalg.norm(difference)) + tau)
    try:
        cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return tau + 2 * (size + 2) * EPS * max(total, 0.0) + entries


def tail_at_least(
    squared_norm: float, gram: Floats, k: int, inner_length: int
) -> tuple[float | None, str]:
    """A number that ‖X‖² − Σ_{i≤k} σ_i² does not fall below, and the reason if there is none.

    `gram` is XᵀX or XXᵀ as computed from products of `inner_length` terms: off by at most
    u·inner_length ‖X‖² in the Frobenius norm, hence its k leading eigenvalues by √k times that.
    """
    leading = leading_sum_at_most(gram, k)
    if leading is None:
        return None, "the leading singular values could not be told from the others"
    rounding = (math.sqrt(k) * inner_length + sum(gram.shape)) * EPS * squared_norm
    return max(squared_norm - leading - rounding, 0.0), ""
