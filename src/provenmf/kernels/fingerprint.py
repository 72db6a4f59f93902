"""A hash of the nonzero entries of a matrix that depends on no storage and no order.

Each nonzero entry is mixed with its place into two 64-bit numbers, and those of all entries are
added: zeros add nothing, so that dense and sparse blocks of any size agree.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Bits = NDArray[np.uint64]
Ints = NDArray[np.integer]


@njit(cache=True, nogil=True)
def mixed(bits: np.uint64, place: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Two hashes of one entry: odd multipliers and shifts, as in splitmix64."""
    one = bits * np.uint64(0x9E3779B97F4A7C15) + (place + np.uint64(1)) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    one ^= one >> np.uint64(31)
    one *= np.uint64(0x94D049BB133111EB)
    one ^= one >> np.uint64(29)
    two = one * np.uint64(0xD6E8FEB86659FD93)
    two ^= two >> np.uint64(32)
    two *= np.uint64(0xA0761D6478BD642F)
    return one, two ^ (two >> np.uint64(30))


@njit(cache=True, nogil=True)
def add_dense_hashes_in_place(bits: Bits, first_row: int, sums: Bits) -> None:
    """Add the hashes of the entries of dense rows; minus zero counts as zero."""
    rows, columns = bits.shape
    for i in range(rows):
        place = np.uint64(first_row + i) * np.uint64(columns)
        for j in range(columns):
            if bits[i, j] << np.uint64(1):
                one, two = mixed(bits[i, j], place + np.uint64(j))
                sums[0] += one
                sums[1] += two


@njit(cache=True, nogil=True)
def add_sparse_hashes_in_place(
    pointers: Ints, indices: Ints, bits: Bits, columns: int, first_row: int, sums: Bits
) -> None:
    """Add the hashes of the entries of CSR rows; stored zeros count as zeros."""
    for i in range(len(pointers) - 1):
        place = np.uint64(first_row + i) * np.uint64(columns)
        for p in range(pointers[i], pointers[i + 1]):
            if bits[p] << np.uint64(1):
                one, two = mixed(bits[p], place + np.uint64(indices[p]))
                sums[0] += one
                sums[1] += two
