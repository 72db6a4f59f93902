"""The counts as Poisson NMF sees them: by rows and by columns at hand, or block by block.

Data in memory are held twice, by rows and by columns. Elsewhere only rows can be read: a weight of
a row needs that row alone, but a coordinate of all components needs sums over all rows, so that a
sweep over k coordinates takes k passes. Weights then stay where the rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import computed_once
from provenmf.data import Block, Blocks, Rows, as_blocks
from provenmf.linalg.storage import is_sparse
from provenmf.methods.poisson.divergence import products_at, sums_by
from provenmf.methods.poisson.rows import as_counts, improve_rows, weights_encoder

Floats = NDArray[np.float64]

SWEEPS = 1  # for each factor and iteration: more of them gained nothing on any data tried
AT_HAND_BYTES = 256e6  # data on disk up to this size are held in memory
SLICE_ENTRIES = 1 << 18  # entries of a dense block worked on at a time: 2 MB


class Features(NamedTuple):
    """Components transposed (d, k), and the divergence with them."""

    features: Floats
    divergence: float


class Counts:
    """Nonnegative data (n, d); weights are stored beside the rows.

    Data in memory, or small enough, are held by rows and by columns (`held`).
    """

    def __init__(self, blocks: Blocks) -> None:
        self.given, self.blocks = blocks, blocks
        self._columns: Block | None = None
        if held(blocks):
            rows = as_counts(blocks.everything())
            self._columns = transposed(rows)
            self.blocks = as_blocks(rows, block_rows=blocks.n_rows)

    def total(self) -> float:
        """Return the sum of all counts."""
        return float(self.blocks.map_reduce(lambda block: as_counts(block).sum()))

    def best_weights(self, components: Floats) -> Rows:
        """Return weights that minimise the divergence for these components."""
        return self.blocks.keep(weights_encoder(components, np.dtype(np.float64)))

    def better_weights(self, features: Floats, start: Rows, floor: float) -> Rows:
        """Make one sweep over the weights of every row."""

        def improved(block: Block, rows: Floats) -> Floats:
            counts = as_counts(block)
            return improve_rows(counts, features, rows, sweeps=SWEEPS, floor=floor).weights

        return self.blocks.keep(improved, start)

    def better_features(self, weights: Rows, start: Floats, floor: float) -> Features:
        """Make one sweep over the components of every column.

        By rows it takes a pass for each coordinate: it needs what the one before has changed.
        """
        if self._columns is not None:
            columns = self._columns
            found = improve_rows(columns, weights.array(), start, sweeps=SWEEPS, floor=floor)
            return Features(found.weights, float(found.divergences.sum()))
        from provenmf.methods.poisson.kernels import step_coordinate_in_place

        features, sums = start.copy(), weights.sum(lambda rows: rows.sum(axis=0))
        features[self._inverse_roots == 0] = 0.0  # columns without counts
        for _ in range(SWEEPS):
            for i in np.flatnonzero(sums > 0).tolist():
                pulls = self.blocks.map_reduce(_pulling(features, i), weights)
                step_coordinate_in_place(
                    features[:, i], sums[i], *pulls, floor, self._inverse_roots
                )
        return Features(features, self.divergence(weights, features))

    @computed_once
    def _inverse_roots(self) -> Floats:
        """1 over the root of the least positive count of each column, zero if there is none."""
        least = [found for _, _, found in self.blocks.each(_least_positive)]
        return np.asarray(1.0 / np.sqrt(np.min(least, axis=0)))

    def divergence(self, weights: Rows, features: Floats) -> float:
        """Return D(X || weights @ features')."""

        def of_block(block: Block, rows: Floats) -> float:
            found = improve_rows(as_counts(block), features, rows, sweeps=0, floor=0.0)
            return float(found.divergences.sum())

        return float(self.blocks.map_reduce(of_block, weights))


def held(blocks: Blocks) -> bool:
    """Tell whether the counts are held by rows and by columns."""
    small = 16.0 * blocks.stored_entries <= AT_HAND_BYTES
    return blocks.in_memory or (small and not blocks.on_workers)


def mean(weights: Rows) -> float:
    """Return the mean of all weights."""
    total, size = weights.sum(lambda rows: (rows.sum(), rows.size))
    return float(total / size)


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
