"""The mixture of very many rows: each block mixes its rows where it is, the dictionary travels.

Memory, disk and a cluster alike hold the pairs of C beside their blocks; what is fitted to a row is
computed from them when it is needed. The client sees the dictionary, its columns of C (some hundred
numbers each) and now and then one number for each row. A sweep takes the blocks one after the
other, as `Mixture.sweep` takes the rows, so that its answer does not depend on how they are split.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.blocks.parts import Parts
from provenmf.solvers.merit.mixture import (
    Columns,
    Mixture,
    Pairs,
    Penalties,
    Standing,
    padded,
    pairs_of,
    precision_of_search,
)
from provenmf.storage import as_dense

Floats = NDArray[np.float64]


class SpreadMixture:
    """All rows of `blocks` as mixtures of `dictionary` (row numbers)."""

    def __init__(self, blocks: Blocks, dictionary: NDArray[np.intp]) -> None:
        self.blocks = blocks
        self._set_dictionary(dictionary)
        self.pairs = blocks.keep(_no_pairs)

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

    def fold(
        self, function: Callable[..., Any], state: Any, *arrays: NDArray[Any]
    ) -> tuple[Any, Parts]:
        """One block after the other: `function(state, mixture, *slices)` -> (state, part)."""
        in_turn = partial(_mixed_after, function, *self._shared)
        return self.blocks.fold(in_turn, state, self.pairs, *arrays)

    def start_from(self, columns: NDArray[np.intp], mixtures: Parts) -> None:
        """Set C to the given weights on columns of the dictionary; see `start.Explanation`."""
        self.pairs = mixtures.mapped(lambda part: pairs_of(part[0], columns))

    def squared_residuals(self) -> Floats:
        """||x - c X||^2 of every row."""
        return self.map_rows(lambda mixture: mixture.squared_residuals())

    def maxima(self) -> Floats:
        """The largest entry of each column of C."""
        return self.penalties(0.0, 1.0).top

    def penalties(self, lam: float, mu: float) -> Penalties:
        """State of the columns: the masses of the blocks, each below its own largest entry."""
        size = len(self.dictionary)
        found = list(self.pairs.each(lambda pairs: _columns_of(pairs, size, mu)))
        top = np.max([largest for largest, _ in found], axis=0)
        mass = sum(mass * np.exp((largest - top) / mu) for largest, mass in found)
        return Penalties(lam, mu, self.n_rows, top, np.asarray(mass))

    def standing(self, penalties: Penalties) -> Standing:
        """Where C is, in one pass."""

        def of_block(mixture: Mixture) -> tuple[float, float]:
            _, lowest, inner = mixture.search(penalties)
            return float((inner - lowest).sum()), float(mixture.squared_residuals().sum())

        gap, squared = self.map_reduce(of_block)
        return Standing(0.5 * squared + penalties.total(), gap)

    def objective(self, penalties: Penalties) -> float:
        """f(C), with the penalties of the present C."""
        return 0.5 * float(self.squared_residuals().sum()) + penalties.total()

    def sweep(self, lam: float, tolerance: float, steps: int) -> None:
        """Pairwise steps in every row, one block after the other."""
        from provenmf.kernels.merit.pairwise import two_largest

        size, n = len(self.dictionary), 0
        columns = np.zeros(size), np.zeros(size), np.full(size, -1)
        for found, rows in self.pairs.each(lambda p: (two_largest(*padded(p), size), len(p[2]))):
            columns, n = _both(columns, found, n), n + rows

        def of_block(state: tuple[Columns, int], mixture: Mixture) -> tuple[Any, Pairs]:
            (first, second, holder), start = state
            largest = first.copy(), second.copy(), holder.copy()
            mixture.sweep_updating(largest, start, lam, tolerance, steps)
            return (largest, start + mixture.n_rows), mixture.pairs()

        _, self.pairs = self.fold(of_block, (columns, 0))

    def extend_dictionary(self, rows: NDArray[np.intp]) -> None:
        """Let more rows be vertices; C stays as it is."""
        dictionary = np.union1d(self.dictionary, rows)
        moved = np.searchsorted(dictionary, self.dictionary).astype(np.int32)
        self.pairs = self.pairs.mapped(lambda pairs: (moved[pairs[0]], pairs[1], pairs[2]))
        self._set_dictionary(dictionary)

    def kept(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint needs."""
        index, value, count = zip(*self.pairs.each(lambda pairs: pairs))
        arrays = {"index": index, "value": value, "count": count}
        joined = {name: np.concatenate(parts) for name, parts in arrays.items()}
        return {"dictionary": self.dictionary, **joined}

    def restore(self, kept: dict[str, NDArray[Any]]) -> None:
        """Stand where a checkpoint was written."""
        self._set_dictionary(kept["dictionary"])
        index, value, count = kept["index"], kept["value"], kept["count"]
        stops = np.cumsum(count)

        def of_rows(_: Block, counts: NDArray[np.int32], stop: NDArray[np.intp]) -> Pairs:
            stored = slice(int(stop[0] - counts[0]), int(stop[-1]))
            return index[stored], value[stored], counts

        self.pairs = self.blocks.keep(of_rows, count, stops)


def _no_pairs(block: Block) -> Pairs:
    return np.empty(0, np.int32), np.empty(0), np.zeros(block.shape[0], dtype=np.int32)


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


def _mixed_after(
    function: Callable[..., Any], atoms: Floats, precision: Any, state: Any, *block_and_pairs: Any
) -> Any:
    return _mixed(partial(function, state), atoms, precision, *block_and_pairs)


def _columns_of(pairs: Pairs, size: int, mu: float) -> tuple[Floats, Floats]:
    """The largest entry of each column in some rows, and their mass below it."""
    from provenmf.kernels.merit.pairs import column_masses, column_maxima

    rows = padded(pairs)
    top = column_maxima(*rows, size)
    return top, column_masses(*rows, top, mu)


def _both(before: Columns, rows: Columns, first_row: int) -> Columns:
    """The two largest entries of each column in rows before and in the rows that follow them."""
    first, second, holder = rows
    higher = first > before[0]
    return (
        np.where(higher, first, before[0]),
        np.where(higher, np.maximum(before[0], second), np.maximum(before[1], first)),
        np.where(higher, holder + first_row, before[2]),
    )
