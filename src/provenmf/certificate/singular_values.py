"""Prove bounds on singular values: on sums of the largest ones and on the smallest one.

*The k largest.* Residuals of eigenvectors prove that some eigenvalues were found, not that they are
the leading ones. By duality (Ky Fan), for any τ and any Z ⪰ 0 of rank k

    τI − G + Z ⪰ 0   implies   Σ_{i≤k} λ_i(G)  ≤  kτ + tr Z   and   λ_{k+1}(G) ≤ τ,

with equality for Z = V(Θ − τ)Vᵀ of the leading eigenpairs and λ_{k+1} ≤ τ ≤ λ_k. Vectors found by
any method, good or bad, may stand in for them; what is proved is the left side, by a Cholesky
factor. The one computed of M is that of M + E with |E| ≤ γ_{d+1} |R|ᵀ|R|, in any order of
operations (Higham 2002, Theorem 10.3; γ_m = mu/(1 − mu), u the unit roundoff), so
‖E‖ ≤ γ_{d+1} ‖R‖_F² and ‖R‖_F² ≤ tr M/(1 − γ_{d+1}). The smallest eigenvalue is then at least
−γ_{d+1} tr M/(1 − γ_{d+1}) (Rump 2006, Verification of positive definiteness).

*The least error of rank k* (Eckart & Young 1936) is ‖X‖² − Σ_{i≤k} σ_i², squared, on the smaller of
XᵀX and XXᵀ. Where neither is small enough, rows are shared out among parts X_1, X_2, …: a product
of rank k has rank k at most on the rows of each part, so that the least squared errors of the parts
add up to a lower bound. It is less than the best one: each part may choose its own k directions.

*The smallest.* Let A = D B with D a diagonal of powers of two. If B M = I − E with ‖E‖ < 1, then
N = M (I − E)⁻¹ is a right inverse of B, and N D⁻¹ one of A. For all v and any S with ‖vS‖ ≥ ‖v‖

    ‖v‖ ≤ ‖vS‖ = ‖vA N D⁻¹S‖ ≤ ‖vA‖ ‖N D⁻¹S‖.

N D⁻¹ = M D⁻¹ + M E (I − E)⁻¹ D⁻¹ = M D⁻¹ + M D⁻¹ F (I − F)⁻¹ with F = D E D⁻¹ gives two bounds of
the norm; the first is better where the rows of A differ in length, the second where A is nearly
singular. M may come from anywhere; sums of m terms are off by γ_m |B||M| (Higham 2002, 3.5).

No constant here is a matter of experience.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from provenmf.data import Block, Blocks
from provenmf.linalg.norms import power_of_two
from provenmf.linalg.spectral import (
    GRAM_COLUMNS,
    gram_of_columns,
    leading_eigenpairs,
)

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff, to be safe
ATTEMPTS = 5


def leading_sum_at_most(gram: Floats, k: int) -> float | None:
    """Return a proved upper bound of Σ_{i≤k} λ_i(gram), or None.

    `gram` is symmetric and positive semidefinite up to its own rounding, and is taken as exact.
    """
    size, trace = len(gram), float(np.trace(gram))
    if trace <= 0:
        return 0.0
    if k >= size:
        return trace * (1 + size * EPS) + size * float(np.abs(gram).max()) * size * EPS
    unit = float(power_of_two(np.abs(gram).max()))
    values, vectors, residual = leading_eigenpairs(gram / unit, k)
    proved = _next_value_at_most(gram / unit, vectors, values, float(values[-1]), residual)
    return None if proved is None else (k * proved[0] + proved[1]) * (1 + 4 * EPS) * unit


def _next_value_at_most(
    gram: Floats, vectors: Floats, values: Floats, next_value: float, residual: float
) -> tuple[float, float] | None:
    """Return a proved τ near `next_value` and tr Z for Z of these leading pairs; None if it fails.

    τI − G + Z ⪰ 0 is tried with more and more slack.
    """
    size, k = vectors.shape
    raised = np.maximum(values - next_value, 0.0)
    lift = (vectors * raised) @ vectors.T
    lifted = float(raised @ np.einsum("ij,ij->j", vectors, vectors)) * (1 + 2 * size * EPS)
    slack = 4 * size * EPS * (values[0] + (size + 2) * next_value) + 2 * residual
    for attempt in range(ATTEMPTS):
        proved = _least_shift(lift - gram, float(next_value + slack * 100.0**attempt), k, lifted)
        if proved is not None:
            return proved, lifted
    return None


def _least_shift(difference: Floats, tau: float, k: int, lifted: float) -> float | None:
    """Return a τ for which τI + Z − G ⪰ 0 is proved, if it has a Cholesky factor as rounded.

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
    """Return a proved lower bound of ‖X‖² − Σ_{i≤k} σ_i², or None.

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


@dataclass(frozen=True, eq=False)
class Amplification:
    """Bounds of ‖v‖ and of each |v_j| for all v with ‖vA‖ ≤ 1."""

    all_weights: float
    by_component: Floats


def amplification_of(rows: Floats, *, of_differences: bool = False) -> Amplification | None:
    """Bound ‖v‖ and |v_j| over ‖vA‖ ≤ 1, A being `rows`; None if nothing can be proved.

    With `of_differences` only for v that sum to zero. Such a v is (q, −Σq), vA = qB' with the rows
    of B' those of A minus its last, and v = q [I, −1]: S = [I, 1] up to signs.
    """
    if not np.isfinite(rows).all():
        return None
    if of_differences:
        apart = rows[:-1] - rows[-1]  # each entry off by u times itself
        lost = EPS * float(np.linalg.norm(apart))
        spread = np.column_stack([np.eye(len(apart)), np.ones(len(apart))])
    else:
        apart, lost, spread = rows, 0.0, np.eye(len(rows))
    sizes = np.abs(apart).max(axis=1, initial=0.0)
    if len(apart) == 0 or len(apart) > apart.shape[1] or not sizes.min() > 0:
        return None
    scale = power_of_two(sizes)
    found = _right_inverse(apart / scale[:, None], scale, spread)
    if found is None or not found.all_weights * lost < 1:
        return None
    grown = (1 + 16 * EPS) / (1 - found.all_weights * lost)
    return Amplification(found.all_weights * grown, found.by_component * grown)


def least_stretch(rows: Floats) -> float:
    """Return a proved lower bound of ‖vA‖/‖v‖, A being `rows`; 0 if there is none."""
    found = amplification_of(rows)
    return 0.0 if found is None else (1 - 8 * EPS) / found.all_weights


def has_independent_rows(rows: Floats, rank: int) -> bool:
    """Return whether at least `rank` of the rows are independent for certain."""
    if rank == 0:
        return True
    if min(rows.shape) < rank:
        return False
    if rank < len(rows):
        rows = rows[np.sort(qr(rows.T, mode="r", pivoting=True)[1][:rank])]
    return least_stretch(rows) > 0


def _right_inverse(rows: Floats, scale: Floats, spread: Floats) -> Amplification | None:
    """Bound ‖N D⁻¹S‖ and its columns, B = `rows`, D = `scale`, S = `spread`; None if it fails."""
    k, d = rows.shape
    basis, triangle = qr(rows.T, mode="economic", check_finite=False)
    if not np.diag(triangle).all():
        return None
    inverse = solve_triangular(triangle, basis.T, check_finite=False).T
    size = float(np.linalg.norm(inverse)) * (1 + k * d * EPS)
    if not size < 1e100:
        return None
    missing = float(np.linalg.norm(np.eye(k) - rows @ inverse)) * (1 + k * k * EPS)
    missing += 2 * (d + k + 2) * EPS * (1 + float(np.linalg.norm(rows)) * size)
    if not missing < 0.5:
        return None
    unit = 1 / float(scale.min())
    shrunk = spread / (scale[:, None] * unit)
    wide = inverse @ shrunk
    leading = leading_sum_at_most(wide.T @ wide if d > wide.shape[1] else wide @ wide.T, 1)
    if leading is None:
        return None
    rounding = (d + k + 2) * EPS * size
    norm = math.sqrt(leading + 2 * (d + k) * EPS * float(np.linalg.norm(wide)) ** 2)
    norm += rounding * float(np.linalg.norm(shrunk))
    turned = missing * float(scale.max()) * unit

    def corrected(length: Floats, shrunk_size: Floats, spread_size: Floats) -> Floats:
        more = size * shrunk_size * missing / (1 - missing)
        if turned < 0.5:
            more = np.minimum(more, norm * spread_size * turned / (1 - turned))
        return np.asarray((length + more) * (1 + (k * d + 16) * EPS) * unit)

    whole = corrected(np.asarray(norm), *(np.asarray(np.linalg.norm(m)) for m in (shrunk, spread)))
    sizes = [np.linalg.norm(m, axis=0) for m in (shrunk, spread)]
    columns = np.linalg.norm(wide, axis=0) * (1 + d * EPS) + rounding * sizes[0]
    return Amplification(float(whole), corrected(columns, *sizes))


PART_ROWS = 1000  # of a part; a proof takes a tenth of a second


@dataclass(frozen=True)
class RankBound:
    """The least relative error of any product of this rank; None with a `reason` if unknown."""

    relative_error: float | None
    reason: str = ""


def gram_is_formed(blocks: Blocks) -> bool:
    """Return whether XᵀX is the smaller Gram matrix and small enough to be summed up in a pass."""
    n, d = blocks.shape
    return d <= GRAM_COLUMNS and not (blocks.in_memory and n < d)


def least_relative_error(
    blocks: Blocks, k: int, squared_norm: float, gram: NDArray[np.float64] | None
) -> RankBound:
    """Bound the error for data of this squared norm; `gram` is XᵀX where a pass has formed it."""
    n, d = blocks.shape
    if squared_norm == 0:
        return RankBound(None, "the data are zero")
    if k >= min(n, d):
        return RankBound(0.0)
    smaller = smaller_gram(blocks, gram)
    if smaller is not None:
        tail = tail_at_least(squared_norm, smaller[0], k, smaller[1])
    elif blocks.in_memory:
        tail = tails_of_parts(blocks.everything(), k)
    else:
        tail = float(blocks.map_reduce(partial(tails_of_parts, k=k)))
    if tail is None:
        return RankBound(None, "the leading singular values could not be told from the others")
    # the sums over rows, here and in the norm, have n terms at most
    return RankBound(math.sqrt(tail / squared_norm) * (1 - (n + d + 8) * EPS))


def smaller_gram(
    blocks: Blocks, gram: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], int] | None:
    """Return XᵀX or XXᵀ and the number of terms in its sums; None if neither is small enough."""
    n, d = blocks.shape
    if gram is not None:
        return gram, n
    if blocks.in_memory and n <= GRAM_COLUMNS:
        return gram_of_columns(blocks.everything().T), d
    return None


def gap_at_least(gram: Floats, k: int, squared_norm: float, inner_length: int) -> float:
    """Return a proved lower bound of σ_k² − σ_{k+1}²; 0 if there is none.

    λ_{k+1} is at most the τ of a Cholesky factor of τI − G + Z with Z of rank k. With any V (d, k),
    λ_k is at least the smallest eigenvalue of VᵀGV over the largest of VᵀV (Courant & Fischer).
    """
    size = len(gram)
    if k >= size or squared_norm <= 0:
        return 0.0
    unit = float(power_of_two(np.abs(gram).max()))
    scaled = gram / unit
    values, vectors, residual = leading_eigenpairs(scaled, k + 1)
    leading = vectors[:, :k]
    next_value = max(float(values[k]), 0.0)
    proved = _next_value_at_most(scaled, leading, values[:k], next_value, residual)
    if proved is None:
        return 0.0
    trace = float(np.trace(scaled))
    rounding = 4 * (size + 4) * EPS * k
    inner = leading.T @ (scaled @ leading)
    lower = float(values[k - 1]) - float(np.linalg.norm(inner - np.diag(values[:k])))
    lower -= rounding * trace
    lower /= 1 + float(np.linalg.norm(leading.T @ leading - np.eye(k))) + rounding
    # the Gram matrix as computed is within γ of that of the data, and so are its eigenvalues
    lost = 2 * (inner_length + 2) * EPS * squared_norm
    return max((lower - proved[0]) * unit * (1 - 4 * EPS) - 2 * lost, 0.0)


def tails_of_parts(block: Block, k: int) -> float:
    """Add up the least squared errors of parts of a block; one without a proof counts as zero.

    Every part takes rows from all over the block: rows that follow each other are often alike, and
    k directions of their own would explain them too well.
    """
    n, d = block.shape
    count = -(-n // PART_ROWS)
    total = 0.0
    for first in range(count):
        gram = gram_of_columns(block[first::count].T)
        total += tail_at_least(float(np.trace(gram)), gram, k, d) or 0.0
    return total
