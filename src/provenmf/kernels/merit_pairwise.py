"""Pairwise steps of MERIT: one row after the other moves weight from its worst used vertex to its
best one, with an exact line search against the largest entries of the two columns.

For row l and column k, `others` is the largest entry of column k outside row l. The penalty
lam * max(others, c) costs nothing up to `others` and lam per unit beyond. Each column remembers its
largest entry, who holds it, and a bound on the second largest; all three are upper bounds of the
truth while rows move, so no step raises the objective.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def two_largest(
    index: Ints, value: Floats, count: Ints, size: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Largest entry of each column, the second largest, and the row of the largest (or -1)."""
    first, second = np.zeros(size), np.zeros(size)
    holder = np.full(size, -1)
    for row in range(count.size):
        for p in range(count[row]):
            column, entry = index[row, p], value[row, p]
            if entry > first[column]:
                second[column], first[column], holder[column] = first[column], entry, row
            elif entry > second[column]:
                second[column] = entry
    return first, second, holder


@kernel
def best_step(
    gap: float, curvature: float, room: float, free_until: float, paid_until: float, lam: float
) -> float:
    """Minimiser over [0, room] of the piecewise quadratic along one pairwise move.

    Its slope is curvature * s - gap, plus lam once s passes `free_until` (the growing entry becomes
    its column's largest), minus lam until s reaches `paid_until` (the shrinking one no longer is).
    """
    step = 0.0
    for _ in range(3):
        slope = curvature * step - gap
        if step >= free_until:
            slope += lam
        if step < paid_until:
            slope -= lam
        if slope >= 0.0:
            return step
        end = room
        if step < free_until < end:
            end = free_until
        if step < paid_until < end:
            end = paid_until
        if curvature > 0.0 and step - slope / curvature <= end:
            return step - slope / curvature
        step = end
        if step >= room:
            return room
    return step


@kernel
def update_column_in_place(
    column: int, row: int, entry: float, first: Floats, second: Floats, holder: NDArray[np.int64]
) -> None:
    """Keep a column's two largest entries valid after row `row` changed its own to `entry`."""
    if holder[column] == row:
        if entry >= second[column]:
            first[column] = entry
        else:
            first[column], holder[column] = second[column], -1
    elif entry > first[column]:
        second[column], first[column], holder[column] = first[column], entry, row
    elif entry > second[column]:
        second[column] = entry


@kernel
def sweep_in_place(
    gradient: NDArray[np.floating],
    gram: Floats,
    first_row: int,
    index: Ints,
    value: Floats,
    count: Ints,
    first: Floats,
    second: Floats,
    holder: NDArray[np.int64],
    lam: float,
    tolerance: float,
    steps: int,
) -> int:
    """At most `steps` pairwise steps in each row of a slice; returns how many were made.

    `gradient` (overwritten) is that of the fit, <dictionary, c X - x>; `first_row` is the number of
    the slice's first row. Each row needs room for `steps` more pairs.
    """
    size = gram.shape[0]
    weights = np.zeros(size)
    made = 0
    for local in range(count.size):
        row, slope = first_row + local, gradient[local]
        for p in range(count[local]):
            weights[index[local, p]] = value[local, p]
        changed = False
        for _ in range(steps):
            lowest, highest, best, worst = np.inf, -np.inf, -1, -1
            for k in range(size):
                others = second[k] if holder[k] == row else first[k]
                up = slope[k] + (lam if weights[k] >= others else 0.0)
                if up < lowest:
                    lowest, best = up, k
                if weights[k] > 0.0:
                    down = slope[k] + (lam if weights[k] > others else 0.0)
                    if down > highest:
                        highest, worst = down, k
            if highest - lowest <= tolerance or best == worst:
                break
            others = second[best] if holder[best] == row else first[best]
            free_until = max(others - weights[best], 0.0)
            others = second[worst] if holder[worst] == row else first[worst]
            paid_until = max(weights[worst] - others, 0.0)
            curvature = max(gram[best, best] + gram[worst, worst] - 2.0 * gram[best, worst], 0.0)
            gap = slope[worst] - slope[best]
            step = best_step(gap, curvature, weights[worst], free_until, paid_until, lam)
            if step <= 0.0:
                break
            weights[best] += step
            weights[worst] -= step
            if weights[worst] < 1e-13:
                weights[best] += weights[worst]
                weights[worst] = 0.0
            for k in range(size):
                slope[k] += step * (gram[best, k] - gram[worst, k])
            update_column_in_place(best, row, weights[best], first, second, holder)
            update_column_in_place(worst, row, weights[worst], first, second, holder)
            made += 1
            changed = True
        if not changed:
            for p in range(count[local]):
                weights[index[local, p]] = 0.0
            continue
        kept = 0
        for k in range(size):
            if weights[k] > 0.0:
                index[local, kept], value[local, kept] = k, weights[k]
                kept += 1
                weights[k] = 0.0
        count[local] = kept
    return made
