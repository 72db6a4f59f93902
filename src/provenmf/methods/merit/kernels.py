"""Compiled loops of MERIT over a sparse matrix C of mixing weights.

C is kept row by row as (index, value) pairs: row l holds count[l] of them, and value[l, p] is the
weight of dictionary entry index[l, p]. In order: what a Frank-Wolfe step needs (the largest entry
of each column, the sum of exp((C - largest) / mu), shifted so that nothing overflows, the penalty's
part of the gradient, the move); pairwise steps.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def column_masses(index: Ints, value: Floats, count: Ints, top: Floats, mu: float) -> Floats:
    """Return the sum of exp((C - top) / mu) in each column; C is 0 in rows without a pair."""
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
    """Move every row: C <- (1 - alpha) C + alpha e_vertex; each needs room for one more pair."""
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


# Pairwise steps of MERIT: a row moves weight from its worst used vertex to its best one.
#
# For row l and column k, `others` is the largest entry of column k outside row l. The penalty
# lam * max(others, c) costs nothing up to `others` and lam per unit beyond. Rows that may change
# a column's largest entry take turns, with an exact line search against `others`: each column
# remembers its largest entry, who holds it, and a bound on the second largest. All three are upper
# bounds of the truth while rows move, so no step raises the objective. Rows that stay below the
# largest entries (`fill_in_place`) have nothing to do with each other.


@kernel
def two_largest(
    index: Ints, value: Floats, count: Ints, size: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return the two largest entries of each column, and the row of the largest (or -1)."""
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
    """Return the minimiser over [0, room] of the piecewise quadratic along one pairwise move.

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
    """Return the first place of the smallest slope + price."""
    lowest, best = slope[0] + price[0], 0
    for k in range(1, price.size):
        total = slope[k] + price[k]
        if total < lowest:
            lowest, best = total, k
    return best


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
) -> int:
    """Make pairwise steps in one row; return its new number of pairs.

    `others` is the largest entry of each column outside the row; with lam infinite no entry exceeds
    it. `price` (overwritten) is the slope of the penalty upwards, and `slope` (updated) that of the
    fit.
    """
    for column in range(price.size):
        price[column] = lam if others[column] == 0.0 else 0.0
    for p in range(count):
        price[index[p]] = lam if value[p] >= others[index[p]] else 0.0
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
        value[place] = others[best] if step == free_until else value[place] + step
        value[worst] = value[worst] - step if value[worst] - step > 1e-13 else 0.0
        for column in range(price.size):
            slope[column] += step * (gram[best, column] - gram[left, column])
        price[best] = lam if value[place] >= others[best] else 0.0
        price[left] = lam if value[worst] >= others[left] else 0.0
    return count


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
) -> None:
    """Make at most `steps` pairwise steps in each of some rows in turn.

    `gradient` (overwritten) is that of the fit, <dictionary, c X - x>; `rows` are their numbers.
    Each row needs room for `steps` more pairs.
    """
    others, price = np.empty(gram.shape[0]), np.empty(gram.shape[0])
    for local in range(count.size):
        row = rows[local]
        others[:] = first
        for p in range(count[local]):
            column = index[local, p]
            others[column] = second[column] if holder[column] == row else first[column]
        pairs = improve_row_in_place(
            gradient[local], gram, index[local], value[local], int(count[local]),
            others, price, lam, tolerance, steps,
        )  # fmt: skip
        for p in range(pairs):
            update_column_in_place(index[local, p], row, value[local, p], first, second, holder)
        count[local] = without_zeros_in_place(index[local], value[local], pairs)


@kernel
def note_bids_in_place(
    gradient: NDArray[np.floating],
    first_row: int,
    index: Ints,
    value: Floats,
    count: Ints,
    first: Floats,
    lam: float,
    gain: Floats,
    bidder: NDArray[np.int64],
) -> None:
    """Find the row that gains most from raising the largest entry of each column.

    A row bids for one column: of those whose largest entry it holds, or which no row uses, the one
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
            gain[best], bidder[best] = highest - lowest - lam, first_row + local


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
    """Make at most `steps` pairwise steps in each row that raise no entry above its cap.

    `gradient` (overwritten) is as for `sweep_in_place`.
    """
    price = np.empty(caps.size)
    for row in range(count.size):
        pairs = improve_row_in_place(
            gradient[row], gram, index[row], value[row], int(count[row]),
            caps, price, np.inf, tolerance, steps,
        )  # fmt: skip
        count[row] = without_zeros_in_place(index[row], value[row], pairs)


@kernel
def without_zeros_in_place(index: Ints, value: Floats, count: int) -> int:
    """Move the pairs with positive values to the front; return how many there are."""
    kept = 0
    for p in range(count):
        if value[p] > 0.0:
            index[kept], value[kept] = index[p], value[p]
            kept += 1
    return kept
