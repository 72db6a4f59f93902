"""Left inverses of a feature matrix, and which features make it singular.

A is the papers' (d, k) feature matrix, our components transposed. A left inverse A† (k, d) has
A†A = I; for d > k there are many. Moore-Penrose has the least Frobenius norm. The one with the
least ‖A†‖_∞ = max_i ‖row i‖₁ lets the least entrywise noise through: |A†ν| ≤ ‖A†‖_∞ max|ν|.
Its rows separate, so every row is made as small as it can be, not only the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from provenmf.errors import InvalidInput
from provenmf.linalg.norms import largest_column_sum, largest_row_sum

Floats = NDArray[np.float64]

# Left inverses with the least sums of absolute values, by a specialized simplex method.
#
# For a matrix C (k, d) with independent rows and every i, the linear program
#
#     minimise ‖b‖₁   subject to   C b = e_i                  (value: the dual max y_i, ‖Cᵀy‖_∞ ≤ 1)
#
# has an optimal b with at most k nonzero entries, a *basis* of columns. Since b is free in sign,
# every nonsingular basis is feasible: there is no first phase, and the basis of another right-hand
# side or of a slightly different C is a valid start. The k programs share C, so they are solved
# together: the costly step, pricing all columns for all programs, is one matrix product a round.
#
# One round for one program, with b = C_S⁻¹ e_i on the basis S and s the signs of b: the prices are
# Cᵀy with y = C_S⁻ᵀ s. If none exceeds 1 in absolute value, y is feasible for the dual and b is
# optimal. Otherwise the column with the largest price enters; ‖b‖₁ along that edge is convex and
# piecewise linear, and we go to its minimum, past any entries that change sign before (Barrodale &
# Roberts 1973 do so for least absolute deviations). The entry that is zero there leaves.


@dataclass(frozen=True)
class Settings:
    """Tolerances of the simplex method; entries of the matrix are at most one."""

    price_tolerance: float = 1e-9  # a price above 1 by this is rounding
    rounding: float = 256 * float(np.finfo(np.float64).eps)  # of a price, a unit of multipliers
    pivot_tolerance: float = 1e-9  # smaller pivots would lose the basis
    # The right-hand sides are shifted this little, so that no entry of b is exactly zero and the
    # method cannot turn in circles; the final b is computed from the exact right-hand sides.
    shift: float = 1e-8
    rounds_between_factorizations: int = 64  # rank-one updates lose about a digit in 1000
    # Programs solved together are limited so that their k × k inverses stay within 256 MB.
    inverse_bytes: int = 256 * 2**20
    # Features of unit length whose smallest singular value is below this are called dependent.
    dependence: float = 1e-10


SETTINGS = Settings()


class BasicSolutions(NamedTuple):
    """Optimal bases of the k programs.

    basis : (k, k) columns of C in the basis of each program.
    entries : (k, k) the entries of b on these columns.
    prices : (k,) max |Cᵀy| of each program; at most 1 + tolerance where the basis is optimal.
    dual_values : (k,) y_i, a lower bound on ‖b‖₁ once divided by the price where that exceeds 1.
    rounds : rounds that the slowest program took.
    """

    basis: NDArray[np.intp]
    entries: Floats
    prices: Floats
    dual_values: Floats
    rounds: int


def least_l1_solutions(
    matrix: Floats,
    *,
    basis: NDArray[np.intp] | None = None,
    max_rounds: int | None = None,
) -> BasicSolutions:
    """Solve the k programs of a (k, d) matrix with independent rows, from given bases if any.

    Entries must be at most one. Prices are infinite where a basis was lost to rounding.
    """
    k = matrix.shape[0]
    if max_rounds is None:
        max_rounds = 100 + 20 * k  # three times what dense random matrices take
    at_once = max(1, SETTINGS.inverse_bytes // (8 * k * k))
    chunks = [np.arange(start, min(start + at_once, k)) for start in range(0, k, at_once)]
    parts = [_solve_some(matrix, features, basis, max_rounds) for features in chunks]
    *arrays, rounds = zip(*parts)
    return BasicSolutions._make([*map(np.concatenate, arrays), max(rounds)])


def _solve_some(
    matrix: Floats,
    features: NDArray[np.intp],
    basis: NDArray[np.intp] | None,
    max_rounds: int,
) -> BasicSolutions:
    """Solve the programs of `features` together."""
    shifted = np.eye(matrix.shape[0])[features]
    shifted += SETTINGS.shift * np.random.default_rng(0).uniform(0.5, 1.0, shifted.shape)
    chosen, inverses = _starting_bases(matrix, features, basis)
    entries = np.matmul(inverses, shifted[:, :, None])[:, :, 0]
    signs = np.where(entries >= 0, 1.0, -1.0)
    active = np.arange(features.size)
    rounds = 0
    while active.size and rounds < max_rounds:
        if (rounds + 1) % SETTINGS.rounds_between_factorizations == 0:
            inverses[active] = _inverses(matrix, chosen[active])
            entries[active] = np.matmul(inverses[active], shifted[active][:, :, None])[:, :, 0]
        multipliers = _multipliers(inverses[active], signs[active])
        prices = multipliers @ matrix
        entering = np.abs(prices).argmax(axis=1)
        price = np.take_along_axis(prices, entering[:, None], axis=1)[:, 0]
        # A price is known to the rounding of the products that it sums, not better.
        slack = SETTINGS.price_tolerance + SETTINGS.rounding * np.abs(multipliers).sum(axis=1)
        unfinished = np.abs(price) > 1.0 + slack
        active, entering, price = active[unfinished], entering[unfinished], price[unfinished]
        if not active.size:
            break
        state = inverses[active], entries[active], signs[active]
        leaving = _pivot_in_place(*state, matrix[:, entering].T, price)
        inverses[active], entries[active], signs[active] = state
        chosen[active, leaving] = entering
        rounds += 1
    # Entries and multipliers of the final bases, from fresh factorizations.
    inverses, programs = _inverses(matrix, chosen), np.arange(features.size)
    multipliers = _multipliers(inverses, signs)
    prices = np.abs(multipliers @ matrix).max(axis=1)
    prices[np.isnan(prices)] = np.inf
    entries, dual_values = inverses[programs, :, features], multipliers[programs, features]
    return BasicSolutions(chosen, entries, prices, dual_values, rounds)


def _pivot_in_place(
    inverses: Floats,
    entries: Floats,
    signs: Floats,
    columns: Floats,
    price: Floats,
) -> NDArray[np.intp]:
    """Let one column enter each basis; return the positions that left."""
    programs, direction = np.arange(price.size), np.sign(price)
    change = np.matmul(inverses, columns[:, :, None])[:, :, 0]  # C_S⁻¹ c: b falls by t·change
    falling = signs * change * direction[:, None]  # the rate at which |b| falls
    reaches_zero = np.where(
        falling > SETTINGS.pivot_tolerance,
        np.maximum(signs * entries, 0.0) / np.maximum(falling, SETTINGS.pivot_tolerance),
        np.inf,
    )
    order = np.argsort(reaches_zero, axis=1, kind="stable")
    # The slope of ‖b‖₁ along the edge starts at 1 − |price| and grows by 2·falling at each zero.
    growth = 2.0 * np.maximum(np.take_along_axis(falling, order, axis=1), 0.0)
    slope = 1.0 - np.abs(price)[:, None] + np.cumsum(growth, axis=1)
    lowest = (slope >= 0).argmax(axis=1)
    leaving = order[programs, lowest]
    step = reaches_zero[programs, leaving]
    entries -= (step * direction)[:, None] * change
    passed = np.zeros_like(signs, dtype=bool)
    np.put_along_axis(passed, order, np.arange(order.shape[1]) < lowest[:, None], axis=1)
    np.negative(signs, out=signs, where=passed)
    entries[programs, leaving] = step * direction
    signs[programs, leaving] = direction
    # Rank-one update of the inverse: the leaving row is divided by the pivot.
    row = inverses[programs, leaving] / change[programs, leaving][:, None]
    change[programs, leaving] -= 1.0
    inverses -= change[:, :, None] * row[:, None, :]
    return np.asarray(leaving)


def _starting_bases(
    matrix: Floats, features: NDArray[np.intp], basis: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], Floats]:
    """Return bases to start from and their inverses; a nearly singular one is replaced.

    Columns that pivoted QR takes first are well independent.
    """
    if basis is not None:
        chosen = basis[features].copy()
        inverses = _inverses(matrix, chosen)
        if np.abs(inverses).max() < 1e10 * np.abs(matrix).max():
            return chosen, inverses
    common = np.sort(qr(matrix, mode="r", pivoting=True)[1][: len(matrix)]).astype(np.intp)
    inverse = _inverses(matrix, common[None])[0]
    return np.tile(common, (features.size, 1)), np.tile(inverse, (features.size, 1, 1))


def _inverses(matrix: Floats, chosen: NDArray[np.intp]) -> Floats:
    """Return C_S⁻¹ of each program, (programs, k, k); NaN for those that are singular."""
    bases = matrix.T[chosen].transpose(0, 2, 1)
    try:
        return np.asarray(np.linalg.inv(bases), dtype=np.float64)
    except np.linalg.LinAlgError:
        inverses = np.full_like(bases, np.nan)
        for place in np.flatnonzero(np.linalg.matrix_rank(bases) == bases.shape[-1]):
            inverses[place] = np.linalg.inv(bases[place])
        return inverses


def _multipliers(inverses: Floats, signs: Floats) -> Floats:
    """Return y = C_S⁻ᵀ s of each program."""
    return np.asarray(np.matmul(signs[:, None, :], inverses)[:, 0])


PseudoInverse = Literal["min-inf", "moore-penrose"]


@dataclass(frozen=True, eq=False)
class LeftInverse:
    """Rows b_i of a left inverse: rows @ components.T = I.

    basis : columns that each row uses, for the next call (least infinity norm only).
    lower_bound : no left inverse of these components has a smaller ‖·‖_∞.
    rounds : rounds of the simplex method.
    """

    rows: Floats
    basis: NDArray[np.intp] | None = None
    lower_bound: float = 0.0
    rounds: int = 0

    @property
    def infinity_norm(self) -> float:
        """Return ‖A†‖_∞, the largest sum of absolute values in a row."""
        return largest_row_sum(self.rows)


def left_inverse(
    components: NDArray[np.floating],
    kind: PseudoInverse = "min-inf",
    *,
    basis: NDArray[np.intp] | None = None,
) -> LeftInverse:
    """Return the left inverse of one kind; `basis` of an earlier call speeds up "min-inf"."""
    if kind == "moore-penrose":
        return moore_penrose_inverse(components)
    return least_infinity_inverse(components, basis=basis)


def moore_penrose_inverse(components: NDArray[np.floating]) -> LeftInverse:
    """Return the left inverse with the least Frobenius norm."""
    scaled, scales = _independent_rows(components)
    return LeftInverse(np.linalg.pinv(scaled).T / scales[:, None])


def least_infinity_inverse(
    components: NDArray[np.floating], *, basis: NDArray[np.intp] | None = None
) -> LeftInverse:
    """Return the left inverse of least ‖·‖_∞: row i minimises ‖b‖₁ over components @ b = e_i.

    Exact to about 1e-8 of each row's sum; `lower_bound` comes from feasible points of the dual
    programs and so proves how close. A given `basis` changes the work, not the answer.
    """
    scaled, scales = _independent_rows(components)
    found = least_l1_solutions(scaled, basis=basis)
    rows = np.zeros_like(scaled)
    np.put_along_axis(rows, found.basis, found.entries, axis=1)
    dual_values = found.dual_values / np.maximum(found.prices, 1.0)
    for feature in np.flatnonzero(found.prices > 1.0 + 1e3 * SETTINGS.price_tolerance).tolist():
        rows[feature], dual_values[feature] = _row_by_general_solver(scaled, feature)
    rows /= scales[:, None]
    lower_bound = float((dual_values / scales).max())
    return LeftInverse(rows, found.basis, lower_bound, found.rounds)


def dependent_features(
    components: NDArray[np.floating], *, tolerance: float = SETTINGS.dependence
) -> tuple[int, ...]:
    """Return the rows of `components` in a linear dependence; empty if (A1) holds.

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
) -> tuple[Floats, Floats]:
    """Scale rows to a largest entry of one; refuse dependent rows."""
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


def _row_by_general_solver(matrix: Floats, feature: int) -> tuple[Floats, float]:
    """Return one row and its dual value by scipy's solver, where the simplex method gave up."""
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


# How one set of components mixes another: A = A*(Σ + E) + N.
#
# A* and A are feature matrices (d, k), our components transposed. Σ is diagonal, E off-diagonal, N
# lies outside the span of A*. AND and Purification measure progress by Σ, E and N.


class Mixing(NamedTuple):
    """components = (diag(diagonal) + off_diagonal) @ reference + outside.

    Row i speaks of component i, so `off_diagonal` is Eᵀ and `outside` is Nᵀ of the papers.
    """

    diagonal: Floats
    off_diagonal: Floats
    outside: Floats

    def relative(self) -> Mixing:
        """Return the mixing with every component divided by its own diagonal entry."""
        factors = 1.0 / self.diagonal[:, None]
        return Mixing(
            np.ones_like(self.diagonal), self.off_diagonal * factors, self.outside * factors
        )


def mixing_of(components: NDArray[np.floating], reference: NDArray[np.floating]) -> Mixing:
    """Split components by the span of independent reference components, orthogonally."""
    coordinates = np.linalg.lstsq(
        np.asarray(reference, dtype=np.float64).T, np.asarray(components).T, rcond=None
    )[0].T
    diagonal = np.diag(coordinates).copy()
    off_diagonal = coordinates - np.diag(diagonal)
    outside = np.asarray(components - coordinates @ reference, dtype=np.float64)
    return Mixing(diagonal, off_diagonal, outside)


def symmetric_norm(matrix: NDArray[np.floating]) -> float:
    """Return ‖M‖_s, the largest row or column sum of absolute values."""
    return max(largest_row_sum(matrix), largest_column_sum(matrix))
