"""Products of a CSR matrix with a narrow dense one, row range by row range."""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]


@njit(cache=True, nogil=True)
def multiply_rows_in_place(
    pointers: Ints, columns: Ints, values: Floats, right: Floats, start: int, stop: int, out: Floats
) -> None:
    """out[r] = (row r of the CSR matrix) @ right, for r in start .. stop-1."""
    k = right.shape[1]
    for r in range(start, stop):
        target = out[r]
        for j in range(k):
            target[j] = 0.0
        for p in range(pointers[r], pointers[r + 1]):
            value, source = values[p], right[columns[p]]
            for j in range(k):
                target[j] += value * source[j]


@njit(cache=True, nogil=True)
def add_transposed_product_in_place(
    pointers: Ints, columns: Ints, values: Floats, left: Floats, start: int, stop: int, out: Floats
) -> None:
    """out += (rows start .. stop-1 of the CSR matrix)' @ left[start:stop]."""
    k = left.shape[1]
    for r in range(start, stop):
        source = left[r]
        for p in range(pointers[r], pointers[r + 1]):
            value, target = values[p], out[columns[p]]
            for j in range(k):
                target[j] += value * source[j]
