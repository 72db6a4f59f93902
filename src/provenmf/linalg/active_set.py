"""Exact active sets for many small quadratic programs that share one Gram matrix.

Each row c of ``cross`` asks for

    min over w of  1/2 w G w' - w c'   with w >= 0, and sum(w) = 1 if ``sum_to_one``.

A row is solved by block principal pivoting (Kim & Park 2011): guess which entries are positive,
solve the linear system on them, exchange every entry that has the wrong sign. That nearly always
ends within a few exchanges, but it may cycle; then the row is handed to the primal active-set
method of Lawson & Hanson (1974), which descends at each step and cannot cycle.

A column that depends linearly on the ones already chosen (its pivot is at most ``floor``) is left
out with weight zero, so duplicate components do no harm.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import inner_njit, njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
kernel = njit(cache=True, nogil=True, error_model="numpy")
inner = inner_njit(error_model="numpy")
# For what is called in one place: it compiles faster there than by itself.
inlined = inner_njit(error_model="numpy", inline="always")
# Not plain numbers, for which numba compiles functions of their own.
NONE: Any = np.int64(0)
NOBODY: Any = np.int64(-1)
# Sums may be reordered, so that dot products use vector instructions.
reordering = inner_njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@reordering
def append_column_in_place(
    gram: Floats, order: Ints, size: int, column: int, lower: Floats, floor: float
) -> bool:
    """Extend the Cholesky factor of gram[order[:size]] by ``column``; False if it is dependent.

    ``lower`` keeps the reciprocals of the factor's diagonal: a division is slow.
    """
    pivot = gram[column, column]
    for i in range(size):
        total = 0.0
        for j in range(i):
            total += lower[i, j] * lower[size, j]
        value = (gram[column, order[i]] - total) * lower[i, i]
        lower[size, i] = value
        pivot -= value * value
    if pivot <= floor:
        return False
    lower[size, size] = 1.0 / np.sqrt(pivot)
    order[size] = column
    return True


@inner
def drop_positions_in_place(
    gram: Floats, order: Ints, size: int, dropped: Bools, lower: Floats, floor: float
) -> int:
    """Remove the positions marked in ``dropped`` from the factor; returns the new size."""
    kept: int = NONE
    while kept < size and not dropped[kept]:
        kept += 1
    for position in range(kept, size):
        if not dropped[position]:
            if append_column_in_place(gram, order, kept, order[position], lower, floor):
                kept += 1
    return kept


@reordering
def solve_with_factor_in_place(lower: Floats, size: int, right: Floats) -> None:
    """Solve L L' x = right in place."""
    for i in range(size):
        total = 0.0
        for j in range(i):
            total += lower[i, j] * right[j]
        right[i] = (right[i] - total) * lower[i, i]
    for i in range(size - 1, -1, -1):
        value = right[i] * lower[i, i]
        right[i] = value
        for j in range(i):
            right[j] -= value * lower[i, j]


@inner
def solve_on_support_in_place(
    lower: Floats,
    size: int,
    order: Ints,
    row: Floats,
    sum_to_one: bool,
    solution: Floats,
    ones: Floats,
) -> float:
    """Minimise over the columns in ``order`` with signs ignored; returns the sum's multiplier."""
    for i in range(size):
        solution[i] = row[order[i]]
    solve_with_factor_in_place(lower, size, solution)
    if not sum_to_one:
        return 0.0
    total, total_ones = 0.0, 0.0
    for i in range(size):
        ones[i] = 1.0
    solve_with_factor_in_place(lower, size, ones)
    for i in range(size):
        total += solution[i]
        total_ones += ones[i]
    multiplier = (1.0 - total) / total_ones
    for i in range(size):
        solution[i] += multiplier * ones[i]
    return multiplier


@inner
def descent_in_place(
    gram: Floats,
    row: Floats,
    multiplier: float,
    order: Ints,
    size: int,
    solution: Floats,
    rounding: float,
    descent: Floats,
) -> float:
    """Write the negative gradient of the Lagrangian; returns what counts as zero in it."""
    k = row.size
    largest, total = 0.0, abs(multiplier)
    for j in range(k):
        descent[j] = row[j] + multiplier
        largest = max(largest, abs(row[j]))
    for i in range(size):
        weight = solution[i]
        total += abs(weight)
        column = order[i]
        for j in range(k):
            descent[j] -= weight * gram[column, j]
    return 8.0 * rounding * (largest + total)


@inlined
def pivot_row_in_place(
    gram: Floats,
    row: Floats,
    positive: Bools,
    sum_to_one: bool,
    floor: float,
    rounding: float,
    lower: Floats,
    order: Ints,
    work: Floats,
) -> int:
    """Pivot from the guess ``positive`` (Kim & Park 2011); the number of positives, or -1."""
    k = row.size
    solution, ones, descent, dependent = work[0], work[1], work[2], work[3]
    fewest, patience = k + 1, 3
    while True:
        size: int = NONE
        for j in range(k):
            dependent[j] = 0.0
            if positive[j]:
                if append_column_in_place(gram, order, size, j, lower, floor):
                    size += 1
                else:
                    positive[j] = False
                    dependent[j] = 1.0
        multiplier = solve_on_support_in_place(lower, size, order, row, sum_to_one, solution, ones)
        zero = descent_in_place(gram, row, multiplier, order, size, solution, rounding, descent)
        wrong = 0
        for i in range(size):
            descent[order[i]] = 0.0
            if solution[i] < 0.0:
                positive[order[i]] = False
                wrong += 1
        for j in range(k):
            if descent[j] > zero and dependent[j] == 0.0 and gram[j, j] > floor:
                positive[j] = True
                wrong += 1
        if wrong == 0:
            return size
        if wrong < fewest:
            fewest, patience = wrong, 3
        elif patience > 0:
            patience -= 1
        else:
            return -1


@inner
def best_vertex(gram: Floats, row: Floats) -> int:
    """Return the single component with the smallest objective at weight one."""
    best = 0
    for j in range(1, row.size):
        if 0.5 * gram[j, j] - row[j] < 0.5 * gram[best, best] - row[best]:
            best = j
    return best


@inner
def descend_row_in_place(
    gram: Floats,
    row: Floats,
    weights: Floats,
    sum_to_one: bool,
    floor: float,
    rounding: float,
    lower: Floats,
    order: Ints,
    work: Floats,
) -> None:
    """Descend with a primal active set (Lawson & Hanson 1974); writes the row of weights."""
    k = row.size
    solution, ones, descent, banned = work[0], work[1], work[2], work[3]
    dropped = np.zeros(k, dtype=np.bool_)
    weights[:] = 0.0
    banned[:] = 0.0
    size: int = NONE
    if sum_to_one:
        vertex = best_vertex(gram, row)
        append_column_in_place(gram, order, size, vertex, lower, floor)
        weights[vertex] = 1.0
        size += 1
    for _ in range(5 * k + 20):
        multiplier = solve_on_support_in_place(lower, size, order, row, sum_to_one, solution, ones)
        zero = descent_in_place(gram, row, multiplier, order, size, solution, rounding, descent)
        for i in range(size):
            descent[order[i]] = 0.0
        entering, steepest = NOBODY, zero
        for j in range(k):
            if banned[j] == 0.0 and gram[j, j] > floor and descent[j] > steepest:
                entering, steepest = j, descent[j]
        if entering < 0:
            return
        if not append_column_in_place(gram, order, size, entering, lower, floor):
            banned[entering] = 1.0
            continue
        size += 1
        solve_on_support_in_place(lower, size, order, row, sum_to_one, solution, ones)
        if solution[size - 1] <= 0.0:  # rounding: it cannot lower the objective
            size -= 1
            banned[entering] = 1.0
            continue
        banned[:] = 0.0
        while True:
            step = 1.0
            for i in range(size):
                if solution[i] <= 0.0:
                    old = weights[order[i]]
                    step = min(step, old / (old - solution[i]) if old > 0.0 else 0.0)
            blocked = False
            for i in range(size):
                old = weights[order[i]]
                reached = old + step * (solution[i] - old)
                dropped[i] = solution[i] <= 0.0 and reached <= 1e-15 * old
                blocked |= dropped[i]
                weights[order[i]] = 0.0 if dropped[i] else max(reached, 0.0)
            if not blocked:
                break
            size = drop_positions_in_place(gram, order, size, dropped, lower, floor)
            solve_on_support_in_place(lower, size, order, row, sum_to_one, solution, ones)


@kernel
def pivot_rows_in_place(
    gram: Floats,
    cross: Floats,
    weights: Floats,
    sum_to_one: bool,
    floor: float,
    rounding: float,
    hard: Bools,
) -> int:
    """Solve the rows that pivoting can, and mark the others in ``hard``; how many those are.

    Positive entries of ``weights`` are the first guess, then the answer.
    """
    n, k = cross.shape
    lower = np.empty((k, k))
    order = np.empty(k, dtype=np.int64)
    work = np.empty((4, k))
    positive = np.empty(k, dtype=np.bool_)
    count = 0
    for r in range(n):
        any_positive = False
        for j in range(k):
            positive[j] = weights[r, j] > 0.0
            any_positive |= positive[j]
        if sum_to_one and not any_positive:
            positive[best_vertex(gram, cross[r])] = True
        size = pivot_row_in_place(
            gram, cross[r], positive, sum_to_one, floor, rounding, lower, order, work
        )
        hard[r] = size < 0
        if hard[r]:
            count += 1
            continue
        for j in range(k):
            weights[r, j] = 0.0
        for i in range(size):
            weights[r, order[i]] = work[0, i]
    return count


@kernel
def descend_rows_in_place(
    gram: Floats,
    cross: Floats,
    weights: Floats,
    sum_to_one: bool,
    floor: float,
    rounding: float,
    hard: Bools,
) -> None:
    """Solve the rows marked in ``hard``, whatever their weights were."""
    n, k = cross.shape
    lower = np.empty((k, k))
    order = np.empty(k, dtype=np.int64)
    work = np.empty((4, k))
    for r in range(n):
        if hard[r]:
            descend_row_in_place(
                gram, cross[r], weights[r], sum_to_one, floor, rounding, lower, order, work
            )


@kernel
def solve_rows_in_place(
    gram: Floats, cross: Floats, weights: Floats, sum_to_one: bool, floor: float, rounding: float
) -> int:
    """Solve each row; positive entries of ``weights`` are the first guess, then the answer."""
    hard = np.zeros(len(cross), dtype=np.bool_)
    count: int = pivot_rows_in_place(gram, cross, weights, sum_to_one, floor, rounding, hard)
    if count > 0:
        descend_rows_in_place(gram, cross, weights, sum_to_one, floor, rounding, hard)
    return count
