"""Fingerprint a matrix: its shape and a cryptographic hash of its entries, however it is stored.

Rows are written in one form that depends on their values alone: the number of nonzero entries,
their columns and their bits, or, where more than half of the entries are nonzero, -1 and all bits.
Groups of consecutive rows are hashed by BLAKE2b, keyed by the number of the group, and the digests
of all groups are hashed again with the shape. Blocks may end anywhere: rows of a group that other
blocks complete are kept as they are until the parts meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit
from provenmf.linalg.storage import Matrix, is_sparse

Bits = NDArray[np.int64]
Ints = NDArray[np.integer]

DIGEST = 16  # bytes
DENSE = -1  # stands before a row all of whose entries follow


@njit(cache=True, nogil=True)
def write_dense_rows(bits: Bits, offsets: Bits, out: Bits) -> None:
    """Write dense rows one after the other; `offsets` gets the end of each. Minus zero is zero."""
    rows, columns = bits.shape
    end = 0
    for i in range(rows):
        count = 0
        for j in range(columns):
            count += (bits[i, j] << 1) != 0
        if 2 * count > columns:
            out[end] = DENSE
            for j in range(columns):
                out[end + 1 + j] = bits[i, j] if (bits[i, j] << 1) != 0 else 0
            end += 1 + columns
        else:
            out[end] = count
            place = end + 1
            for j in range(columns):
                if (bits[i, j] << 1) != 0:
                    out[place] = j
                    out[place + count] = bits[i, j]
                    place += 1
            end += 1 + 2 * count
        offsets[i + 1] = end


@njit(cache=True, nogil=True)
def write_sparse_rows(
    pointers: Ints, indices: Ints, bits: Bits, columns: int, offsets: Bits, out: Bits
) -> None:
    """Write CSR rows with sorted columns in the same form; stored zeros count as zeros."""
    end = 0
    for i in range(len(pointers) - 1):
        count = 0
        for p in range(pointers[i], pointers[i + 1]):
            count += (bits[p] << 1) != 0
        dense = 2 * count > columns
        if dense:
            out[end] = DENSE
            out[end + 1 : end + 1 + columns] = 0
        else:
            out[end] = count
        place = end + 1
        for p in range(pointers[i], pointers[i + 1]):
            if (bits[p] << 1) != 0:
                if dense:
                    out[end + 1 + indices[p]] = bits[p]
                else:
                    out[place] = indices[p]
                    out[place + count] = bits[p]
                    place += 1
        end += 1 + columns if dense else 1 + 2 * count
        offsets[i + 1] = end


@dataclass(frozen=True)
class RowHashes:
    """Hashes of some rows; those of neighboring blocks are added.

    size : rows of a group.
    groups : digest of each complete group, by its number.
    open : for a group that is not complete, its rows so far: (number of rows, first row, bytes).
    """

    size: int
    groups: dict[int, bytes]
    open: dict[int, tuple[tuple[int, int, bytes], ...]]

    def __add__(self, other: RowHashes) -> RowHashes:
        groups = self.groups | other.groups
        unfinished = {
            number: self.open.get(number, ()) + other.open.get(number, ())
            for number in self.open.keys() | other.open.keys()
        }
        for number, parts in list(unfinished.items()):
            if sum(part[0] for part in parts) == self.size:
                groups[number] = _digest(number, parts)
                del unfinished[number]
        return RowHashes(self.size, groups, unfinished)

    def digests(self) -> bytes:
        """Return the digests of all groups in their order; the last one may be short."""
        whole = self.groups | {number: _digest(number, p) for number, p in self.open.items()}
        return b"".join(whole[number] for number in sorted(whole))


def _digest(number: int, parts: tuple[tuple[int, int, bytes | memoryview], ...]) -> bytes:
    """Hash the rows of one group, keyed by its place."""
    made = blake2b(digest_size=DIGEST, key=number.to_bytes(8, "little"))
    for _, _, content in sorted(parts, key=lambda part: part[1]):
        made.update(content)
    return made.digest()


def row_hashes(block: Matrix, first_row: int) -> RowHashes:
    """Return the hashes of a block of rows that begins at `first_row`."""
    rows, columns = block.shape
    size = max(64, 8192 // max(columns, 1))
    found = RowHashes(size, {}, {})
    step = max(size, (1 << 18) // max(columns, 1))
    for start in range(0, rows, step):
        part = block[start : start + step]
        content, offsets = _written(part)
        edges = [*range(size - (first_row + start) % size, len(offsets) - 1, size)]
        groups: dict[int, bytes] = {}
        unfinished: dict[int, tuple[tuple[int, int, bytes], ...]] = {}
        for a, b in zip([0, *edges], [*edges, len(offsets) - 1], strict=True):
            number, row = divmod(first_row + start + a, size)
            piece = content[offsets[a] : offsets[b]]
            if b - a == size:
                groups[number] = _digest(number, ((size, row, piece.data),))
            elif b > a:
                unfinished[number] = ((b - a, row, piece.tobytes()),)
        found = found + RowHashes(size, groups, unfinished)
    return found


def _written(block: Matrix) -> tuple[Bits, Bits]:
    """Return the rows of a block in one form, and where each of them ends."""
    rows, columns = block.shape
    offsets = np.zeros(rows + 1, dtype=np.int64)
    if is_sparse(block):
        if not block.has_canonical_format:  # entries given twice are one entry
            block = block.copy()
            block.sum_duplicates()
        bits = block.data.astype(np.float64, copy=False).view(np.int64)
        # a row of s entries takes 1 + 2 s numbers; where 2 s > columns, 1 + columns is less
        out = np.empty(rows + 2 * block.nnz, dtype=np.int64)
        write_sparse_rows(block.indptr, block.indices, bits, columns, offsets, out)
    else:
        bits = np.ascontiguousarray(block, dtype=np.float64).view(np.int64)
        out = np.empty(rows * (1 + columns), dtype=np.int64)
        write_dense_rows(bits, offsets, out)
    return out, offsets


def fingerprint(shape: tuple[int, int], dtype: Any, *hashes: RowHashes) -> str:
    """Return shape, precision and digest in one line, e.g. "40x3 float64 9f2c…"."""
    name = f"{shape[0]}x{shape[1]}"
    made = blake2b(name.encode(), digest_size=DIGEST)
    for rows in hashes:
        made.update(rows.digests())
    return f"{name} {np.dtype(dtype).name} {made.hexdigest()}"


def same_values(one: str, other: str) -> bool:
    """Return whether two fingerprints are of equal matrices, in whatever precision."""
    a, b = one.split(), other.split()
    return len(a) == len(b) == 3 and (a[0], a[2]) == (b[0], b[2])
