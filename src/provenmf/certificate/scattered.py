"""Whether a product has no other nonnegative factorization at all, in exact arithmetic.

Points x ≥ 0 of dimension k are sufficiently scattered if their cone contains
{x : eᵀx ≥ √(k−1)‖x‖}, that is, if every facet of their cone has a normal y with eᵀy ≥ ‖y‖, with
equality for the coordinate axes only. If the rows of W and the columns of H both are, all
factorizations of WH into k nonnegative parts are equal up to order and scale (Huang, Sidiropoulos
& Swami 2014). Proof: columns a of A and rows b of A⁻¹ satisfy ‖a‖ ≤ eᵀa, ‖b‖ ≤ eᵀb. Scale A so that
eᵀA = eᵀ; then eᵀA⁻¹ = eᵀ too, |det A| ≤ Π‖a‖ ≤ 1, |det A⁻¹| ≤ Π eᵀb ≤ (Σ eᵀb/k)^k = 1. Their
product is 1, so ‖a‖ = eᵀa for all columns, which are axes therefore.

W D⁻¹ and D H may be taken for any positive diagonal D. Some points instead of all give a smaller
cone, so that a proof with them is a proof. Qhull finds the facets, cut into simplices; integers
then confirm that all lie in the boundary of the cone, that they close, and that they go around it
an odd number of times. So they cover the boundary, and no facet is missing. Simplices without
volume, which Qhull makes of vertices in one plane, may be among them; they cover nothing.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from provenmf.certificate.rigidity import BalancedFactors
from provenmf.data import Rows

Array = NDArray[np.float64]
Point = tuple[int, ...]

MOST_COMPONENTS = 6
MOST_FACETS = 3000
MOST_VERTICES = 400
DIRECTIONS = 1000


def fewest_zeros(weights: Rows, components: NDArray[np.floating]) -> tuple[int, str]:
    """Return the fewest zeros of a column of W or a row of H, and which has them.

    The cone of scattered points touches every face x_j = 0 of the orthant in at least k − 1 points
    (Huang et al. 2014, Section III). Points that are zero altogether are none.
    """
    of_weights = weights.sum(_zeros_of_columns)
    of_components = (components[:, components.any(axis=0)] == 0).sum(axis=1)
    found = {"weights": of_weights, "entries": of_components}
    name = min(found, key=lambda name: int(found[name].min()))
    worst = int(np.argmin(found[name]))
    return int(found[name][worst]), f"component {worst + 1}, {name}"


def _zeros_of_columns(weights: NDArray[np.floating]) -> NDArray[np.int64]:
    return np.asarray((weights[weights.any(axis=1)] == 0).sum(axis=0))


def scattered_scaling(factors: BalancedFactors) -> Array | None:
    """Find D with W D⁻¹ and D H both proved to be sufficiently scattered; None if none is found."""
    rows, columns = factors.weight_rows, factors.component_columns.T
    if columns.shape[1] > MOST_COMPONENTS:
        return None
    for scale in _scalings(factors.weights, factors.components):
        if looks_scattered(columns * scale) and looks_scattered(rows / scale):
            exact = [Fraction(float(value)) for value in scale]
            if is_scattered(columns, exact) and is_scattered(rows, [1 / v for v in exact]):
                return scale
    return None


def _scalings(weights: Array, components: Array) -> list[Array]:
    """Return scales worth trying, with few digits so that exact numbers stay short."""
    of_weights, of_components = weights.sum(axis=0), components.sum(axis=1)
    wanted = [
        np.sqrt(of_weights / of_components),
        1 / of_components,
        of_weights,
        1 / components.max(axis=1),
        weights.max(axis=0),
    ]
    mantissas, exponents = np.frexp(np.array(wanted))
    return list(np.ldexp(np.round(mantissas * 256) / 256, exponents))


def looks_scattered(points: Array) -> bool:
    """Test the condition in floating point: quick, and no proof."""
    found = _hull(points)
    if found is None:
        return False
    normals = found[2]
    lengths = np.linalg.norm(normals, axis=1)
    return bool((normals.sum(axis=1) >= (1 - 1e-9) * lengths).all())


def is_scattered(points: Array, scale: list[Fraction]) -> bool:
    """Prove the condition for the points times `scale` with integers; False is no disproof."""
    k = len(scale)
    if k == 1:
        return bool((points > 0).any())
    if k == 2:
        return all(bool(((points[:, j] == 0) & (points[:, 1 - j] > 0)).any()) for j in (0, 1))
    found = _hull(points * np.array([float(value) for value in scale]))
    if found is None:
        return False
    which, simplices, _ = found
    vertices = {
        int(v): _integers(
            [Fraction(float(x)) * s for x, s in zip(points[which[v]], scale, strict=True)]
        )
        for v in np.unique(simplices)
    }
    facets = [tuple(vertices[int(v)] for v in sorted(simplex)) for simplex in simplices]
    normals = [_inner_normal(facet) for facet in facets]
    solid = [facet for facet, normal in zip(facets, normals, strict=True) if any(normal)]
    planes = {normal for normal in normals if any(normal)}
    flat = [facet for facet, normal in zip(facets, normals, strict=True) if not any(normal)]
    return (
        _closes(simplices)
        and all(_is_wide(plane) for plane in planes)
        and all(_dot(plane, vertex) >= 0 for plane in planes for vertex in vertices.values())
        and all(any(all(_dot(p, v) == 0 for v in facet) for p in planes) for facet in flat)
        and _times_around(solid, flat) % 2 == 1
    )


def _hull(points: Array) -> tuple[NDArray[np.intp], NDArray[np.intc], Array] | None:
    """Return the points in the hull of the scaled points, its simplices, and inner normals."""
    sums = points.sum(axis=1)
    present = np.flatnonzero((sums > 0) & np.isfinite(sums))
    if len(present) == 0:
        return None
    unit = points[present] / sums[present, None]
    _, first = np.unique(unit, axis=0, return_index=True)
    kept = np.sort(first)
    if len(kept) > MOST_VERTICES:
        rng = np.random.default_rng(0)
        heights = unit[kept] @ rng.standard_normal((points.shape[1], DIRECTIONS))
        kept = kept[np.unique(heights.argmax(axis=0))]
    try:
        hull = ConvexHull(unit[kept][:, :-1])
    except (QhullError, ValueError):
        return None
    if len(hull.simplices) > MOST_FACETS or len(hull.vertices) > MOST_VERTICES:
        return None
    normals = -np.column_stack([hull.equations[:, :-1], np.zeros(len(hull.equations))])
    return present[kept], hull.simplices, normals - hull.equations[:, -1:]


def _integers(values: list[Fraction]) -> Point:
    """Return a positive multiple of the values in whole numbers."""
    common = lcm(*(value.denominator for value in values))
    return tuple(int(value * common) for value in values)


def _closes(simplices: NDArray[np.intc]) -> bool:
    """Return whether each ridge belongs to two facets."""
    counts: dict[tuple[int, ...], int] = {}
    for simplex in simplices:
        for ridge in combinations(sorted(int(v) for v in simplex), len(simplex) - 1):
            counts[ridge] = counts.get(ridge, 0) + 1
    return all(count == 2 for count in counts.values())


def _is_wide(normal: Point) -> bool:
    """Return whether eᵀy > ‖y‖, or y is an axis."""
    total, squares = sum(normal), _dot(normal, normal)
    if total <= 0:
        return False
    return total**2 > squares or (total**2 == squares and sum(v != 0 for v in normal) == 1)


def _times_around(solid: list[tuple[Point, ...]], flat: list[tuple[Point, ...]]) -> int:
    """Count the facets that the line g + μe crosses, e being inside; 0 if it meets an edge.

    g is a fixed direction: λ in g + μe = Σ λ·vertices must be all positive or some negative.
    """
    k = len(solid[0][0])
    inside = (1,) * k
    direction = tuple(int(v) for v in np.random.default_rng(0).integers(-(10**6), 10**6, k))
    if any(_rank([*facet, inside, direction]) == _rank([*facet, inside]) for facet in flat):
        return 0
    count = 0
    for facet in solid:
        columns = [*facet, inside]
        whole = _determinant(columns)
        shares = [
            _determinant([*columns[:place], direction, *columns[place + 1 :]]) * whole
            for place in range(k - 1)
        ]
        if any(share == 0 for share in shares):
            return 0
        count += all(share > 0 for share in shares)
    return count


def _rank(rows: list[Point]) -> int:
    """Count the independent rows, by elimination."""
    left = [[Fraction(value) for value in row] for row in rows]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((row for row in left if row[column] != 0), None)
        if pivot is not None:
            rank += 1
            rest = [row for row in left if row is not pivot]
            left = [
                [a - b * row[column] / pivot[column] for a, b in zip(row, pivot, strict=True)]
                for row in rest
            ]
    return rank


def _dot(left: Point, right: Point) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _inner_normal(rows: tuple[Point, ...]) -> Point:
    """Return the vector orthogonal to k − 1 rows, by minors, in lowest terms, with eᵀy ≥ 0."""
    k = len(rows[0])
    minors = [_determinant([row[:place] + row[place + 1 :] for row in rows]) for place in range(k)]
    signed = [minor if place % 2 == 0 else -minor for place, minor in enumerate(minors)]
    common = gcd(*signed) * (-1 if sum(signed) < 0 else 1)
    return tuple(value // common for value in signed) if common else tuple(signed)


def _determinant(rows: list[Point]) -> int:
    """Return the determinant by fraction-free elimination (Bareiss 1968)."""
    matrix = [list(row) for row in rows]
    size, sign, previous = len(matrix), 1, 1
    for step in range(size - 1):
        pivot = next((r for r in range(step, size) if matrix[r][step] != 0), None)
        if pivot is None:
            return 0
        if pivot != step:
            matrix[step], matrix[pivot], sign = matrix[pivot], matrix[step], -sign
        for r in range(step + 1, size):
            for c in range(step + 1, size):
                cross = matrix[r][c] * matrix[step][step] - matrix[r][step] * matrix[step][c]
                matrix[r][c] = cross // previous
        previous = matrix[step][step]
    return sign * matrix[-1][-1]
