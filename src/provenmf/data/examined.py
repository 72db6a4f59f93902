"""What a pass finds wrong with the entries of blocks, wherever they live."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.data.base import Block, Blocks, tree_sum
from provenmf.linalg.fingerprint import entry_hashes, fingerprint
from provenmf.linalg.norms import entry_range
from provenmf.linalg.storage import is_sparse, stored_values


class Examined(NamedTuple):
    """Counts of entries, and the largest absolute value.

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


def examined(blocks: Blocks) -> Examined:
    """One pass over all entries; blocks that may differ later are told what they were."""
    if blocks.may_differ:
        passed = list(blocks.each(_examined_and_hashed, range(blocks.n_rows)))
        hashes = tree_sum(found[1] for _, _, found in passed)
        blocks.first_seen = fingerprint(blocks.shape, blocks.dtype, hashes)
        seen = [(start, *found[0]) for start, _, found in passed]
    else:
        seen = [(start, *found) for start, _, found in blocks.each(_examined)]
    found = np.array(seen)[:, 1:]
    invalid, negative, missing = found[:, [0, 1, 3]].sum(axis=0).astype(int).tolist()
    number = int(np.argmax(found[:, 0] > 0))
    row = int(seen[number][0] + found[number, 4])
    where = f", the first of them in row {row} (block {number})" if invalid else ""
    return Examined(invalid, missing, negative, float(found[:, 2].max()), where)


def _examined_and_hashed(block: Block, rows: range) -> tuple[Any, NDArray[np.uint64]]:
    return _examined(block), entry_hashes(block, rows.start)


def _examined(block: Block) -> tuple[int, int, float, int, int]:
    """Entries not finite and below zero, the largest absolute value, how many NaN, the first row.

    The first row is that with an entry that is not finite. Data that are finite and nonnegative,
    as most are, show it by their least and largest entry, which also tell a NaN.
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
