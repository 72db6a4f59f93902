"""Pairwise steps of MERIT: a row moves weight from its worst used vertex to its best one.

For row l and column k, `others` is the largest entry of column k outside row l. The penalty
lam * max(others, c) costs nothing up to `others` and lam per unit beyond. Rows that may change the
largest entry of a column take turns, with an exact line search against `others`: each column
remembers its largest entry, who holds it, and a bound on the second largest. All three are upper
bounds of the truth while rows move, so no step raises the objective. Rows that stay below the
largest entries (`fill_in_place`) have nothing to do with each other.
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
    index: Ints,
    value: Floats,
    count: int,
    others: Floats,
    price: Floats,
    lam: float,
    tolerance: float,
    steps: int,
) -> tuple[int, int]:
    """Pairwise steps of one row; returns its new number of pairs and how many steps it made.

    `others` is the largest entry of each column outside the row. `price` (overwritten) is the slope
    of the penalty upwards, and `slope` (updated) that of the fit.
    """
    for column in range(price.size):
        price[column] = lam if others[column] == 0.0 else 0.0
    for p in range(count):
        price[index[p]] = lam if value[p] >= others[index[p]] else 0.0
    made = 0
    for _ in range(steps):
        best, worst, highest, place = lowest_sum(slope, price), -1, -np.inf, count
        for p in range(count):
            column = index[p]
            down = slope[column] + (lam if value[p] > others[column] else 0.0)
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
        free_until = others[best] - value[place]
        paid_until = value[worst] - others[left]
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
        price[best] = lam if value[place] >= others[best] else 0.0
        price[left] = lam if value[worst] >= others[left] else 0.0
        made += 1
    return count, made


@kernel
def sweep_in_place(
    gradient: NDArray[np.floating],
    gram: Floats,
    rows: NDArray[np.int64],
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
    """At most `steps` pairwise steps in each of some rows in turn; returns how many were made.

    `gradient` (overwritten) is that of the fit, <dictionary, c X - x>; `rows` are their numbers.
    Each row needs room for `steps` more pairs.
    """
    others, price = np.empty(gram.shape[0]), np.empty(gram.shape[0])
    total = 0
    for local in range(count.size):
        row = rows[local]
        others[:] = first
        for p in range(count[local]):
            column = index[local, p]
            others[column] = others_largest(column, row, first, second, holder)
        pairs, made = improve_row_in_place(
            gradient[local], gram, index[local], value[local], int(count[local]),
            others, price, lam, tolerance, steps,
        )  # fmt: skip
        for p in range(pairs):
            update_column_in_place(index[local, p], row, value[local, p], first, second, holder)
        count[local] = without_zeros_in_place(index[local], value[local], pairs)
        total += made
    return total


@kernel
def note_wishes_in_place(
    gradient: NDArray[np.floating],
    first_row: int,
    index: Ints,
    value: Floats,
    count: Ints,
    first: Floats,
    lam: float,
    gain: Floats,
    wisher: NDArray[np.int64],
) -> None:
    """Find the row that gains most from raising the largest entry of each column.

    A row has one wish: of the columns whose largest entry it holds, or which nobody uses, the one
    with the lowest slope. It gains what its worst vertex has more, minus lam. The largest gain of
    each column and its row, the first of equals, are written where they exceed what is there.
    """
    taken = np.where(first > 0.0, np.inf, 0.0)
    for local in range(count.size):
        slope = gradient[local]
        best, highest = lowest_sum(slope, taken), -np.inf
        lowest = slope[best] + taken[best]
        for p in range(count[local]):
            column = index[local, p]
            highest = max(highest, slope[column])
            if value[local, p] >= first[column] and slope[column] < lowest:
                best, lowest = column, slope[column]
        if highest - lowest - lam > gain[best]:
            gain[best], wisher[best] = highest - lowest - lam, first_row + local


@kernel
def fill_row_in_place(
    slope: NDArray[np.floating],
    gram: NDArray[np.floating],
    index: Ints,
    value: Floats,
    count: int,
    caps: Floats,
    full: Floats,
    tolerance: float,
    steps: int,
) -> int:
    """Pairwise steps of one row that stay below the caps; returns its new number of pairs.

    `full` (overwritten) is infinite where there is no room left.
    """
    full[:] = 0.0
    for p in range(count):
        if value[p] >= caps[index[p]]:
            full[index[p]] = np.inf
    for _ in range(steps):
        best, worst, highest, place = lowest_sum(slope, full), -1, -np.inf, count
        for p in range(count):
            if value[p] > 0.0 and slope[index[p]] > highest:
                highest, worst = slope[index[p]], p
            if index[p] == best:
                place = p
        gap = highest - slope[best] - full[best]
        if gap <= tolerance:
            break
        if place == count:
            index[place], value[place] = best, 0.0
            count += 1
        left = index[worst]
        curvature = gram[best, best] + gram[left, left] - 2.0 * gram[best, left]
        step = min(value[worst], caps[best] - value[place])
        if curvature * step > gap:
            step = gap / curvature
        value[worst] -= step
        value[place] = min(value[place] + step, caps[best])
        if value[worst] < 1e-13:
            value[worst] = 0.0
        full[left] = 0.0
        if value[place] >= caps[best]:
            full[best] = np.inf
        for column in range(slope.size):
            slope[column] += step * (gram[best, column] - gram[left, column])
    return count


@kernel
def fill_in_place(
    gradient: NDArray[np.floating],
    gram: NDArray[np.floating],
    index: Ints,
    value: Floats,
    count: Ints,
    caps: Floats,
    tolerance: float,
    steps: int,
) -> None:
    """At most `steps` pairwise steps in each row that raise no entry above its column's cap.

    `gradient` (overwritten) is as for `sweep_in_place`.
    """
    full = np.empty(caps.size)
    for row in range(count.size):
        pairs = fill_row_in_place(
            gradient[row], gram, index[row], value[row], int(count[row]),
            caps, full, tolerance, steps,
        )  # fmt: skip
        count[row] = without_zeros_in_place(index[row], value[row], pairs)


@kernel
def without_zeros_in_place(index: Ints, value: Floats, count: int) -> int:
    """Move the pairs with positive values to the front; returns how many there are."""
    kept = 0
    for p in range(count):
        if value[p] > 0.0:
            index[kept], value[kept] = index[p], value[p]
            kept += 1
    return kept
