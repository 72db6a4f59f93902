"""What a matrix is recognized by, found in one pass over its blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data.base import Block, Blocks
from provenmf.data.observed import ObservedBlocks
from provenmf.errors import InvalidInput
from provenmf.linalg.fingerprint import entry_hashes, fingerprint, same_values


def check_unchanged(first: str, last: str, where: str = "X") -> None:
    """Refuse an answer if the data at its end are not those at its beginning."""
    if not same_values(first, last):
        raise InvalidInput(
            f"{where} changed while it was read: it was {first} at first and is {last} now; fit "
            "again while nothing writes to it, with chunks that are the same each time (persist)"
        )


def fingerprint_of(blocks: Blocks) -> str:
    """Shape, precision and a hash of the entries; equal matrices have equal ones."""

    def hashes(block: Block, row: NDArray[np.intp]) -> NDArray[np.uint64]:
        return entry_hashes(block, int(row[0]))

    found = blocks.map_reduce(hashes, np.arange(blocks.n_rows))
    if isinstance(blocks, ObservedBlocks):  # a missing entry is not a zero
        found = found + entry_hashes(blocks.places, 0)
    return fingerprint(blocks.shape, blocks.dtype, found)
