"""A part of large data that is small enough for a full singular value decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.linalg.norms import squared_row_norms

# Larger data are judged by a sample of their rows and columns, with so many entries at the most.
MOST_ENTRIES = 200_000
FEWEST_SIDE = 100  # of a sample


def moderate_part(
    blocks: Blocks, rng: np.random.Generator, most: int = MOST_ENTRIES
) -> tuple[Block, NDArray[np.intp]]:
    """Rows at random, and which columns have the most energy; small data are taken as they are."""
    n, d = blocks.shape
    if n * d <= most:
        return blocks.everything(), np.arange(d)
    side = max(FEWEST_SIDE, int(np.sqrt(most)))
    n_columns = min(d, max(side, most // n))
    n_rows = min(n, max(1, most // n_columns))
    rows = np.sort(rng.choice(n, n_rows, replace=False))
    energy = np.nan_to_num(_column_energy(blocks))
    columns = np.sort(np.argsort(-energy, kind="stable")[:n_columns])
    return blocks.take(rows) if n_rows < n else blocks.everything(), columns


def _column_energy(blocks: Blocks) -> NDArray[np.float64]:
    """Sum of squares of each column."""

    def squares(block: Any) -> NDArray[np.float64]:
        return np.asarray(squared_row_norms(block.T.tocsr() if blocks.is_sparse else block.T))

    return np.asarray(blocks.map_reduce(squares))
