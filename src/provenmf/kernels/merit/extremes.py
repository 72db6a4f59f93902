"""Which rows reach farthest in many directions, and in the opposite ones."""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Singles = NDArray[np.float32]


@njit(cache=True, nogil=True, error_model="numpy")
def note_extremes_in_place(
    along: Singles, first_row: int, best: Singles, where: NDArray[np.int32]
) -> None:
    """Note rows that reach farther than those before them.

    `along` is how far rows from `first_row` on reach (rows, directions); `best` and `where`
    (2, directions) are how far the farthest row reaches in each direction and in its opposite, and
    its number. Both are always written, without a branch, so that the loop is vectorized.
    """
    up, down = best[0], best[1]
    up_row, down_row = where[0], where[1]
    for r in range(along.shape[0]):
        row, reach = np.int32(first_row + r), along[r]
        for c in range(reach.size):
            farther = reach[c] > up[c]
            up_row[c] = row if farther else up_row[c]
            up[c] = reach[c] if farther else up[c]
            farther = -reach[c] > down[c]
            down_row[c] = row if farther else down_row[c]
            down[c] = -reach[c] if farther else down[c]
