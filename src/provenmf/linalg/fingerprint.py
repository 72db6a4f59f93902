"""What a matrix is recognized by: its shape and a hash of its entries, however they are stored."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit
from provenmf.linalg.storage import Matrix, is_sparse

# A hash of the nonzero entries of a matrix that depends on no storage and no order.
#
# Each nonzero entry is mixed with its place into two 64-bit numbers, and those of all entries are
# added: zeros add nothing, so that dense and sparse blocks of any size agree.

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


def entry_hashes(block: Matrix, first_row: int) -> NDArray[np.uint64]:
    """Hashes of the nonzero entries of a block, added up; those of several blocks are added."""
    from provenmf.linalg.fingerprint import add_dense_hashes_in_place, add_sparse_hashes_in_place

    sums = np.zeros(2, dtype=np.uint64)
    if is_sparse(block):
        if not block.has_canonical_format:  # entries given twice are one entry
            block = block.copy()
            block.sum_duplicates()
        bits = block.data.astype(np.float64, copy=False).view(np.uint64)
        parts = block.indptr, block.indices, bits
        add_sparse_hashes_in_place(*parts, block.shape[1], first_row, sums)
    else:
        bits = np.ascontiguousarray(block, dtype=np.float64).view(np.uint64)
        add_dense_hashes_in_place(bits, first_row, sums)
    return sums


def fingerprint(shape: tuple[int, int], dtype: Any, hashes: NDArray[np.uint64]) -> str:
    """Shape, precision and digest in one line, e.g. "40x3 float64 9f2c…"."""
    name = f"{shape[0]}x{shape[1]}"
    digest = blake2b(name.encode() + hashes.astype("<u8").tobytes(), digest_size=16)
    return f"{name} {np.dtype(dtype).name} {digest.hexdigest()}"


def same_values(one: str, other: str) -> bool:
    """Whether two fingerprints are of equal matrices, in whatever precision they were stored."""
    a, b = one.split(), other.split()
    return len(a) == len(b) == 3 and (a[0], a[2]) == (b[0], b[2])
