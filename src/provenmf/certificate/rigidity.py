"""Decide whether given factors can be changed without changing their product.

W (n, k) and H (k, d) have rank k and no negative entry. Every factorization of WH into k parts is
W A and A⁻¹ H. Near this one A = I + T with zero diagonal, since the diagonal is mere scaling, and

    (W T)_rj ≥ −W_rj                          for all r, j
    −(T H)_ic ≥ −H_ic − (T²(I + T)⁻¹H)_ic     for all i, c.

Write chosen entries as C t ≥ −v, with t the k(k − 1) entries of T and v ≥ 0. Put τ = ‖T‖_F; the
second-order term is at most τ²/(1 − τ) times the length of the column of H. For y ≥ 0 let a(y) be
the sum of y times the chosen entries and b(y) that of y times those lengths, so that
yᵀv ≤ a + b τ²/(1 − τ). By Stiemke's lemma one y for all unknowns proves that no other factorization
is near: with r = Cᵀy and s the least singular value of diag(y) C,

    s‖t‖ ≤ Σ y|Ct| ≤ yᵀCt + 2 yᵀv,   hence   (s − ‖r‖) τ ≤ 2a + 2b τ²/(1 − τ).

Where the chosen entries are exact zeros a = 0, and τ = 0 or τ ≥ (s − ‖r‖)/(s − ‖r‖ + 2b). This is
infinitesimal rigidity (Krone & Kubjas 2021) with a distance. A linear program finds y, but what is
claimed does not rest on its having been solved well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from provenmf.certificate.singular_values import least_stretch

# Scaling by powers of two: exact in floating point, and safe for every size of number.


class BalancedFactors(NamedTuple):
    """W D and D⁻¹ H of one product, and the same with rows of W or columns of H scaled."""

    weights: NDArray[np.float64]
    components: NDArray[np.float64]
    weight_rows: NDArray[np.float64]
    component_columns: NDArray[np.float64]


def balanced_factors(
    weights: NDArray[np.floating], components: NDArray[np.floating]
) -> BalancedFactors:
    """Scale a product by powers of two: c W D, D⁻¹ H, R W D and D⁻¹ H C with R, C, D diagonal.

    D gives each component a largest entry in [1/2, 1); c, R and C do the same for all weights, for
    each row of them and for each column of the components. No entry is rounded unless it falls
    below the normal range, 300 orders of magnitude under the largest.
    """
    of_weights, weight_exponents = np.frexp(weights.astype(np.float64))
    of_components, component_exponents = np.frexp(components.astype(np.float64))
    shift = _largest_exponent(component_exponents, of_components, axis=1)
    component_exponents = component_exponents - shift
    weight_exponents = weight_exponents + shift.T
    by_row = _largest_exponent(weight_exponents, of_weights, axis=1)
    by_column = _largest_exponent(component_exponents, of_components, axis=0)
    return BalancedFactors(
        np.ldexp(of_weights, weight_exponents - by_row.max()),
        np.ldexp(of_components, component_exponents),
        np.ldexp(of_weights, weight_exponents - by_row),
        np.ldexp(of_components, component_exponents - by_column),
    )


def _largest_exponent(
    exponents: NDArray[np.intc], mantissas: NDArray[np.float64], *, axis: int
) -> NDArray[np.intc]:
    """Return the largest exponent among the entries that are not zero; 0 where all are."""
    lowest = np.where(mantissas != 0, exponents, np.iinfo(np.intc).min // 4)
    largest = lowest.max(axis=axis, keepdims=True)
    return np.where(largest < -(10**6), 0, largest).astype(np.intc)


Array = NDArray[np.float64]
Indices = NDArray[np.intp]

EPS = float(np.finfo(np.float64).eps)
# Entries that a linear program is given at once; more are added where its answer violates them.
AT_ONCE = 1500
ROUNDS = 40
# Pivots of one linear program; a limit in seconds would make answers depend on the machine.
PIVOTS = 20_000
# Beside a largest entry in [1/2, 1): such entries come and go with the order of operations.
ROUNDED = 2.0**-43
# What a linear program calls zero.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True)
class Isolation:
    """Every other factorization of the product has ‖T‖_F at most `freedom` or at least `reach`."""

    freedom: float
    reach: float


class Entries:
    """The entries of W and H, numbered in one row, as conditions on T.

    Components have a largest entry in [1/2, 1), which fixes the scale of T. Each condition is
    scaled by a power of two so that its largest coefficient is in [1/2, 1). Entries below `ROUNDED`
    are zero from there on.
    """

    def __init__(self, weights: NDArray[np.floating], components: NDArray[np.floating]) -> None:
        balanced = balanced_factors(weights, components)
        self.plain_weights, self.plain, self.weights, self.components = balanced
        for scaled, plain in (
            (self.weights, self.plain_weights),
            (self.components, self.plain),
        ):
            rounding = scaled < ROUNDED
            scaled[rounding] = plain[rounding] = 0.0
        self.k = len(components)
        self.values = np.concatenate([self.weights.ravel(), self.components.ravel()])
        lengths = np.linalg.norm(self.components, axis=0)
        self.lengths = np.concatenate([np.zeros(self.weights.size), np.tile(lengths, self.k)])
        useful = np.concatenate(
            [np.repeat(self.weights.any(axis=1), self.k), np.tile(lengths > 0, self.k)]
        )
        self.zeros: Indices = np.flatnonzero((self.values == 0) & useful)
        self._useful = useful

    def up_to(self, size: float) -> Indices:
        """Return the entries that are at most `size`."""
        return np.flatnonzero((self.values <= size) & self._useful)

    def slack(self, transition: Array) -> Array:
        """Return C t for all entries: those of W T and −T H."""
        return np.concatenate(
            [(self.weights @ transition).ravel(), -(transition @ self.components).ravel()]
        )

    def matrix(self, chosen: Indices) -> sp.csr_array:
        """Return C, a row for each chosen entry and a column for each T_ij with i ≠ j."""
        k, split = self.k, self.weights.size
        of_weights, of_components = chosen[chosen < split], chosen[chosen >= split] - split
        row, j = np.divmod(of_weights, k)
        i, column = np.divmod(of_components, self.components.shape[1])
        moving = np.arange(k)
        # the entry (r, j) of W T uses column j of T, the entry (i, c) of T H its row i
        first = np.concatenate([np.tile(moving, len(j)), np.repeat(i, k)])
        second = np.concatenate([np.repeat(j, k), np.tile(moving, len(i))])
        values = np.concatenate([self.weights[row].ravel(), -self.components[:, column].T.ravel()])
        which = np.repeat(np.arange(len(j) + len(i)), k)
        kept = (first != second) & (values != 0)
        unknown = first * (k - 1) + second - (second > first)
        shape = (len(chosen), k * (k - 1))
        return sp.csr_array((values[kept], (which[kept], unknown[kept])), shape=shape)

    def transition(self, unknowns: Array) -> Array:
        """Return T from its k(k − 1) entries off the diagonal."""
        result = np.zeros((self.k, self.k))
        result[~np.eye(self.k, dtype=bool)] = unknowns
        return result


@dataclass(frozen=True)
class Search:
    """Result of the linear programs: an isolation, a direction, or a reason for neither."""

    isolation: Isolation | None = None
    direction: Array | None = None
    reason: str = ""


def search(entries: Entries, allowed: Indices) -> Search:
    """Find y that isolates the factorization, or T that none of the `allowed` entries forbids.

    max Σ (C t)_e subject to C t ≥ 0, |t| ≤ 1 over a part of the entries; its optimum is 0 where
    they isolate, and y = 1 + its multipliers. Otherwise its t is tried on all entries, and those
    that it violates join.
    """
    chosen = allowed if len(allowed) <= AT_ONCE else _extreme(entries, allowed)
    for _ in range(ROUNDS):
        matrix = entries.matrix(chosen)
        if matrix.shape[0] == 0:
            return Search(direction=entries.transition(np.ones(matrix.shape[1])))
        program = linprog(
            -np.asarray(matrix.sum(axis=0)),
            A_ub=-matrix,
            b_ub=np.zeros(matrix.shape[0]),
            bounds=(-1, 1),
            method="highs",
            options={"maxiter": PIVOTS},
        )
        if program.status != 0:
            return Search(reason=f"a linear program was not solved in {PIVOTS} pivots")
        multipliers = np.maximum(1 - program.ineqlin.marginals, 0.0)
        found = from_stiemke(entries, chosen, matrix, multipliers)
        if found is not None:
            return Search(isolation=found)
        direction = entries.transition(program.x)
        if np.abs(direction).max() <= NEGLIGIBLE:
            return Search(reason="rigid within rounding only")
        more = _violated(entries, allowed, direction)
        if len(np.setdiff1d(more, chosen)) == 0:
            return Search(direction=direction)
        chosen = np.union1d(chosen, more)
    return Search(reason="the linear programs did not settle")


def from_stiemke(
    entries: Entries, chosen: Indices, matrix: sp.csr_array, multipliers: Array
) -> Isolation | None:
    """Return what y = `multipliers` ≥ 0 proves, with rounding; None if nothing."""
    used = multipliers > 0
    if np.count_nonzero(used) < matrix.shape[1]:
        return None
    y, rows, kept = multipliers[used], matrix[used], chosen[used]
    scaled = rows.toarray() * y[:, None]
    # the products above are rounded; each is off by u times itself
    s = least_stretch(np.ascontiguousarray(scaled.T)) - EPS * float(np.linalg.norm(scaled))
    residual = _residual(rows, y)
    a, b = float(y @ entries.values[kept]), float(y @ entries.lengths[kept])
    return _roots(s - residual, 2 * a, 2 * b)


def _residual(matrix: sp.csr_array, y: Array) -> float:
    """Bound ‖Cᵀy‖ from above, with the rounding error of its sums."""
    rounding = 2 * (len(y) + 1) * EPS * np.asarray(abs(matrix).T @ y)
    return float(np.linalg.norm(np.abs(matrix.T @ y) + rounding)) * (1 + 1e-9)


def _roots(s: float, a: float, b: float) -> Isolation | None:
    """Solve s τ = a + b τ²/(1 − τ), that is (s + b) τ² − (s + a) τ + a = 0."""
    if not s > 0:
        return None
    a, b = a * (1 + 1e-9), b * (1 + 1e-9)
    discriminant = (s + a) ** 2 - 4 * a * (s + b)
    if discriminant <= 0:
        return None
    larger = (s + a + math.sqrt(discriminant)) / 2
    reach = larger / (s + b) * (1 - 1e-9)
    freedom = a / larger * (1 + 1e-9)
    return Isolation(freedom, reach) if freedom < reach else None


def _extreme(entries: Entries, allowed: Indices) -> Indices:
    """Return the entries that some random directions violate most."""
    rng = np.random.default_rng(0)
    picked = [
        _violated(entries, allowed, np.outer(*rng.standard_normal((2, entries.k))))
        for _ in range(2 * entries.k)
    ]
    return np.unique(np.concatenate(picked))


def _violated(entries: Entries, allowed: Indices, direction: Array) -> Indices:
    """Return the allowed entry that T violates most in every column of W and row of H."""
    slack = np.full(len(entries.values), np.inf)
    slack[allowed] = entries.slack(direction)[allowed]
    split, k = entries.weights.size, entries.k
    by_column = slack[:split].reshape(-1, k)
    by_row = slack[split:].reshape(k, -1)
    worst = np.concatenate(
        [
            by_column.argmin(axis=0) * k + np.arange(k),
            split + np.arange(k) * by_row.shape[1] + by_row.argmin(axis=1),
        ]
    )
    return np.asarray(worst[slack[worst] < -NEGLIGIBLE * np.abs(direction).max()])
