"""Validation of a matrix outside memory in one pass, its scale, and what it is recognized by.

Methods and certificates form squares and fourth powers of entries. In single precision those leave
the range of numbers from 1e10 on, so such data are computed in double precision. In double
precision nothing is lost up to 1e60; beyond that a matrix is refused, with the factor that makes it
usable, since parameters in the units of the data (a start, a noise level) must be scaled with it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from provenmf.data.base import Block, Blocks, MappedBlocks, tree_sum
from provenmf.data.memory import ObservedBlocks
from provenmf.errors import InvalidInput
from provenmf.linalg.fingerprint import RowHashes, fingerprint, row_hashes, same_values
from provenmf.linalg.norms import entry_range
from provenmf.linalg.storage import check_scale, is_sparse, largest_of, stored_values

# Beyond this, and below one over it, squares of squares leave single precision.
LARGEST_IN_SINGLE = 1e9


class Entries(NamedTuple):
    """Counts of entries that methods may refuse, and the largest absolute value.

    Attributes
    ----------
    invalid, missing, negative : int
        Entries that are not finite, those of them that are NaN, and entries below zero.
    largest : float
    where : str
        Row and block of the first entry that is not finite, counted from 0, in words.
    """

    invalid: int
    missing: int
    negative: int
    largest: float
    where: str


def examine_entries(blocks: Blocks) -> Entries:
    """Examine all entries in one pass; blocks that may differ later get their fingerprint."""
    look = _examined_and_hashed if blocks.may_differ else _examined
    seen = list(blocks.each(look, range(blocks.n_rows)))
    if blocks.may_differ:
        hashes = tree_sum(found[1] for _, _, found in seen)
        blocks.first_seen = fingerprint(blocks.shape, blocks.dtype, hashes)
        seen = [(start, stop, found[0]) for start, stop, found in seen]
    found = np.array([counts for _, _, counts in seen])
    invalid, negative, missing = found[:, [0, 1, 3]].sum(axis=0).astype(int).tolist()
    number = int(np.argmax(found[:, 0] > 0))
    row = int(seen[number][0] + found[number, 4])
    where = f", the first of them in row {row} (block {number})" if invalid else ""
    return Entries(invalid, missing, negative, float(found[:, 2].max()), where)


def _examined_and_hashed(block: Block, rows: range) -> tuple[Any, RowHashes]:
    return _examined(block, rows), row_hashes(block, rows.start)


def _examined(block: Block, rows: range) -> tuple[int, int, float, int, int]:
    """Count entries not finite and below zero, the largest absolute value, NaN, the first bad row.

    Data that are finite and nonnegative, as most are, show it by their least and largest entry.
    """
    values = stored_values(block)
    least, largest = entry_range(block)
    if least >= 0 and np.isfinite(largest):
        return 0, 0, largest, 0, 0
    bad = ~np.isfinite(values)
    invalid, missing, row = int(np.count_nonzero(bad)), 0, 0
    if invalid:
        missing = int(np.count_nonzero(np.isnan(values)))
        place = int(np.argmax(bad))
        row = (
            int(np.searchsorted(block.indptr, place, "right")) - 1
            if is_sparse(block)
            else place // bad.shape[1]
        )
    return invalid, int(np.count_nonzero(values < 0)), max(largest, -least), missing, row


def at_safe_scale(blocks: Blocks, largest: float | None = None) -> Blocks:
    """Return the data in double precision if single does not reach, or refuse them.

    `largest` is the largest absolute value, if a pass has found it already.
    """
    if largest is None:
        largest = max((size for _, _, size in blocks.each(largest_of)), default=0.0)
    check_scale(largest)
    in_reach = largest == 0 or 1 / LARGEST_IN_SINGLE <= largest <= LARGEST_IN_SINGLE
    return blocks if in_reach or blocks.dtype != np.float32 else blocks.in_double_precision()


def divided(blocks: Blocks, unit: float) -> Blocks:
    """Divide the data by a power of two, in double precision: the same digits in a safer range."""
    return MappedBlocks(blocks, partial(_divided, unit), dtype=np.dtype(np.float64))


def _divided(unit: float, block: Block) -> Block:
    return block.astype(np.float64) * (1.0 / unit)


def check_unchanged(first: str, last: str, where: str = "X") -> None:
    """Refuse an answer if the data at its end are not those at its beginning."""
    if not same_values(first, last):
        raise InvalidInput(
            f"{where} changed while it was read: it was {first} at first and is {last} now; fit "
            "again while nothing writes to it, with chunks that are the same each time (persist)"
        )


def fingerprint_of(blocks: Blocks) -> str:
    """Return shape, precision and a hash of the entries; equal matrices have equal ones."""
    found = blocks.map_reduce(_hashed, range(blocks.n_rows))
    if isinstance(blocks, ObservedBlocks):  # a missing entry is not a zero
        return fingerprint(blocks.shape, blocks.dtype, found, row_hashes(blocks.places, 0))
    return fingerprint(blocks.shape, blocks.dtype, found)


def _hashed(block: Block, rows: range) -> RowHashes:
    return row_hashes(block, rows.start)
