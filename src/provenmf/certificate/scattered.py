"""Prove with integers that a product has no other nonnegative factorization at all.

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
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from provenmf.certificate.rigidity import Array, Entries

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
