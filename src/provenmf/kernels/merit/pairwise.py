"""Pairwise steps of MERIT: one row after the other moves weight from its worst used vertex to its
best one, with an exact line search against the largest entries of the two columns.

For row l and column k, `others` is the largest entry of column k outside row l. The penalty
lam * max(others, c) costs nothing up to `others` and lam per unit beyond. Each column remembers its
largest entry, who holds it, and a bound on the second largest; all three are upper bounds of the
truth while rows move, so no step raises the objective.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

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
def lowest_sum(slope: NDArray[np.floating], price: Floats) -> int:
    """First place of the smallest slope + price."""
    lowest, best = slope[0] + price[0], 0
    for k in range(1, price.size):
        total = slope[k] + price[k]
        if total < lowest:
            lowest, best = total, k
    return best


@kernel
def others_largest(
    column: int, row: int, first: Floats, second: Floats, holder: NDArray[np.int64]
) -> float:
    """Largest entry of a column outside the given row."""
    return float(second[column] if holder[column] == row else first[column])


@kernel
def improve_row_in_place(
    slope: NDArray[np.floating],
    gram: Floats,
    row: int,
    index: Ints,
    value: Floats,
    count: int,
    first: Floats,
    second: Floats,
    holder: NDArray[np.int64],
    price: Floats,
    lam: float,
    tolerance: float,
    steps: int,
) -> tuple[int, int]:
    """Pairwise steps of one row; returns its new number of pairs and how many steps it made."""
    made = 0
    for _ in range(steps):
        best, worst, highest, place = lowest_sum(slope, price), -1, -np.inf, count
        for p in range(count):
            column = index[p]
            paid = value[p] > others_largest(column, row, first, second, holder)
            down = slope[column] + (lam if paid else 0.0)
            if value[p] > 0.0 and down > highest:
                highest, worst = down, p
            if column == best:
                place = p
        if highest - slope[best] - price[best] <= tolerance or place == worst:
            break
        if place == count:
            index[place], value[place] = best, 0.0
            count += 1
        left = index[worst]
        free_until = others_largest(best, row, first, second, holder) - value[place]
        paid_until = value[worst] - others_largest(left, row, first, second, holder)
        curvature = max(gram[best, best] + gram[left, left] - 2.0 * gram[best, left], 0.0)
        gap = slope[left] - slope[best]
        step = best_step(gap, curvature, value[worst], free_until, paid_until, lam)
        if step <= 0.0:
            break
        value[place] += step
        value[worst] -= step
        if value[worst] < 1e-13:
            value[place] += value[worst]
            value[worst] = 0.0
        for column in range(price.size):
            slope[column] += step * (gram[best, column] - gram[left, column])
        update_column_in_place(best, row, value[place], first, second, holder)
        update_column_in_place(left, row, value[worst], first, second, holder)
        grown = value[place] >= others_largest(best, row, first, second, holder)
        price[best] = lam if grown else 0.0
        still = value[worst] >= others_largest(left, row, first, second, holder)
        price[left] = lam if still else 0.0
        made += 1
    return count, made


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
    price = np.empty(gram.shape[0])  # for the row at hand: slope of the penalty upwards
    total = 0
    for local in range(count.size):
        row = first_row + local
        for column in range(price.size):  # a column that nobody uses costs from the start
            price[column] = lam if first[column] == 0.0 else 0.0
        for p in range(count[local]):
            column = index[local, p]
            holds = value[local, p] >= others_largest(column, row, first, second, holder)
            price[column] = lam if holds else 0.0
        pairs, made = improve_row_in_place(
            gradient[local], gram, row, index[local], value[local], int(count[local]),
            first, second, holder, price, lam, tolerance, steps,
        )  # fmt: skip
        count[local] = without_zeros_in_place(index[local], value[local], pairs)
        total += made
    return total


@kernel
def without_zeros_in_place(index: Ints, value: Floats, count: int) -> int:
    """Move the pairs with positive values to the front; returns how many there are."""
    kept = 0
    for p in range(count):
        if value[p] > 0.0:
            index[kept], value[kept] = index[p], value[p]
            kept += 1
    return kept
