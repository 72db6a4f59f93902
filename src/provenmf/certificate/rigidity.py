"""Decide whether given factors can be changed without changing their product.

W (n, k) and H (k, d) have rank k and no negative entry. Every factorization of WH into k parts is
W A and A⁻¹ H. Near this one A = I + T with zero diagonal, since the diagonal is mere scaling, and

    (W T)_rj ≥ −W_rj                          for all r, j
    −(T H)_ic ≥ −H_ic − (T²(I + T)⁻¹H)_ic     for all i, c.

Entries that are zero say C t ≥ −v, with t the k(k − 1) entries of T and v ≥ 0 the second-order
terms. With τ = ‖T‖_F these are at most τ²/(1 − τ) times the length of the column of H. For y ≥ 0
let b(y) be the sum of y times those lengths, so that yᵀv ≤ b τ²/(1 − τ). By Stiemke's lemma one y
for all unknowns proves that no other factorization is near: with r = Cᵀy and s the least singular
value of diag(y) C,

    s‖t‖ ≤ Σ y|Ct| ≤ yᵀCt + 2 yᵀv,   hence   (s − ‖r‖) τ ≤ 2b τ²/(1 − τ),

and τ = 0 or τ ≥ (s − ‖r‖)/(s − ‖r‖ + 2b). This is infinitesimal rigidity (Krone & Kubjas 2021) with
a distance. A linear program finds y, but what is claimed does not rest on its having been solved
well.

No other factorization at all, near or far, is proved with integers.
Points x ≥ 0 of dimension k are sufficiently scattered if their cone contains
{x : eᵀx ≥ √(k−1)‖x‖}, that is, if every facet of their cone has a normal y with eᵀy ≥ ‖y‖, with
equality for the coordinate axes only. If the rows of W and the columns of H both are, all
factorizations of WH into k nonnegative parts are equal up to order and scale (Huang, Sidiropoulos
& Swami 2014). Proof: columns a of A and rows b of A⁻¹ satisfy ‖a‖ ≤ eᵀa, ‖b‖ ≤ eᵀb. Scale A so that
eᵀA = eᵀ; then eᵀA⁻¹ = eᵀ too, |det A| ≤ Π‖a‖ ≤ 1, |det A⁻¹| ≤ Π eᵀb ≤ (Σ eᵀb/k)^k = 1. Their
product is 1, so ‖a‖ = eᵀa for all columns, which are axes therefore.

W D⁻¹ and D H may be taken for any positive diagonal D. Some points instead of all give a smaller
cone, so that a proof with them is a proof. Qhull finds the facets, cut into simplices. Integers
confirm that all lie in the boundary of the cone and that they close: each ridge belongs to an even
number of them. So they cover every point of the boundary equally often, modulo two; where one of
them is alone in its plane, that is once. No facet is missing then. Simplices without volume, which
Qhull makes of vertices in one plane, may be among them; they cover nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

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
        values = np.concatenate([self.weights.ravel(), self.components.ravel()])
        lengths = np.linalg.norm(self.components, axis=0)
        self.lengths = np.concatenate([np.zeros(self.weights.size), np.tile(lengths, self.k)])
        useful = np.concatenate(
            [np.repeat(self.weights.any(axis=1), self.k), np.tile(lengths > 0, self.k)]
        )
        self.zeros: Indices = np.flatnonzero((values == 0) & useful)

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
    """Result of the linear programs: a distance, a direction, or a reason for neither.

    Every other factorization of the product has ‖T‖_F of at least `reach`.
    """

    reach: float | None = None
    direction: Array | None = None
    reason: str = ""


def search(entries: Entries) -> Search:
    """Find y that isolates the factorization, or T that none of the zeros forbids.

    max Σ (C t)_e subject to C t ≥ 0, |t| ≤ 1 over a part of the entries; its optimum is 0 where
    they isolate, and y = 1 + its multipliers. Otherwise its t is tried on all entries, and those
    that it violates join.
    """
    zeros = entries.zeros
    chosen = zeros if len(zeros) <= AT_ONCE else _extreme(entries)
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
            return Search(reach=found)
        direction = entries.transition(program.x)
        if np.abs(direction).max() <= NEGLIGIBLE:
            return Search(reason="rigid within rounding only")
        more = _violated(entries, direction)
        if len(np.setdiff1d(more, chosen)) == 0:
            return Search(direction=direction)
        chosen = np.union1d(chosen, more)
    return Search(reason="the linear programs did not settle")


def from_stiemke(
    entries: Entries, chosen: Indices, matrix: sp.csr_array, multipliers: Array
) -> float | None:
    """Return the distance that y = `multipliers` ≥ 0 proves, with rounding; None if nothing."""
    used = multipliers > 0
    if np.count_nonzero(used) < matrix.shape[1]:
        return None
    y, rows, kept = multipliers[used], matrix[used], chosen[used]
    scaled = rows.toarray() * y[:, None]
    # the products above are rounded; each is off by u times itself
    s = least_stretch(np.ascontiguousarray(scaled.T)) - EPS * float(np.linalg.norm(scaled))
    s -= _residual(rows, y)
    b = 2 * float(y @ entries.lengths[kept]) * (1 + 1e-9)
    return s / (s + b) * (1 - 1e-9) if s > 0 else None


def _residual(matrix: sp.csr_array, y: Array) -> float:
    """Bound ‖Cᵀy‖ from above, with the rounding error of its sums."""
    rounding = 2 * (len(y) + 1) * EPS * np.asarray(abs(matrix).T @ y)
    return float(np.linalg.norm(np.abs(matrix.T @ y) + rounding)) * (1 + 1e-9)


def _extreme(entries: Entries) -> Indices:
    """Return the zeros that some random directions violate most."""
    rng = np.random.default_rng(0)
    picked = [
        _violated(entries, np.outer(*rng.standard_normal((2, entries.k))))
        for _ in range(2 * entries.k)
    ]
    return np.unique(np.concatenate(picked))


def _violated(entries: Entries, direction: Array) -> Indices:
    """Return the zero that T violates most in every column of W and row of H."""
    slack = np.full(entries.lengths.size, np.inf)
    slack[entries.zeros] = entries.slack(direction)[entries.zeros]
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


# No other factorization anywhere: sufficiently scattered factors.

Point = tuple[int, ...]

MOST_COMPONENTS = 6
MOST_FACETS = 3000
MOST_VERTICES = 400
DIRECTIONS = 1000  # in which the farthest points are kept where there are more


def are_scattered(entries: Entries) -> bool:
    """Return whether some W D⁻¹ and D H are both proved to be sufficiently scattered."""
    rows, columns, plain = entries.weights, entries.components.T, entries.plain
    if entries.k > MOST_COMPONENTS:
        return False
    of_weights, of_components = entries.plain_weights.sum(axis=0), plain.sum(axis=1)
    scales = (np.sqrt(of_weights / of_components), 1 / of_components, of_weights)
    for scale in (*scales, 1 / plain.max(axis=1), entries.plain_weights.max(axis=0)):
        mantissa, exponent = np.frexp(scale)  # few digits, so that exact numbers stay short
        few = [Fraction(v) for v in np.ldexp(np.round(mantissa * 256) / 256, exponent).tolist()]
        if is_scattered(columns, few) and is_scattered(rows, [1 / v for v in few]):
            return True
    return False


def is_scattered(points: Array, scale: list[Fraction]) -> bool:
    """Prove the condition for the points times `scale`; False is no disproof."""
    if len(scale) == 2:
        return all(bool(((points[:, j] == 0) & (points[:, 1 - j] > 0)).any()) for j in (0, 1))
    found = _hull(points * np.array([float(value) for value in scale]))
    if found is None:
        return False
    which, simplices = found
    vertices = {
        int(v): _integers([Fraction(float(x)) * s for x, s in zip(points[which[v]], scale)])
        for v in np.unique(simplices)
    }
    facets = [[vertices[int(v)] for v in simplex] for simplex in simplices]
    normals = [_inner_normal(facet) for facet in facets]
    planes = Counter(normal for normal in normals if any(normal))
    flat = [facet for facet, normal in zip(facets, normals) if not any(normal)]
    ridges = Counter(
        frozenset(ridge) for s in simplices.tolist() for ridge in combinations(s, len(s) - 1)
    )
    return (
        all(count % 2 == 0 for count in ridges.values())
        and min(planes.values(), default=0) == 1
        and all(_is_wide(plane) for plane in planes)
        and all(_dot(plane, vertex) >= 0 for plane in planes for vertex in vertices.values())
        and all(any(all(_dot(p, v) == 0 for v in facet) for p in planes) for facet in flat)
    )


def _hull(points: Array) -> tuple[NDArray[np.intp], NDArray[np.intc]] | None:
    """Return the points in the hull of the scaled points and its simplices.

    None where a quick test in floating point says that they are not scattered.
    """
    sums = points.sum(axis=1)
    present = np.flatnonzero((sums > 0) & np.isfinite(sums))
    if len(present) == 0:
        return None
    unit = points[present] / sums[present, None]
    kept = np.sort(np.unique(unit, axis=0, return_index=True)[1])
    if len(kept) > MOST_VERTICES:
        directions = np.random.default_rng(0).standard_normal((points.shape[1], DIRECTIONS))
        kept = kept[np.unique((unit[kept] @ directions).argmax(axis=0))]
    try:
        hull = ConvexHull(unit[kept][:, :-1])
    except (QhullError, ValueError):
        return None
    normals = -np.column_stack([hull.equations[:, :-1], np.zeros(len(hull.equations))])
    normals -= hull.equations[:, -1:]
    wide = normals.sum(axis=1) >= (1 - 1e-9) * np.linalg.norm(normals, axis=1)
    small = len(hull.simplices) <= MOST_FACETS and len(hull.vertices) <= MOST_VERTICES
    return (present[kept], hull.simplices) if small and wide.all() else None


def _integers(values: list[Fraction]) -> Point:
    """Return the shortest positive multiple of the values in whole numbers."""
    common = lcm(*(value.denominator for value in values))
    whole = [int(value * common) for value in values]
    return tuple(value // max(gcd(*whole), 1) for value in whole)


def _dot(left: Point, right: Point) -> int:
    return sum(a * b for a, b in zip(left, right))


def _is_wide(normal: Point) -> bool:
    """Return whether eᵀy > ‖y‖, or y is an axis."""
    total, squares = sum(normal), _dot(normal, normal)
    return total > 0 and (total**2 > squares or sum(v != 0 for v in normal) == 1)


def _inner_normal(rows: list[Point]) -> Point:
    """Return the vector orthogonal to k − 1 rows, with eᵀy ≥ 0; zero if they are dependent."""
    k = len(rows[0])
    left = [[Fraction(value) for value in row] for row in rows]
    pivots: list[int] = []
    for column in range(k):
        place = len(pivots)
        found = next((r for r in range(place, k - 1) if left[r][column] != 0), None)
        if found is None:
            continue
        left[place], left[found] = left[found], left[place]
        left[place] = [value / left[place][column] for value in left[place]]
        for r in range(k - 1):
            if r != place and left[r][column] != 0:
                left[r] = [a - left[r][column] * b for a, b in zip(left[r], left[place])]
        pivots.append(column)
    if len(pivots) < k - 1:
        return (0,) * k
    free = next(column for column in range(k) if column not in pivots)
    normal = [Fraction(column == free) for column in range(k)]
    for row, column in zip(left, pivots):
        normal[column] = -row[free]
    return _integers(normal if sum(normal) >= 0 else [-value for value in normal])
