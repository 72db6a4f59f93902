"""Left inverses with the least sums of absolute values, by a simplex method of their own.

For a matrix C (k, d) with independent rows and every i, the linear program

    minimise ‖b‖₁   subject to   C b = e_i                  (value: the dual max y_i, ‖Cᵀy‖_∞ ≤ 1)

has an optimal b with at most k nonzero entries, a *basis* of columns. Since b is free in sign,
every nonsingular basis is feasible: there is no first phase, and the basis of another right-hand
side or of a slightly different C is a valid start. The k programs share C, so they are solved
together: the costly step, pricing all columns for all programs, is one matrix product a round.

One round for one program, with b = C_S⁻¹ e_i on the basis S and s the signs of b:
the prices are Cᵀy with y = C_S⁻ᵀ s. If none exceeds 1 in absolute value, y is feasible for the
dual and b is optimal. Otherwise the column with the largest price enters; ‖b‖₁ along that edge is
convex and piecewise linear, and we go to its minimum, past any entries that change sign before
(Barrodale & Roberts 1973 do so for least absolute deviations). The entry that is zero there leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

PRICE_TOLERANCE = 1e-9
ROUNDING = 256 * float(np.finfo(np.float64).eps)  # of a price, for each unit of its multipliers
PIVOT_TOLERANCE = 1e-9
# The right-hand sides are shifted this little, so that no entry of b is exactly zero and the
# method cannot turn in circles; the final b is computed from the exact right-hand sides.
SHIFT = 1e-8
ROUNDS_BETWEEN_FACTORIZATIONS = 64
# Programs solved together are limited so that their k × k inverses stay within 256 MB.
INVERSE_BYTES = 256 * 2**20


class BasicSolutions(NamedTuple):
    """Optimal bases of the k programs.

    basis : (k, k) columns of C in the basis of each program.
    entries : (k, k) the entries of b on these columns.
    prices : (k,) max |Cᵀy| of each program; at most 1 + tolerance where the basis is optimal.
    dual_values : (k,) y_i, a lower bound on ‖b‖₁ once divided by the price where that exceeds 1.
    rounds : rounds that the slowest program took.
    """

    basis: NDArray[np.intp]
    entries: NDArray[np.float64]
    prices: NDArray[np.float64]
    dual_values: NDArray[np.float64]
    rounds: int


def least_l1_solutions(
    matrix: NDArray[np.float64],
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
    at_once = max(1, INVERSE_BYTES // (8 * k * k))
    chunks = [np.arange(start, min(start + at_once, k)) for start in range(0, k, at_once)]
    parts = [_solve_some(matrix, features, basis, max_rounds) for features in chunks]
    return BasicSolutions(
        basis=np.concatenate([part.basis for part in parts]),
        entries=np.concatenate([part.entries for part in parts]),
        prices=np.concatenate([part.prices for part in parts]),
        dual_values=np.concatenate([part.dual_values for part in parts]),
        rounds=max(part.rounds for part in parts),
    )


def independent_columns(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    """k columns of a (k, d) matrix that are well independent, by pivoted QR."""
    order = qr(matrix, mode="r", pivoting=True)[1]
    return np.sort(order[: matrix.shape[0]]).astype(np.intp)


def _solve_some(
    matrix: NDArray[np.float64],
    features: NDArray[np.intp],
    basis: NDArray[np.intp] | None,
    max_rounds: int,
) -> BasicSolutions:
    """Solve the programs of `features` together."""
    shifted = np.eye(matrix.shape[0])[features]
    shifted += SHIFT * np.random.default_rng(0).uniform(0.5, 1.0, shifted.shape)
    chosen, inverses = _starting_bases(matrix, features, basis)
    entries = np.matmul(inverses, shifted[:, :, None])[:, :, 0]
    signs = np.where(entries >= 0, 1.0, -1.0)
    active = np.arange(features.size)
    rounds = 0
    while active.size and rounds < max_rounds:
        if rounds % ROUNDS_BETWEEN_FACTORIZATIONS == ROUNDS_BETWEEN_FACTORIZATIONS - 1:
            inverses[active] = _inverses(_basis_matrices(matrix, chosen[active]))
            entries[active] = np.matmul(inverses[active], shifted[active][:, :, None])[:, :, 0]
        multipliers = _multipliers(inverses[active], signs[active])
        prices = multipliers @ matrix
        entering = np.abs(prices).argmax(axis=1)
        price = np.take_along_axis(prices, entering[:, None], axis=1)[:, 0]
        # A price is known to the rounding of the products that it sums, not better.
        slack = PRICE_TOLERANCE + ROUNDING * np.abs(multipliers).sum(axis=1)
        unfinished = np.abs(price) > 1.0 + slack
        active, entering, price = active[unfinished], entering[unfinished], price[unfinished]
        if not active.size:
            break
        state = inverses[active], entries[active], signs[active]
        leaving = _pivot_in_place(*state, matrix[:, entering].T, price)
        inverses[active], entries[active], signs[active] = state
        chosen[active, leaving] = entering
        rounds += 1
    return _exact_solutions(matrix, features, chosen, signs, rounds)


def _pivot_in_place(
    inverses: NDArray[np.float64],
    entries: NDArray[np.float64],
    signs: NDArray[np.float64],
    columns: NDArray[np.float64],
    price: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Let one column enter each basis; returns the positions that left."""
    programs, direction = np.arange(price.size), np.sign(price)
    change = np.matmul(inverses, columns[:, :, None])[:, :, 0]  # C_S⁻¹ c: b falls by t·change
    falling = signs * change * direction[:, None]  # the rate at which |b| falls
    reaches_zero = np.where(
        falling > PIVOT_TOLERANCE,
        np.maximum(signs * entries, 0.0) / np.maximum(falling, PIVOT_TOLERANCE),
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


def _exact_solutions(
    matrix: NDArray[np.float64],
    features: NDArray[np.intp],
    chosen: NDArray[np.intp],
    signs: NDArray[np.float64],
    rounds: int,
) -> BasicSolutions:
    """Entries and multipliers of the final bases, from fresh factorizations."""
    inverses = _inverses(_basis_matrices(matrix, chosen))
    programs = np.arange(features.size)
    entries = inverses[programs, :, features]
    multipliers = _multipliers(inverses, signs)
    prices = np.abs(multipliers @ matrix).max(axis=1)
    prices[np.isnan(prices)] = np.inf
    return BasicSolutions(chosen, entries, prices, multipliers[programs, features], rounds)


def _starting_bases(
    matrix: NDArray[np.float64], features: NDArray[np.intp], basis: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Bases to start from and their inverses; a given basis that is near singular is replaced."""
    if basis is not None:
        chosen = basis[features].copy()
        inverses = _inverses(_basis_matrices(matrix, chosen))
        if np.abs(inverses).max() < 1e10 * np.abs(matrix).max():
            return chosen, inverses
    common = independent_columns(matrix)
    inverse = _inverses(matrix[None, :, common])[0]
    return np.tile(common, (features.size, 1)), np.tile(inverse, (features.size, 1, 1))


def _basis_matrices(matrix: NDArray[np.float64], chosen: NDArray[np.intp]) -> NDArray[np.float64]:
    """C_S of each program, (programs, k, k)."""
    return matrix.T[chosen].transpose(0, 2, 1)


def _inverses(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of each matrix; NaN for those that are singular."""
    try:
        return np.asarray(np.linalg.inv(matrices), dtype=np.float64)
    except np.linalg.LinAlgError:
        inverses = np.full_like(matrices, np.nan)
        for place in np.flatnonzero(np.linalg.matrix_rank(matrices) == matrices.shape[-1]):
            inverses[place] = np.linalg.inv(matrices[place])
        return inverses


def _multipliers(inverses: NDArray[np.float64], signs: NDArray[np.float64]) -> NDArray[np.float64]:
    """y = C_S⁻ᵀ s of each program."""
    return np.asarray(np.matmul(signs[:, None, :], inverses)[:, 0])
