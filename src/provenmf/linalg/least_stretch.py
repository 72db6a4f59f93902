"""Lower bounds, proved, of the smallest singular value of a matrix with independent rows.

Let A = D B with D a diagonal of powers of two. If B M = I − E with ‖E‖ = e < 1, then
N = M (I − E)⁻¹ is a right inverse of B, and N D⁻¹ one of A. For all v and any S with ‖vS‖ ≥ ‖v‖

    ‖v‖ ≤ ‖vS‖ = ‖vA N D⁻¹S‖ ≤ ‖vA‖ ‖N D⁻¹S‖.

N D⁻¹ = M D⁻¹ + M E (I − E)⁻¹ D⁻¹ = M D⁻¹ + M D⁻¹ F (I − F)⁻¹ with F = D E D⁻¹ gives two bounds of
the norm; the first is better where the rows of A differ in length, the second where A is nearly
singular. M may come from anywhere; sums of m terms are off by γ_m |B||M| (Higham 2002, 3.5).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from provenmf.linalg.leading_sum import EPS, leading_sum_at_most
from provenmf.linalg.norms import power_of_two

Floats = NDArray[np.float64]


def least_stretch(rows: Floats, *, of_differences: bool = False) -> float:
    """A number that ‖vA‖/‖v‖ does not fall below, A being `rows`; 0 if none can be proved.

    With `of_differences` only for v that sum to zero. Such a v is (q, −Σq), vA = qB' with the rows
    of B' those of A minus its last, and ‖v‖ = ‖q [I, 1]‖: S = [I, 1].
    """
    if not np.isfinite(rows).all():
        return 0.0
    if of_differences:
        apart = rows[:-1] - rows[-1]  # each entry off by u times itself
        lost = EPS * float(np.linalg.norm(apart))
        spread = np.column_stack([np.eye(len(apart)), np.ones(len(apart))])
    else:
        apart, lost, spread = rows, 0.0, np.eye(len(rows))
    sizes = np.abs(apart).max(axis=1, initial=0.0)
    if len(apart) == 0 or len(apart) > apart.shape[1] or not sizes.min() > 0:
        return 0.0
    scale = power_of_two(sizes)
    norm = _right_inverse_at_most(apart / scale[:, None], scale, spread)
    return 0.0 if norm is None else max(1 / norm - lost, 0.0) * (1 - 8 * EPS)


def has_independent_rows(rows: Floats, rank: int) -> bool:
    """Whether at least `rank` of the rows are independent for certain."""
    if rank == 0:
        return True
    if min(rows.shape) < rank:
        return False
    if rank < len(rows):
        rows = rows[np.sort(qr(rows.T, mode="r", pivoting=True)[1][:rank])]
    return least_stretch(rows) > 0


def _right_inverse_at_most(rows: Floats, scale: Floats, spread: Floats) -> float | None:
    """‖N D⁻¹S‖ at the most for B = `rows`, D = `scale`, S = `spread`; None if none is proved."""
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
    rounding = (d + k + 2) * EPS * size * float(np.linalg.norm(shrunk))
    length = math.sqrt(leading + 2 * (d + k) * EPS * float(np.linalg.norm(wide)) ** 2) + rounding
    more = size * float(np.linalg.norm(shrunk)) * missing / (1 - missing)
    turned = missing * float(scale.max()) * unit
    if turned < 0.5:
        more = min(more, length * float(np.linalg.norm(spread)) * turned / (1 - turned))
    return float((length + more) * (1 + (k * d + 16) * EPS) * unit)
