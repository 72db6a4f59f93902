"""Upper bounds, proved, of the sum of the k largest eigenvalues of a Gram matrix.

Residuals of eigenvectors prove that some eigenvalues were found, not that they are the leading
ones. By duality (Ky Fan), for any τ and any Z ⪰ 0

    τI − G + Z ⪰ 0   implies   Σ_{i≤k} λ_i(G)  ≤  kτ + tr Z,

with equality for τ = λ_k and Z = V(Θ − λ_k)Vᵀ of the leading eigenpairs. Vectors found by any
method, good or bad, may stand in for them; what is proved is the left side, by a Cholesky factor.
The one computed of M is that of M + E with |E| ≤ γ_{d+1} |R|ᵀ|R|, in any order of operations
(Higham 2002, Theorem 10.3; γ_m = mu/(1 − mu), u the unit roundoff), so ‖E‖ ≤ γ_{d+1} ‖R‖_F² and
‖R‖_F² ≤ tr M/(1 − γ_{d+1}). The smallest eigenvalue is then at least −γ_{d+1} tr M/(1 − γ_{d+1})
(Rump 2006, Verification of positive definiteness). No constant here is a matter of experience.
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

EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff, to be safe
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

    Only the lower triangle counts. Off by rounding are Z by γ_{k+1} tr Z, `lifted` being tr Z, the
    `difference` by u ‖Z − G‖_F and the diagonal once more: all in the Frobenius norm of a triangle,
    √2 times that for the symmetric matrix.
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


def tail_at_least(squared_norm: float, gram: Floats, k: int, inner_length: int) -> float | None:
    """A number that ‖X‖² − Σ_{i≤k} σ_i² does not fall below; None if none could be proved.

    `gram` is XᵀX or XXᵀ as computed from products of m = `inner_length` terms. Its entries are off
    by at most γ_m (|X|ᵀ|X|)_ij in any order of summation (Higham 2002, Section 3.5), hence the
    matrix by γ_m ‖X‖² in the Frobenius norm, and its k leading eigenvalues together by √k times
    that (Ky Fan). ‖X‖² is a sum of as many squares as X has entries, along rows and then along
    columns, and off by at most γ of rows and columns together.
    """
    size = len(gram)
    if k >= size:
        return 0.0
    leading = leading_sum_at_most(gram, k)
    if leading is None:
        return None
    rounding = (math.sqrt(k) * inner_length + 2 * (size + inner_length) + 16) * EPS * squared_norm
    return max(squared_norm - leading - rounding, 0.0)
