"""Exact arithmetic on small matrices of floating-point numbers, for the attack on certificates."""

from fractions import Fraction
from math import isqrt

import numpy as np
from scipy.optimize import nnls

DIGITS = 10**60


def exact(matrix):
    """Rows of fractions."""
    return [[Fraction(float(value)) for value in row] for row in np.asarray(matrix)]


def dot(left, right):
    """Inner product."""
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def minus(left, right):
    """Difference of two vectors."""
    return [a - b for a, b in zip(left, right, strict=True)]


def combination(weights, rows):
    """Sum of weights times rows."""
    columns = zip(*rows, strict=True)
    return [dot(weights, column) for column in columns]


def squared_error(data, weights, components):
    """‖X − WC‖²."""
    total = Fraction(0)
    for row, w in zip(data, weights, strict=True):
        left = minus(row, combination(w, components))
        total += dot(left, left)
    return total


def root_below(value):
    """A fraction at most √value, to sixty digits."""
    if value <= 0:
        return Fraction(0)
    shift = Fraction(1)
    while value * shift * shift < 1:
        shift *= 2**64
    scaled = value * shift * shift
    return Fraction(isqrt(scaled.numerator * DIGITS**2 // scaled.denominator), DIGITS) / shift


def root_above(value):
    """A fraction at least √value."""
    return root_below(value) * (1 + Fraction(1, 10**50)) if value > 0 else Fraction(0)


def rank(rows):
    """How many rows are independent."""
    left, found = [list(row) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((row for row in left if row[column] != 0), None)
        if pivot is not None:
            found += 1
            left = [
                minus(row, [row[column] / pivot[column] * value for value in pivot])
                for row in left
                if row is not pivot
            ]
    return found


def inverse(matrix):
    """The inverse of a square matrix of fractions; None if there is none."""
    size = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = next((r for r in range(column, size) if rows[r][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        rows = [
            row if r == column else minus(row, [row[column] * value for value in rows[column]])
            for r, row in enumerate(rows)
        ]
    return [row[size:] for row in rows]


def power_of_two(matrix):
    """A power of two near the largest entry."""
    largest = float(np.abs(matrix).max(initial=0.0))
    return 2.0 ** np.frexp(largest)[1] if largest > 0 else 1.0


def mixture_near(point, corners, *, origin=False, cone=False):
    """Weights of a mixture of the corners that is near to the point, in floating point.

    A penalised row makes the weights sum to one; any nonnegative weights that sum to one do.
    """
    if cone:
        return nnls(corners.T, point)[0]
    if origin:
        corners = np.vstack([corners, np.zeros(corners.shape[1])])
    heavy = 1e3 * max(1e-300, float(np.abs(corners).max()), float(np.abs(point).max()))
    system = np.vstack([corners.T, np.full(len(corners), heavy)])
    weights = nnls(system, np.append(point, heavy))[0]
    total = weights.sum()
    weights = weights / total if total > 0 else np.full(len(corners), 1 / len(corners))
    return weights


def distance_at_most(point, corners, weights, *, origin=False):
    """Exact distance of the point to the mixture with these weights, rounded up."""
    weights = [Fraction(float(value)) for value in weights]
    total = sum(weights, Fraction(0))
    rows = [*corners, [Fraction(0)] * len(point)] if origin else corners
    mixed = combination([value / total for value in weights], rows)
    away = minus(point, mixed)
    return root_above(dot(away, away))


def distance_at_least(point, corners, weights, *, origin=False):
    """Exact lower bound of the distance of the point to the hull, by a separating direction."""
    weights = [Fraction(float(value)) for value in weights]
    total = sum(weights, Fraction(0))
    rows = [*corners, [Fraction(0)] * len(point)] if origin else corners
    direction = minus(point, combination([value / total for value in weights], rows))
    length = dot(direction, direction)
    if length == 0:
        return Fraction(0)
    gap = min(dot(direction, minus(point, row)) for row in rows)
    return max(gap, Fraction(0)) / root_above(length)
