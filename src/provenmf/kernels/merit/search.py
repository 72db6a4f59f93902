"""The best vertex of every row in one Frank-Wolfe step of MERIT, exact to double precision.

All n x m scores <x_n, r_l> + lam y_nl are needed, but only their minima. Scores are computed in
single precision, a strip of columns at a time, so that the strip stays in the first-level cache;
those that could be the minimum, given the largest rounding error, are computed again in double.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit
from provenmf.kernels.merit.pairs import kernel

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]

STRIP = 256
# A sum may be taken in any order: the error bound holds for every one.
reordering = njit(cache=True, nogil=True, error_model="numpy", fastmath=True)


@kernel
def search_in_place(
    residual: Floats, atoms: Floats, single_atoms: Singles, unused: Floats,
    index: Ints, value: Floats, count: Ints, top: Floats, mass: Floats, lam: float, mu: float,
    error: Floats, vertex: Ints, lowest: Floats, inner: Floats,
) -> None:  # fmt: skip
    """Write each row's best vertex, the gradient there, and <c, gradient>.

    single_atoms is atoms transposed; unused is lam * y of a row without the column; error bounds
    the error of a row's scores in single precision. Of equal scores the lowest index wins.
    """
    size = atoms.shape[0]
    single_residual = residual.astype(np.float32)
    single_unused = unused.astype(np.float32)
    scores = np.empty(STRIP, dtype=np.float32)
    for row in range(count.size):
        inner[row], lowest[row], vertex[row] = 0.0, np.inf, 0
        for p in range(count[row]):
            column = index[row, p]
            own = np.exp(max((value[row, p] - top[column]) / mu, -700.0)) / mass[column]
            score = product(atoms[column], residual[row]) + lam * own
            inner[row] += value[row, p] * score
            if score < lowest[row] or (score == lowest[row] and column < vertex[row]):
                lowest[row], vertex[row] = score, column
    for start in range(0, size, STRIP):
        width = min(STRIP, size - start)
        for row in range(count.size):
            fill_scores(single_residual[row], single_atoms, single_unused, start, width, scores)
            if least(scores, width) > lowest[row] + error[row]:
                continue
            for place in range(width):
                if scores[place] > lowest[row] + error[row]:
                    continue
                column = start + place
                if in_support(index[row], count[row], column):
                    continue
                score = product(atoms[column], residual[row]) + unused[column]
                if score < lowest[row] or (score == lowest[row] and column < vertex[row]):
                    lowest[row], vertex[row] = score, column


@kernel
def product(left: Floats, right: Floats) -> float:
    """Inner product, always summed in the same order."""
    total = 0.0
    for j in range(left.size):
        total += left[j] * right[j]
    return total


@kernel
def in_support(index: Ints, count: int, column: int) -> bool:
    """Whether the row has a pair for the column."""
    for p in range(count):
        if index[p] == column:
            return True
    return False


@reordering
def fill_scores(
    residual: Singles, atoms: Singles, unused: Singles, start: int, width: int, scores: Singles
) -> None:
    """Scores of one row against columns start … start + width; four terms of the sum at a time.

    The compiler vectorizes loops over whole arrays only, hence the views.
    """
    stop = start + width
    base = unused[start:stop]
    for c in range(width):
        scores[c] = base[c]
    fours = residual.size - residual.size % 4
    for j in range(0, fours, 4):
        r0, r1, r2, r3 = residual[j], residual[j + 1], residual[j + 2], residual[j + 3]
        a0, a1 = atoms[j, start:stop], atoms[j + 1, start:stop]
        a2, a3 = atoms[j + 2, start:stop], atoms[j + 3, start:stop]
        for c in range(width):
            scores[c] += r0 * a0[c] + r1 * a1[c] + r2 * a2[c] + r3 * a3[c]
    for j in range(fours, residual.size):
        r0 = residual[j]
        a0 = atoms[j, start:stop]
        for c in range(width):
            scores[c] += r0 * a0[c]


@reordering
def least(scores: Singles, width: int) -> float:
    """The smallest of the first scores."""
    smallest = np.float32(np.inf)
    for c in range(width):
        smallest = min(smallest, scores[c])
    return float(smallest)
