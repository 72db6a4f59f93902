"""How likely points drawn from a simplex with noise are, and which way they pull its facets.

A point is a mixture of vertices, a pure one, or odd; see `likeliest_simplex.py` for the densities.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit

Floats = NDArray[np.float64]
kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def facet_density(
    distance: float, concentration: float, table: Floats, first: float, step: float
) -> tuple[float, float, float]:
    """log G_a(d), its slope in d, and its slope in a: see `density_tables`.

    `table` (4, m) has log G, its slope in d, its slope in a and the slope of that in d, at
    distances from `first` on, `step` apart: cubics in between. Nothing changes below. Above, G is
    d^(a−1) (1 + (a−1)(a−2) / (2 d²)), but for terms of d⁻⁴.
    """
    place = (distance - first) / step
    if place <= 0.0:
        return table[0, 0], 0.0, table[2, 0]
    last = table.shape[1] - 1
    if place >= last:
        square = distance * distance
        bend = 0.5 * (concentration - 1.0) * (concentration - 2.0)
        return (
            (concentration - 1.0) * np.log(distance) + np.log1p(bend / square),
            (concentration - 1.0) / distance - 2.0 * bend / (distance * (square + bend)),
            np.log(distance) + (concentration - 1.5) / (square + bend),
        )
    i = int(place)
    f = place - i
    g = 1.0 - f
    left, right = (1.0 + 2.0 * f) * g * g, f * f * (3.0 - 2.0 * f)
    left_slope, right_slope = step * f * g * g, -step * f * f * g
    value = (
        left * table[0, i]
        + right * table[0, i + 1]
        + left_slope * table[1, i]
        + right_slope * table[1, i + 1]
    )
    slope = (
        6.0 * f * g * (table[0, i + 1] - table[0, i]) / step
        + g * (1.0 - 3.0 * f) * table[1, i]
        + f * (3.0 * f - 2.0) * table[1, i + 1]
    )
    by_concentration = (
        left * table[2, i]
        + right * table[2, i + 1]
        + left_slope * table[3, i]
        + right_slope * table[3, i + 1]
    )
    return value, slope, by_concentration


@kernel
def weigh_points_in_place(
    distances: Floats,
    squares: Floats,
    concentrations: Floats,
    tables: Floats,
    first: float,
    step: float,
    log_mixed: float,
    log_pure: Floats,
    log_odd: float,
) -> tuple[float, float, Floats, Floats]:
    """How likely points are, and what each says about the facets and vertices.

    Parameters
    ----------
    distances : (n, k) from the facets; overwritten with the slopes of the log-likelihood in them.
    squares : (n, k), squared distances from the vertices; overwritten with the probabilities that
        the point is that vertex and noise.
    concentrations, tables, first, step : (k,) and (k, 4, m); see `facet_density`.
    log_mixed : log-density of mixtures where all G are one.
    log_pure : (k,), log-densities of pure points where there is no noise.
    log_odd : log-density of odd points.

    Returns
    -------
    The sum of the log-likelihoods, that of the probabilities that a point is a mixture, and, for
    each facet, the sums of slope times distance and of the slopes in the concentration.
    """
    n, k = distances.shape
    total, mixed = 0.0, 0.0
    moments, by_concentration = np.zeros(k), np.zeros(k)
    slopes, changes = np.empty(k), np.empty(k)
    for i in range(n):
        inside = log_mixed
        for j in range(k):
            value, slopes[j], changes[j] = facet_density(
                distances[i, j], concentrations[j], tables[j], first, step
            )
            inside += value
        largest = max(inside, log_odd)
        for j in range(k):
            squares[i, j] = log_pure[j] - 0.5 * squares[i, j]
            largest = max(largest, squares[i, j])
        likelihood = np.exp(inside - largest) + np.exp(log_odd - largest)
        for j in range(k):
            likelihood += np.exp(squares[i, j] - largest)
        logarithm = largest + np.log(likelihood)
        share = np.exp(inside - logarithm)
        for j in range(k):
            squares[i, j] = np.exp(squares[i, j] - logarithm)
            moments[j] += share * slopes[j] * distances[i, j]
            by_concentration[j] += share * changes[j]
            distances[i, j] = share * slopes[j]
        total += logarithm
        mixed += share
    return total, mixed, moments, by_concentration
