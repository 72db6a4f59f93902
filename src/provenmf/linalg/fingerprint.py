"""What a matrix is recognized by: its shape and a hash of its entries, however they are stored."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.storage import Matrix, is_sparse


def entry_hashes(block: Matrix, first_row: int) -> NDArray[np.uint64]:
    """Hashes of the nonzero entries of a block, added up; those of several blocks are added."""
    from provenmf.kernels.fingerprint import add_dense_hashes_in_place, add_sparse_hashes_in_place

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
