"""The counts as Poisson NMF sees them: by rows and by columns at hand, or block by block.

Data in memory are held twice, by rows and by columns. Elsewhere only rows can be read: a weight of
a row needs that row alone, but a coordinate of all components needs sums over all rows, so that a
sweep over k coordinates takes k passes. Weights then stay where the rows are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.data.base import RowArray
from provenmf.data.parts import Parts
from provenmf.linalg.storage import is_sparse
from provenmf.methods.poisson.divergence import products_at, sums_by
from provenmf.methods.poisson.rows import as_counts, encode_counts, improve_rows, weights_encoder

Floats = NDArray[np.float64]

SWEEPS = 1  # for each factor and iteration: more of them gained nothing on any data tried
AT_HAND_BYTES = 256e6  # data on disk up to this size are held in memory
SLICE_ENTRIES = 1 << 18  # entries of a dense block worked on at a time: 2 MB


class Features(NamedTuple):
    """Components transposed (d, k), and the divergence with them."""

    features: Floats
    divergence: float


class Counts(ABC):
    """Nonnegative data (n, d) with weights that are arrays or stay with the rows."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    @abstractmethod
    def total(self) -> float:
        """The sum of all counts."""

    @abstractmethod
    def best_weights(self, components: Floats) -> RowArray:
        """Weights that minimise the divergence for these components."""

    @abstractmethod
    def placed(self, weights: Floats) -> RowArray:
        """Weights where the steps want them."""

    @abstractmethod
    def brought(self, weights: RowArray) -> Floats:
        """Weights as an array."""

    @abstractmethod
    def mapped(self, function: Callable[..., Floats], *weights: RowArray) -> RowArray:
        """What the function makes of rows of weights."""

    @abstractmethod
    def mean(self, weights: RowArray) -> float:
        """The mean of all weights."""

    @abstractmethod
    def better_weights(self, features: Floats, start: RowArray, floor: float) -> RowArray:
        """One sweep over the weights of every row."""

    @abstractmethod
    def better_features(self, weights: RowArray, start: Floats, floor: float) -> Features:
        """One sweep over the components of every column."""

    @abstractmethod
    def divergence(self, weights: RowArray, features: Floats) -> float:
        """D(X || weights @ features')."""


def counts_of(blocks: Blocks) -> Counts:
    """The counts at hand if they are in memory or small, else where they are."""
    return CountsAtHand(blocks) if held(blocks) else CountsInBlocks(blocks)


def held(blocks: Blocks) -> bool:
    """Whether the counts are held by rows and by columns."""
    small = 16.0 * blocks.stored_entries <= AT_HAND_BYTES
    return blocks.in_memory or (small and not blocks.elsewhere)


class CountsAtHand(Counts):
    """All rows in memory, and their transposed copy."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__(blocks)
        self._rows = as_counts(blocks.everything())
        self._columns = transposed(self._rows)

    def total(self) -> float:
        """The sum of all counts."""
        return float(self._rows.sum())

    def best_weights(self, components: Floats) -> RowArray:
        """One pass."""
        return encode_counts(self.blocks, components).astype(np.float64)

    def placed(self, weights: Floats) -> RowArray:
        """As they are."""
        return weights

    def brought(self, weights: RowArray) -> Floats:
        """As they are."""
        assert not isinstance(weights, Parts)
        return weights

    def mapped(self, function: Callable[..., Floats], *weights: RowArray) -> RowArray:
        """All rows at once."""
        return function(*weights)

    def mean(self, weights: RowArray) -> float:
        """The mean of all weights."""
        return float(self.brought(weights).mean())

    def better_weights(self, features: Floats, start: RowArray, floor: float) -> RowArray:
        """One sweep over the weights of every row."""
        start = self.brought(start)
        return improve_rows(self._rows, features, start, sweeps=SWEEPS, floor=floor).weights

    def better_features(self, weights: RowArray, start: Floats, floor: float) -> Features:
        """The same for the columns, which have the weights as features."""
        weights = self.brought(weights)
        found = improve_rows(self._columns, weights, start, sweeps=SWEEPS, floor=floor)
        return Features(found.weights, float(found.divergences.sum()))

    def divergence(self, weights: RowArray, features: Floats) -> float:
        """No step: what the present weights leave."""
        found = improve_rows(self._rows, features, self.brought(weights), sweeps=0, floor=0.0)
        return float(found.divergences.sum())


class CountsInBlocks(Counts):
    """Rows and their weights in blocks; sums over the rows travel."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__(blocks)
        found = [least for _, _, least in blocks.each(_least_positive)]
        self._inverse_roots = 1.0 / np.sqrt(np.min(found, axis=0))  # zero for an empty column

    def total(self) -> float:
        """The sum of all counts, in one pass."""
        return float(self.blocks.map_reduce(lambda block: as_counts(block).sum()))

    def best_weights(self, components: Floats) -> RowArray:
        """One pass; the weights stay with the rows."""
        return self.blocks.keep(weights_encoder(components, np.dtype(np.float64)))

    def placed(self, weights: Floats) -> RowArray:
        """Each row's weights beside it."""
        return self.blocks.keep(lambda _, rows: np.ascontiguousarray(rows), weights)

    def brought(self, weights: RowArray) -> Floats:
        """All of them, for a checkpoint."""
        assert isinstance(weights, Parts)
        return weights.rows()

    def mapped(self, function: Callable[..., Floats], *weights: RowArray) -> RowArray:
        """Where they are."""
        first, *others = weights
        assert isinstance(first, Parts)
        return first.mapped(function, *(rows for rows in others if isinstance(rows, Parts)))

    def mean(self, weights: RowArray) -> float:
        """The mean of all weights."""
        sums = self._sums(weights)
        return float(sums.sum()) / (self.blocks.n_rows * len(sums))

    def _sums(self, weights: RowArray) -> Floats:
        assert isinstance(weights, Parts)
        return np.asarray(sum(weights.each(lambda rows: rows.sum(axis=0))))

    def better_weights(self, features: Floats, start: RowArray, floor: float) -> RowArray:
        """One pass: rows do not depend on each other."""

        def improved(block: Block, rows: Floats) -> Floats:
            counts = as_counts(block)
            return improve_rows(counts, features, rows, sweeps=SWEEPS, floor=floor).weights

        return self.blocks.keep(improved, start)

    def better_features(self, weights: RowArray, start: Floats, floor: float) -> Features:
        """A pass for each coordinate, since each needs what the one before has changed."""
        from provenmf.methods.poisson.kernels import step_coordinate_in_place

        features, sums = start.copy(), self._sums(weights)
        features[self._inverse_roots == 0] = 0.0  # columns without counts
        for _ in range(SWEEPS):
            for i in np.flatnonzero(sums > 0).tolist():
                pulls = self.blocks.map_reduce(_pulling(features, i), weights)
                step_coordinate_in_place(
                    features[:, i], sums[i], *pulls, floor, self._inverse_roots
                )
        return Features(features, self.divergence(weights, features))

    def divergence(self, weights: RowArray, features: Floats) -> float:
        """One pass."""

        def of_block(block: Block, rows: Floats) -> float:
            found = improve_rows(as_counts(block), features, rows, sweeps=0, floor=0.0)
            return float(found.divergences.sum())

        return float(self.blocks.map_reduce(of_block, weights))


def _pulling(features: Floats, coordinate: int) -> Callable[[Block, Floats], tuple[Floats, Floats]]:
    """Of a block: the sums over its rows of x w / u and of x (w / u)^2 at every column."""

    def of_block(block: Block, weights: Floats) -> tuple[Floats, Floats]:
        counts, along = as_counts(block), weights[:, coordinate]
        if is_sparse(counts):
            return _sparse_pulls(counts, weights, features, along)
        return _dense_pulls(counts, weights, features, along)

    return of_block


def _dense_pulls(
    counts: NDArray[np.floating], weights: Floats, features: Floats, along: Floats
) -> tuple[Floats, Floats]:
    pull, curvature = np.zeros(len(features)), np.zeros(len(features))
    step = max(1, SLICE_ENTRIES // len(features))
    for start in range(0, len(counts), step):
        part = slice(start, start + step)
        x, means = counts[part], weights[part] @ features.T
        ratio = np.divide(x, means, out=np.zeros_like(means), where=x > 0)
        pull += along[part] @ ratio
        np.divide(ratio, means, out=ratio, where=x > 0)
        curvature += along[part] ** 2 @ ratio
    return pull, curvature


def _sparse_pulls(
    counts: sp.csr_array, weights: Floats, features: Floats, along: Floats
) -> tuple[Floats, Floats]:
    d = len(features)
    lines = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    means = products_at(lines, counts.indices, weights, features.T)
    given = counts.data > 0
    share = np.divide(along[lines], means, out=np.zeros_like(means), where=given)
    pull = counts.data * share
    return sums_by(counts.indices, pull, d), sums_by(counts.indices, pull * share, d)


def _least_positive(block: Block) -> Floats:
    """The least positive count of each column; infinite for none."""
    least = np.full(block.shape[1], np.inf)
    if is_sparse(block):
        given = block.data > 0
        np.minimum.at(least, block.indices[given], block.data[given].astype(np.float64))
        return least
    np.min(block, axis=0, where=block > 0, initial=np.inf, out=least)
    return least


def transposed(block: Block) -> Block:
    """Columns as rows."""
    return sp.csr_array(block.T) if sp.issparse(block) else np.ascontiguousarray(block.T)
