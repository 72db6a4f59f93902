"""The variable of MERIT's problem: every data row as a mixture of dictionary rows.

C is kept as (index, value) pairs beside the blocks of rows; the rows of the dictionary, its
`atoms`, are sent to them. A pass sees one block at a time as `MixedRows`. The
objective is Nguyen22, Eq. (18), in our orientation,

    f(C) = 1/2 ||X - C X||_F^2 + lam * sum over columns n of phi_mu(C[:, n]),
    phi_mu(c) = mu * log( mean over rows of exp(c / mu) ),       rows of C on the simplex,

with C[:, n] = 0 for rows n outside the dictionary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Block, Blocks, Rows
from provenmf.linalg.norms import squared_row_norms
from provenmf.linalg.storage import as_dense, is_sparse
from provenmf.methods.merit import kernels, settings

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# C as pairs, and what its rows know of each other.
#
# A row of C has few entries: they are kept one after the other, row by row. Rows know of each other
# only through the columns of C, a few numbers each: the largest entries (`Columns`), of which the
# penalty and its gradient follow (`Penalties`), and who gains most from a larger one (`Bids`).
# These are found in every block of rows and added with `+`.

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


# Passes over the rows.


class Standing(NamedTuple):
    """f(C), the duality gap over the dictionary (NaN for C = 0), and the bids."""

    objective: float
    gap: float
    bids: Bids


class MixedRows:
    """Rows of X as mixtures of atoms, given by their pairs; all of it in this process.

    Products are computed slice by slice when they are needed: kept, they would not stay in the
    cache between two steps. Where the atoms are sparse, rows stay so: C is then multiplied by the
    inner products of the atoms.
    """

    def __init__(self, X: Block, pairs: Pairs, atoms: Block) -> None:
        self.X, self.atoms = X if is_sparse(atoms) else as_dense(X), atoms
        self.index, self.value, self.count = padded_pairs(pairs)
        self.first_row = int(pairs[3][0])
        self.slice_rows = max(1, settings.SETTINGS.slice_scores // atoms.shape[0])

    @cached_property
    def gram(self) -> Floats:
        """Inner products of the atoms."""
        return as_dense(self.atoms @ self.atoms.T)

    @property
    def n_rows(self) -> int:
        """Number of these rows."""
        return int(self.X.shape[0])

    def pairs(self) -> Pairs:
        """Return all pairs, without unused capacity."""
        stored = np.arange(self.index.shape[1]) < self.count[:, None]
        first_row = np.array([self.first_row])
        return self.index[stored], self.value[stored], self.count.copy(), first_row

    def put(self, rows: NDArray[np.int64], pairs: Pairs) -> None:
        """Set the pairs of the given rows, as far as they are among these."""
        local = rows - self.first_row
        here = (local >= 0) & (local < self.n_rows)
        index, value, count = padded_pairs(pairs)
        room = index.shape[1]
        self._reserve(room)
        self.index[local[here], :room] = index[here]
        self.value[local[here], :room] = value[here]
        self.count[local[here]] = count[here]

    def mixed(self, rows: slice, points: NDArray[Any]) -> Floats:
        """Return C @ points in a slice of rows."""
        count = self.count[rows]
        out = np.empty((len(count), points.shape[1]))
        kernels.mix_in_place(self.index[rows], self.value[rows], count, points, out)
        return out

    def slopes(self, rows: slice, used: Any = slice(None)) -> tuple[Floats, Floats]:
        """Return <x_n, c X - x> for a slice of rows and the atoms n `used`, and ||c X - x||^2."""
        block = self.X[rows]
        if is_sparse(block):
            mixed = self.mixed(rows, self.gram)
            slope = mixed - as_dense(block @ self.atoms.T)
            squared = squared_row_norms(block) + self.inner(rows, 2 * slope - mixed)
            return slope[:, used], np.maximum(squared, 0.0)
        residual = self.mixed(rows, self.atoms) - block
        return residual @ self.atoms[used].T, squared_row_norms(residual)

    def inner(self, rows: slice, values: Floats) -> Floats:
        """Return <c, values> for each row of a slice, from the values of all atoms."""
        stored = np.take_along_axis(values, self.index[rows].astype(np.intp), axis=1)
        stored[np.arange(stored.shape[1]) >= self.count[rows, None]] = 0.0
        return np.asarray(np.einsum("ij,ij->i", self.value[rows], stored))

    def squared_residuals(self) -> Floats:
        """Return ||x - c X||^2 of every row."""
        squared = np.empty(self.n_rows)

        def measure(rows: slice) -> None:
            squared[rows] = self.slopes(rows)[1]

        for_row_slices(measure, self.n_rows, slice_rows=self.slice_rows)
        return squared

    def search(self, penalties: Penalties, *, bidding: bool) -> tuple[Ints, Floats, Floats, Bids]:
        """Find each row's best vertex (Algorithm 1, l. 13-17).

        Returns the vertices, <c, gradient> minus the gradient at the vertex, ||x - c X||^2, and
        the bids of these rows; none if they are not `bidding`.
        """
        vertex = np.empty(self.n_rows, dtype=np.int32)
        gap, squared = np.empty((2, self.n_rows))
        # The slope of the penalty for rows that do not use a column: lam / n if no row does.
        unused = penalties.lam * (np.exp(-penalties.top / penalties.mu) / penalties.mass)
        bids = [no_bids(self.atoms.shape[0])]

        def search_slice(rows: slice) -> None:
            scores, squared[rows] = self.slopes(rows)
            pairs = self.index[rows], self.value[rows], self.count[rows]
            if bidding:
                found = no_bids(len(unused))
                kernels.note_bids_in_place(
                    scores, self.first_row + rows.start, *pairs,
                    penalties.top, penalties.lam, found.gain, found.row,
                )  # fmt: skip
                bids.append(found)
            scores += unused
            kernels.price_in_place(
                scores, *pairs,
                penalties.top, penalties.mass, penalties.lam, penalties.mu, gap[rows],
            )  # fmt: skip
            vertex[rows] = scores.argmin(axis=1)
            gap[rows] -= np.take_along_axis(scores, vertex[rows, None], axis=1)[:, 0]

        for_row_slices(search_slice, self.n_rows, slice_rows=self.slice_rows)
        return vertex, gap, squared, reduce(add, bids)

    def step_in_turn(
        self, rows: NDArray[np.int64], penalties: Penalties, tolerance: float, steps: int
    ) -> Floats:
        """Make pairwise steps in these few rows one after the other.

        Returns the largest entry of each column thereafter. `rows` are their numbers among the rows
        of which the penalties are.
        """
        self._reserve(int(self.count.max(initial=0)) + steps)
        columns = penalties.columns
        caps = columns.first.copy()
        kernels.sweep_in_place(
            self.slopes(slice(None))[0], self.gram, rows,
            self.index, self.value, self.count,
            caps, columns.second.copy(), columns.holder.copy(), penalties.lam, tolerance, steps,
        )  # fmt: skip
        return caps

    def step_below(self, caps: Floats, tolerance: float, steps: int) -> None:
        """Make pairwise steps in all rows that raise no entry above its column's cap.

        Columns without a cap are left out.
        """
        self._reserve(int(self.count.max()) + steps)
        used = np.flatnonzero(caps).astype(np.int32)
        place = np.zeros(len(caps), dtype=np.int32)
        place[used] = np.arange(len(used))
        gram = self.gram[np.ix_(used, used)]

        def step_slice(rows: slice) -> None:
            index = place[self.index[rows]]
            kernels.fill_in_place(
                self.slopes(rows, used)[0], gram,
                index, self.value[rows], self.count[rows], caps[used], tolerance, steps,
            )  # fmt: skip
            self.index[rows] = used[index]

        for_row_slices(step_slice, self.n_rows, slice_rows=self.slice_rows)

    def _reserve(self, pairs: int) -> None:
        """Make room for this many pairs in every row."""
        room = self.index.shape[1]
        if pairs > room:
            more = ((0, 0), (0, -(-(pairs - room) // ROOM) * ROOM))
            self.index, self.value = np.pad(self.index, more), np.pad(self.value, more)


class Mixture:
    """All rows of `blocks` as mixtures of `dictionary` (row numbers), starting from C = 0."""

    def __init__(self, blocks: Blocks, dictionary: NDArray[np.intp]) -> None:
        self.blocks = blocks
        self._vertices: Rows | None = None
        self._set_dictionary(dictionary)

    def _set_dictionary(self, dictionary: NDArray[np.intp]) -> None:
        self.dictionary = dictionary
        atoms = self.blocks.take(dictionary).astype(np.float64)
        dense = not is_sparse(atoms) or atoms.nnz > settings.SETTINGS.dense_share * math.prod(
            atoms.shape
        )
        self.atoms = as_dense(atoms) if dense else atoms

    @cached_property
    def pairs(self) -> Rows:
        """Nonzero entries of C, stored block by block; empty before they are set."""
        return self.blocks.keep(no_pairs, range(self.n_rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.blocks.n_rows

    def change(self, function: Callable[[MixedRows], None]) -> None:
        """Let the function change the rows of each block."""

        def changed(rows: MixedRows) -> Pairs:
            function(rows)
            return rows.pairs()

        self.pairs = self.blocks.keep(partial(_call_mixed, changed, self.atoms), self.pairs)

    def start_from(self, columns: NDArray[np.intp], mixtures: Rows) -> None:
        """Set C to the given weights on columns of the dictionary; see `start.Start`."""
        self.pairs = mixtures.map(lambda part: pairs_of(part[0], columns, int(part[2][0])))

    def squared_residuals(self) -> Floats:
        """Return ||x - c X||^2 of every row."""
        function = partial(_call_mixed, MixedRows.squared_residuals, self.atoms)
        return self.blocks.map_rows(function, self.pairs)

    def penalties(self, lam: float, mu: float) -> Penalties:
        """Return the state of the columns that the gradient of the penalty needs."""
        size = len(self.dictionary)
        columns: Columns = self.pairs.sum(lambda pairs: columns_of(pairs, size, mu))
        return Penalties(lam, self.n_rows, columns)

    def standing(self, penalties: Penalties, *, bidding: bool = False) -> Standing:
        """Measure C in one pass; the best vertex of each row is kept for `move`.

        Only a pairwise sweep needs the bids.
        """

        def of_block(rows: MixedRows) -> tuple[tuple[float, float, Bids], Ints]:
            vertex, gap, squared, bids = rows.search(penalties, bidding=bidding)
            return (float(gap.sum()), float(squared.sum()), bids), vertex

        function = partial(_call_mixed, of_block, self.atoms)
        (gap, squared, bids), self._vertices = self.blocks.sum_and_keep(function, self.pairs)
        nothing = not penalties.top.any()
        return Standing(0.5 * squared + penalties.total(), np.nan if nothing else gap, bids)

    def move(self, alpha: float) -> None:
        """Move all rows: C <- (1 - alpha) C + alpha e_vertex (Algorithm 1, line 18)."""
        assert self._vertices is not None
        self.pairs = self.pairs.map(partial(moved, alpha), self._vertices)

    def part(self, rows: NDArray[np.int64]) -> MixedRows:
        """Return some rows with their mixtures."""
        index, value, count, _ = zip(*self.pairs.each(lambda pairs: chosen_pairs(pairs, rows)))
        join = np.concatenate
        pairs = join(index), join(value), join(count), np.zeros(1, dtype=np.int64)
        return MixedRows(self.blocks.take(rows), pairs, self.atoms)

    def extend_dictionary(self, rows: NDArray[np.intp]) -> None:
        """Let more rows be vertices; C stays as it is."""
        dictionary = np.union1d(self.dictionary, rows)
        moved = np.searchsorted(dictionary, self.dictionary).astype(np.int32)
        self.pairs = self.pairs.map(lambda pairs: (moved[pairs[0]], *pairs[1:]))
        self._set_dictionary(dictionary)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint needs."""
        index, value, count, _ = zip(*self.pairs.each(lambda pairs: pairs))
        arrays = {"index": index, "value": value, "count": count}
        joined = {name: np.concatenate(parts) for name, parts in arrays.items()}
        return {"dictionary": self.dictionary, **joined}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Restore the state saved in a checkpoint."""
        self._set_dictionary(saved["dictionary"])
        index, value, count = saved["index"], saved["value"], saved["count"]
        stops = np.cumsum(count)

        def of_rows(_: Block, rows: range, counts: Ints, stop: NDArray[np.intp]) -> Pairs:
            stored = slice(int(stop[0] - counts[0]), int(stop[-1]))
            return index[stored], value[stored], counts, np.array([rows.start])

        self.pairs = self.blocks.keep(of_rows, range(self.n_rows), count, stops)


def _call_mixed(
    function: Callable[[MixedRows], Any], atoms: Block, block: Block, pairs: Pairs
) -> Any:
    """Call the function with the rows of a block and their mixtures."""
    return function(MixedRows(block, pairs, atoms))
