"""Components with one maximum: they rise to it and fall after it, as elution profiles do.

With all other components fixed, the objective of HALS in one component c is ||c - y||^2 up to a
factor and a constant, where y is its unconstrained minimizer. The best unimodal nonnegative c is
therefore the projection of y: an increasing fit to the entries before some place and a decreasing
fit to the others, at the place with the least error (Bro & Sidiropoulos, "Least squares algorithms
under unimodality and non-negativity constraints", J. Chemometrics 1998). Pool-adjacent-violators
gives the fits to all beginnings in one pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit

Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def increasing_fit(values: Floats) -> tuple[Floats, Floats]:
    """Return the nonnegative increasing sequence nearest to the values, and errors of beginnings.

    The latter are the least squared errors of such fits to the first m values, m = 0, …, n.
    """
    n = len(values)
    errors = np.zeros(n + 1)
    sums, counts, squares, before = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    top = 0
    for i in range(n):
        total, count, square = values[i], 1.0, values[i] ** 2
        while top and sums[top - 1] * count >= total * counts[top - 1]:
            top -= 1
            total, count, square = total + sums[top], count + counts[top], square + squares[top]
        sums[top], counts[top], squares[top] = total, count, square
        before[top] = 0.0
        if top:
            fitted = max(sums[top - 1], 0.0) ** 2 / counts[top - 1]
            before[top] = before[top - 1] + squares[top - 1] - fitted
        errors[i + 1] = before[top] + square - max(total, 0.0) ** 2 / count
        top += 1
    fit, start = np.empty(n), 0
    for block in range(top):
        stop = start + int(counts[block])
        fit[start:stop] = max(sums[block] / counts[block], 0.0)
        start = stop
    return fit, errors


@njit(cache=True, nogil=True)
def unimodal_fit(values: Floats) -> Floats:
    """Return the nonnegative unimodal sequence nearest to the values."""
    backwards = values[::-1].copy()
    errors = increasing_fit(values)[1] + increasing_fit(backwards)[1][::-1]
    place = int(np.argmin(errors))
    fit = np.empty(len(values))
    fit[:place] = increasing_fit(values[:place])[0]
    fit[place:] = increasing_fit(backwards[: len(values) - place])[0][::-1]
    return fit


@njit(cache=True, nogil=True)
def sweep_unimodal_in_place(gram: Floats, cross: Floats, features: Floats, sweeps: int) -> None:
    """Lower the objective over each column of ``features`` (d, k) in turn, kept unimodal."""
    for _ in range(sweeps):
        for j in range(len(gram)):
            if gram[j, j] > 0.0:
                step = (cross[:, j] - features @ gram[:, j].copy()) / gram[j, j]
                features[:, j] = unimodal_fit(features[:, j] + step)
