"""Left inverses of a feature matrix, and which features make it singular.

A is the papers' (d, k) feature matrix, our components transposed. A left inverse A† (k, d) has
A†A = I; for d > k there are many. Moore-Penrose has the least Frobenius norm. The one with the
least ‖A†‖_∞ = max_i ‖row i‖₁ lets the least entrywise noise through: |A†ν| ≤ ‖A†‖_∞ max|ν|.
Its rows separate, so every row is made as small as it can be, not only the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.linalg.l1_simplex import PRICE_TOLERANCE, least_l1_solutions
from provenmf.linalg.norms import largest_row_sum

PseudoInverse = Literal["min-inf", "moore-penrose"]
# Features of unit length whose smallest singular value is below this are called dependent.
DEPENDENCE_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class LeftInverse:
    """Rows b_i of a left inverse: rows @ components.T = I.

    basis : columns that each row uses, for the next call (least infinity norm only).
    lower_bound : no left inverse of these components has a smaller ‖·‖_∞.
    rounds : rounds of the simplex method.
    """

    rows: NDArray[np.float64]
    basis: NDArray[np.intp] | None = None
    lower_bound: float = 0.0
    rounds: int = 0

    @property
    def infinity_norm(self) -> float:
        """‖A†‖_∞, the largest sum of absolute values in a row."""
        return largest_row_sum(self.rows)


def left_inverse(
    components: NDArray[np.floating],
    kind: PseudoInverse = "min-inf",
    *,
    basis: NDArray[np.intp] | None = None,
) -> LeftInverse:
    """The left inverse of the chosen kind; `basis` from an earlier call speeds up "min-inf"."""
    if kind == "moore-penrose":
        return moore_penrose_inverse(components)
    return least_infinity_inverse(components, basis=basis)


def moore_penrose_inverse(components: NDArray[np.floating]) -> LeftInverse:
    """The left inverse with the least Frobenius norm."""
    scaled, scales = _independent_rows(components)
    return LeftInverse(np.linalg.pinv(scaled).T / scales[:, None])


def least_infinity_inverse(
    components: NDArray[np.floating], *, basis: NDArray[np.intp] | None = None
) -> LeftInverse:
    """The left inverse with the least ‖·‖_∞: row i minimises ‖b‖₁ over components @ b = e_i.

    Exact to about 1e-8 of each row's sum; `lower_bound` comes from feasible points of the dual
    programs and so proves how close. A given `basis` changes the work, not the answer.
    """
    scaled, scales = _independent_rows(components)
    found = least_l1_solutions(scaled, basis=basis)
    rows = np.zeros_like(scaled)
    np.put_along_axis(rows, found.basis, found.entries, axis=1)
    dual_values = found.dual_values / np.maximum(found.prices, 1.0)
    for feature in np.flatnonzero(found.prices > 1.0 + 1e3 * PRICE_TOLERANCE).tolist():
        rows[feature], dual_values[feature] = _row_by_general_solver(scaled, feature)
    rows /= scales[:, None]
    lower_bound = float((dual_values / scales).max())
    return LeftInverse(rows, found.basis, lower_bound, found.rounds)


def dependent_features(
    components: NDArray[np.floating], *, tolerance: float = DEPENDENCE_TOLERANCE
) -> tuple[int, ...]:
    """Rows of `components` that take part in a linear dependence; empty if (A1) holds.

    Rows are compared at unit length. A row takes part if it has a nonzero coefficient in some
    vanishing combination, that is, in a left singular vector of a vanishing singular value.
    """
    wide = np.asarray(components, dtype=np.float64)
    scales = np.abs(wide).max(axis=1, initial=0.0)
    zero = scales == 0
    unit = wide[~zero] / scales[~zero, None]
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    # A triangular factor has the same left singular vectors and is only k × k.
    wide_matrix = unit.shape[0] <= unit.shape[1]
    small = np.asarray(np.linalg.qr(unit.T, mode="r")).T if wide_matrix else unit
    left, values, _ = np.linalg.svd(small, full_matrices=True)
    singular = np.ones(left.shape[0], dtype=bool)
    singular[: values.size] = values < tolerance
    taking_part = np.linalg.norm(left[:, singular], axis=1) > 1e-6
    named = np.flatnonzero(zero).tolist() + np.flatnonzero(~zero)[taking_part].tolist()
    return tuple(sorted(named))


def _independent_rows(
    components: NDArray[np.floating],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows scaled to largest entry one, and the scales; refuses dependent rows by their numbers."""
    dependent = dependent_features(components)
    if dependent:
        names = ", ".join(str(feature) for feature in dependent[:20])
        more = f" and {len(dependent) - 20} more" if len(dependent) > 20 else ""
        raise InvalidInput(
            f"components {names}{more} are linearly dependent, so there is no left inverse "
            "(assumption A1): use fewer components or another start"
        )
    wide = np.asarray(components, dtype=np.float64)
    scales = np.abs(wide).max(axis=1)
    return wide / scales[:, None], scales


def _row_by_general_solver(
    matrix: NDArray[np.float64], feature: int
) -> tuple[NDArray[np.float64], float]:
    """One row and its dual value by scipy's linear programming, should the own method give up."""
    from scipy.optimize import linprog

    k, d = matrix.shape
    outcome = linprog(
        np.ones(2 * d), A_eq=np.hstack([matrix, -matrix]), b_eq=np.eye(k)[feature], method="highs"
    )
    if outcome.status != 0:
        raise InvalidInput(
            f"the linear program of component {feature} has no solution ({outcome.message}): "
            "the components are nearly linearly dependent; use fewer of them or another start"
        )
    multipliers = outcome.eqlin.marginals
    price = max(1.0, float(np.abs(multipliers @ matrix).max()))
    return outcome.x[:d] - outcome.x[d:], float(multipliers[feature]) / price
