"""What MERIT's rows have to know of each other: the columns of C, a few numbers each.

What is found in some rows and in others is put together with `+`, on whichever side it was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """Of each column of C in some rows: its two largest entries, and the row of the largest or -1.

    mass : the sum over the rows of exp((entry - first) / mu).
    """

    first: Floats
    second: Floats
    holder: Numbers
    mass: Floats
    mu: float

    def __add__(self, following: Columns) -> Columns:
        """The columns in these rows and in rows that come after them."""
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


def columns_of(
    index: NDArray[np.int32],
    value: Floats,
    count: NDArray[np.int32],
    *,
    first_row: int,
    size: int,
    mu: float,
) -> Columns:
    """The columns of C, `size` of them, in rows whose pairs are given."""
    from provenmf.methods.merit.kernels import column_masses, two_largest

    first, second, holder = two_largest(index, value, count, size)
    holder = np.where(holder >= 0, holder + first_row, -1)
    return Columns(first, second, holder, column_masses(index, value, count, first, mu), mu)


@dataclass(frozen=True, eq=False)
class Wishes:
    """For each column, which of some rows gains most from an entry above the column's largest.

    gain : how fast the objective falls as that row raises its entry; 0 if it does for no row.
    """

    gain: Floats
    row: Numbers

    def __add__(self, others: Wishes) -> Wishes:
        """The larger wish of each column; of equal ones the lower row."""
        kept = (self.gain > others.gain) | ((self.gain == others.gain) & (self.row <= others.row))
        return Wishes(np.where(kept, self.gain, others.gain), np.where(kept, self.row, others.row))


def no_wishes(size: int) -> Wishes:
    """Nobody wishes anything of so many columns."""
    return Wishes(np.zeros(size), np.full(size, -1, dtype=np.int64))


class Penalties:
    """phi_mu of each column and its gradient, from the column's largest entry and its mass."""

    def __init__(self, lam: float, n: int, columns: Columns) -> None:
        self.lam, self.mu, self.n, self.columns = lam, columns.mu, n, columns
        self.top, self.mass = columns.first, columns.mass

    def total(self) -> float:
        """lam * sum of phi_mu over the columns; an unused column adds zero."""
        return self.lam * float((self.top + self.mu * np.log(self.mass / self.n)).sum())

    def of_absent_rows(self) -> NDArray[Any]:
        """y of a row that does not use the column: 1/n if nobody does, else nearly zero."""
        return np.asarray(np.exp(-self.top / self.mu) / self.mass)
