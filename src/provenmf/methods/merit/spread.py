"""The mixture of very many rows: each block mixes its rows where it is, the dictionary travels.

Memory, disk and a cluster alike hold the pairs of C beside their blocks; what is fitted to a row is
computed from them when it is needed. The client sees the dictionary, its columns of C (some hundred
numbers each), the few rows that take turns in a sweep, and now and then one number for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, Rows
from provenmf.linalg.storage import as_dense
from provenmf.methods.merit.columns import Columns, Penalties, Wishes, columns_of
from provenmf.methods.merit.mixture import (
    Mixture,
    Pairs,
    Standing,
    padded,
    pairs_of,
    precision_of_search,
)

Floats = NDArray[np.float64]


class SpreadMixture:
    """All rows of `blocks` as mixtures of `dictionary` (row numbers)."""

    def __init__(self, blocks: Blocks, dictionary: NDArray[np.intp]) -> None:
        self.blocks = blocks
        self._set_dictionary(dictionary)

    @cached_property
    def pairs(self) -> Rows:
        """The pairs of C beside the blocks, none before they are set: only then it takes a pass."""
        return self.blocks.keep(_no_pairs, range(self.n_rows))

    def _set_dictionary(self, dictionary: NDArray[np.intp]) -> None:
        self.dictionary = dictionary
        self.atoms = self.rows(dictionary).astype(np.float64)

    @property
    def n_rows(self) -> int:
        """How many rows are mixed."""
        return self.blocks.n_rows

    def rows(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Rows of the data, brought here."""
        return as_dense(self.blocks.take(numbers))

    @property
    def _shared(self) -> tuple[Floats, type[np.floating]]:
        """What every block has to know."""
        return self.atoms, precision_of_search(self.n_rows, len(self.dictionary))

    def map_rows(self, function: Callable[..., Any], *arrays: NDArray[Any]) -> NDArray[Any]:
        """One result per row: `function(mixture of some rows, *slices)`."""
        return self.blocks.map_rows(partial(_mixed, function, *self._shared), self.pairs, *arrays)

    def map_reduce(self, function: Callable[..., Any], *arrays: NDArray[Any]) -> Any:
        """The sum of what `function(mixture of some rows, *slices)` returns."""
        return self.blocks.map_reduce(partial(_mixed, function, *self._shared), self.pairs, *arrays)

    def start_from(self, columns: NDArray[np.intp], mixtures: Rows) -> None:
        """Set C to the given weights on columns of the dictionary; see `start.Explanation`."""
        self.pairs = mixtures.map(lambda part: pairs_of(part[0], columns, int(part[2][0])))

    def squared_residuals(self) -> Floats:
        """||x - c X||^2 of every row."""
        return self.map_rows(lambda mixture: mixture.squared_residuals())

    def penalties(self, lam: float, mu: float) -> Penalties:
        """State of the columns, from those of the blocks."""
        size = len(self.dictionary)
        found = self.pairs.each(lambda pairs: _columns_in(pairs, size, mu))
        return Penalties(lam, self.n_rows, reduce(add, found))

    def standing(self, penalties: Penalties) -> Standing:
        """Where C is, in one pass."""

        def of_block(mixture: Mixture) -> tuple[float, float, Wishes]:
            found: list[Wishes] = []
            search = mixture.search(penalties, found)
            gap = float((search.inner - search.lowest).sum())
            return gap, float(search.squared.sum()), reduce(add, found)

        gap, squared, wishes = self.map_reduce(of_block)
        return Standing(0.5 * squared + penalties.total(), gap, wishes)

    def part(self, rows: NDArray[np.int64]) -> Mixture:
        """The mixture of some rows, in double precision, brought here."""
        index, value, count, _ = zip(*self.pairs.each(lambda pairs: _of_rows(pairs, rows)))
        X, size = self.rows(rows), len(self.dictionary)
        some = Mixture(X, np.arange(size), atoms=self.atoms, search_type=np.float64)
        join = np.concatenate
        some.set_pairs((join(index), join(value), join(count), np.zeros(1, dtype=np.int64)))
        return some

    def change(self, function: Callable[[Mixture], None]) -> None:
        """Let the function change the mixture of each block."""

        def changed(mixture: Mixture) -> Pairs:
            function(mixture)
            return mixture.pairs()

        self.pairs = self.blocks.keep(partial(_mixed, changed, *self._shared), self.pairs)

    def extend_dictionary(self, rows: NDArray[np.intp]) -> None:
        """Let more rows be vertices; C stays as it is."""
        dictionary = np.union1d(self.dictionary, rows)
        moved = np.searchsorted(dictionary, self.dictionary).astype(np.int32)
        self.pairs = self.pairs.map(lambda pairs: (moved[pairs[0]], *pairs[1:]))
        self._set_dictionary(dictionary)

    def kept(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint needs."""
        index, value, count, _ = zip(*self.pairs.each(lambda pairs: pairs))
        arrays = {"index": index, "value": value, "count": count}
        joined = {name: np.concatenate(parts) for name, parts in arrays.items()}
        return {"dictionary": self.dictionary, **joined}

    def restore(self, kept: dict[str, NDArray[Any]]) -> None:
        """Stand where a checkpoint was written."""
        self._set_dictionary(kept["dictionary"])
        index, value, count = kept["index"], kept["value"], kept["count"]
        stops = np.cumsum(count)

        def of_rows(
            _: Block, rows: range, counts: NDArray[np.int32], stop: NDArray[np.intp]
        ) -> Pairs:
            stored = slice(int(stop[0] - counts[0]), int(stop[-1]))
            return index[stored], value[stored], counts, np.array([rows.start])

        self.pairs = self.blocks.keep(of_rows, range(self.n_rows), count, stops)


def _no_pairs(block: Block, rows: range) -> Pairs:
    n = block.shape[0]
    return np.empty(0, np.int32), np.empty(0), np.zeros(n, np.int32), np.array([rows.start])


def _mixed(
    function: Callable[..., Any],
    atoms: Floats,
    precision: Any,
    block: Block,
    pairs: Pairs,
    *rest: Any,
) -> Any:
    """Call the function with the mixture of a block's rows."""
    mixture = Mixture(as_dense(block), np.arange(len(atoms)), atoms=atoms, search_type=precision)
    mixture.set_pairs(pairs)
    return function(mixture, *rest)


def _columns_in(pairs: Pairs, size: int, mu: float) -> Columns:
    return columns_of(*padded(pairs), first_row=int(pairs[3][0]), size=size, mu=mu)


def _of_rows(pairs: Pairs, rows: NDArray[np.int64]) -> Pairs:
    """The pairs of those of the given rows that are among these."""
    index, value, count, first_row = pairs
    local = rows - first_row
    local = local[(local >= 0) & (local < len(count))]
    stops = np.cumsum(count)
    wanted = [slice(stops[row] - count[row], stops[row]) for row in local]
    join = np.concatenate
    return (
        join([index[:0], *(index[pairs] for pairs in wanted)]),
        join([value[:0], *(value[pairs] for pairs in wanted)]),
        count[local],
        first_row,
    )
