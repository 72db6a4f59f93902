"""A sparse matrix C of mixing weights, kept row by row as (index, value) pairs.

Row l holds count[l] pairs: value[l, p] is the weight of dictionary entry index[l, p]. What one
Frank-Wolfe step of MERIT needs from it: the largest entry of each column and the sum of
exp((C - largest) / mu) below it (shifted, so that nothing overflows), the penalty's part of the
gradient, and the move itself.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def column_masses(index: Ints, value: Floats, count: Ints, top: Floats, mu: float) -> Floats:
    """Sum over all rows of exp((C - top) / mu) in each column, rows without a pair included."""
    mass = np.zeros(top.size)
    stored = np.zeros(top.size)
    for row in range(count.size):
        for p in range(count[row]):
            column = index[row, p]
            stored[column] += 1.0
            below = (value[row, p] - top[column]) / mu
            if below > -700.0:
                mass[column] += np.exp(below)
    for column in range(top.size):
        mass[column] += (count.size - stored[column]) * np.exp(-top[column] / mu)
    return mass


@kernel
def price_in_place(
    scores: NDArray[np.floating],
    index: Ints,
    value: Floats,
    count: Ints,
    top: Floats,
    mass: Floats,
    lam: float,
    mu: float,
    inner: Floats,
) -> None:
    """Add lam * y to the scores where a row has pairs; writes inner = <c, gradient>.

    `scores` comes with lam * y of the rows without a pair already added.
    """
    for row in range(count.size):
        total = 0.0
        for p in range(count[row]):
            column = index[row, p]
            own = np.exp(max((value[row, p] - top[column]) / mu, -700.0))
            absent = np.exp(-top[column] / mu)
            scores[row, column] += lam * (own - absent) / mass[column]
            total += value[row, p] * scores[row, column]
        inner[row] = total


@kernel
def move_in_place(
    index: Ints, value: Floats, count: Ints, vertex: NDArray[np.int32], alpha: float
) -> None:
    """C <- (1 - alpha) C + alpha e_vertex in every row; there must be room for one more pair."""
    for row in range(count.size):
        place = count[row]
        for p in range(count[row]):
            value[row, p] *= 1.0 - alpha
            if index[row, p] == vertex[row]:
                place = p
        if alpha == 1.0:
            place, count[row] = 0, 0
        if place == count[row]:
            index[row, place], value[row, place] = vertex[row], 0.0
            count[row] += 1
        value[row, place] += alpha


@kernel
def mix_in_place(index: Ints, value: Floats, count: Ints, atoms: Floats, out: Floats) -> None:
    """Write C @ atoms."""
    for row in range(count.size):
        mixture = out[row]
        mixture[:] = 0.0
        for p in range(count[row]):
            weight, atom = value[row, p], atoms[index[row, p]]
            for j in range(mixture.size):
                mixture[j] += weight * atom[j]
