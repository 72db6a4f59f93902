"""C as (index, value) pairs, and what its rows know of each other.

A row of C has few entries: they are kept one after the other, row by row. Rows know of each other
only through the columns of C, a few numbers each: the largest entries (`Columns`), of which the
penalty and its gradient follow (`Penalties`), and who gains most from a larger one (`Bids`). These
are found in every block of rows and added with `+`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block
from provenmf.methods.merit import kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
# The pairs of some rows one after the other, (index, value), the number of pairs of each row, and
# the number of the first row.
Pairs = tuple[Ints, Floats, Ints, NDArray[np.int64]]

ROOM = 16  # pairs by which the room for a row's pairs grows


@dataclass(frozen=True, eq=False)
class Columns:
    """Of each column of C: its two largest entries, and the row of the largest (or -1).

    mass : the sum over the rows of exp((entry - first) / mu).
    """

    first: Floats
    second: Floats
    holder: NDArray[np.int64]
    mass: Floats
    mu: float

    def __add__(self, following: Columns) -> Columns:
        """Join with the columns of rows that come after these."""
        higher = following.first > self.first
        first = np.maximum(self.first, following.first)
        return Columns(
            first,
            np.where(
                higher,
                np.maximum(self.first, following.second),
                np.maximum(self.second, following.first),
            ),
            np.where(higher, following.holder, self.holder),
            self.mass * np.exp((self.first - first) / self.mu)
            + following.mass * np.exp((following.first - first) / self.mu),
            self.mu,
        )


def columns_of(pairs: Pairs, size: int, mu: float) -> Columns:
    """Return the `size` columns of C in rows whose pairs are given."""
    padded = padded_pairs(pairs)
    first, second, holder = kernels.two_largest(*padded, size)
    holder = np.where(holder >= 0, holder + pairs[3][0], -1)
    return Columns(first, second, holder, kernels.column_masses(*padded, first, mu), mu)


@dataclass(frozen=True, eq=False)
class Bids:
    """For each column, the row that gains most from an entry above the column's largest.

    gain : how fast the objective falls as that row raises its entry; 0 if it does for no row.
    """

    gain: Floats
    row: NDArray[np.int64]

    def __add__(self, others: Bids) -> Bids:
        """Keep the larger gain of each column; of equal ones the lower row."""
        kept = (self.gain > others.gain) | ((self.gain == others.gain) & (self.row <= others.row))
        return Bids(np.where(kept, self.gain, others.gain), np.where(kept, self.row, others.row))


def no_bids(size: int) -> Bids:
    """Return columns for which no row bids."""
    return Bids(np.zeros(size), np.full(size, -1, dtype=np.int64))


class Penalties:
    """phi_mu of each column and its gradient, from the column's largest entry and its mass."""

    def __init__(self, lam: float, n: int, columns: Columns) -> None:
        self.lam, self.mu, self.n, self.columns = lam, columns.mu, n, columns
        self.top, self.mass = columns.first, columns.mass

    def total(self) -> float:
        """Return lam * sum of phi_mu over the columns; an unused column adds zero."""
        return self.lam * float((self.top + self.mu * np.log(self.mass / self.n)).sum())

    def of_absent_rows(self) -> Floats:
        """Return y of a row that does not use the column: 1/n if none does, else nearly zero."""
        return np.asarray(np.exp(-self.top / self.mu) / self.mass)


def pairs_of(weights: Floats, columns: NDArray[np.intp], first_row: int) -> Pairs:
    """Return dense weights on the given columns as pairs."""
    rows, places = np.nonzero(weights)
    count = np.bincount(rows, minlength=len(weights)).astype(np.int32)
    return columns[places].astype(np.int32), weights[rows, places], count, np.array([first_row])


def padded_pairs(pairs: Pairs, more: int = 0) -> tuple[Ints, Floats, Ints]:
    """Return pairs as the kernels want them: index and value (n, room), and the counts (n,).

    Every row has room for `more` pairs.
    """
    index, value, count, _ = pairs
    stored = np.arange(max(int(count.max(initial=0)) + more, ROOM)) < count[:, None]
    wide = np.zeros(stored.shape, dtype=np.int32), np.zeros(stored.shape)
    wide[0][stored], wide[1][stored] = index, value
    return *wide, np.array(count)


def no_pairs(block: Block, rows: range) -> Pairs:
    """Return the pairs of rows that use no atom."""
    n = block.shape[0]
    return np.empty(0, np.int32), np.empty(0), np.zeros(n, np.int32), np.array([rows.start])


def moved(alpha: float, pairs: Pairs, vertex: Ints) -> Pairs:
    """Move the rows of a block towards the best vertices that a pass found."""
    index, value, count = padded_pairs(pairs, 1)
    kernels.move_in_place(index, value, count, vertex, alpha)
    stored = np.arange(index.shape[1]) < count[:, None]
    return index[stored], value[stored], count, pairs[3]


def chosen_pairs(pairs: Pairs, rows: NDArray[np.int64]) -> Pairs:
    """Return the pairs of those of the given rows that are among these."""
    index, value, count, first_row = pairs
    local = rows - first_row
    local = local[(local >= 0) & (local < len(count))]
    chosen = np.zeros(len(count), dtype=bool)
    chosen[local] = True
    stored = np.repeat(chosen, count)
    return index[stored], value[stored], count[local], first_row
