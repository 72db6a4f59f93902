"""Counts, by rows and by columns or block by block, and sweeps over their weights.

Data in memory are held twice, by rows and by columns. Elsewhere only rows can be read: a weight of
a row needs that row alone, but a coordinate of all components needs sums over all rows, so that a
sweep over k coordinates takes k passes. Weights are stored beside the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import computed_once, for_row_slices
from provenmf.data import Block, Blocks, Rows, as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import is_sparse
from provenmf.methods.poisson.kernels import (
    improve_dense_rows_in_place,
    improve_sparse_rows_in_place,
    products_at,
    step_coordinate_in_place,
    sums_by,
)

Floats = NDArray[np.float64]

MOST_SWEEPS = 1000
SOLVED = 1e-10  # largest move of a weight in a sweep, as a share of the row's largest weight
# A dense block with fewer nonzero entries than this share is cheaper to treat as sparse.
SPARSE_SHARE = 0.4
ROWS_PER_SLICE = 64
AT_HAND_BYTES = 256e6  # data on disk up to this size are held in memory
SLICE_ENTRIES = 1 << 18  # entries of a dense block worked on at a time: 2 MB


class Improved(NamedTuple):
    """Weights (n, k), and the divergence of each row from its mixture."""

    weights: Floats
    divergences: Floats


def improve_rows(
    block: Block, features: Floats, start: Floats, *, sweeps: int, floor: float, tol: float = 0.0
) -> Improved:
    """Make coordinate-wise Newton sweeps on the weights of every row of a block.

    Parameters
    ----------
    block : nonnegative rows (n, m), dense or CSR, in double precision (see `as_counts`).
    features : (m, k), the components transposed.
    start : weights (n, k) to begin with, positive.
    sweeps : how many at the most.
    floor : least weight, so that no product vanishes where the data do not.
    tol : a row is done once no weight moves by more than this share of the largest.
    """
    n = block.shape[0]
    found = Improved(np.array(start, dtype=np.float64), np.empty(n))
    sums = features.sum(axis=0)
    transposed = features.T if is_sparse(block) else np.ascontiguousarray(features.T)

    def work(rows: slice) -> None:
        weights, divergences = (array[rows] for array in found)
        if not is_sparse(block):
            improve_dense_rows_in_place(
                block[rows], transposed, sums, weights, divergences, sweeps, floor, tol
            )
            return
        pointers = block.indptr[rows.start : rows.stop + 1]
        improve_sparse_rows_in_place(
            pointers,
            block.indices,
            block.data,
            features,
            sums,
            weights,
            divergences,
            sweeps,
            floor,
            tol,
        )

    for_row_slices(work, n, slice_rows=ROWS_PER_SLICE)
    return found


def weights_encoder(
    components: NDArray[np.floating], dtype: np.dtype[Any]
) -> Callable[[Block], NDArray[np.floating]]:
    """Return the function that finds the weights of a block's rows.

    Entries in columns where every component is zero cannot be explained and are left out.
    """
    features = np.ascontiguousarray(components.T, dtype=np.float64)
    explained = features.any(axis=1)
    whole = bool(explained.all())
    features = features if whole else np.ascontiguousarray(features[explained])
    total = features.sum()

    def weights_of(block: Block) -> NDArray[np.floating]:
        counts = as_counts(block if whole else block[:, explained])
        sums = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        even = sums / total if total > 0 else 0.0 * sums
        start = np.repeat(even[:, None], features.shape[1], axis=1)
        rows = improve_rows(counts, features, start, sweeps=MOST_SWEEPS, floor=0.0, tol=SOLVED)
        return refuse_nan(rows.weights).astype(dtype, copy=False)

    return weights_of


def refuse_nan(factor: Floats) -> Floats:
    """Return a factor; raise an error if dividing numbers near the smallest one made it NaN."""
    if not np.isfinite(factor).all():
        raise InvalidInput(
            "some positive entries are too small for the Poisson likelihood, which divides by "
            "numbers of their size: set entries below 1e-300 to zero"
        )
    return factor


def as_counts(block: Block) -> Block:
    """Return a block in double precision, rows contiguous; CSR if most entries are zero.

    The numbers decide, not how they came, so that dense and sparse data get the same arithmetic.
    """
    if sp.issparse(block):
        rows = sp.csr_array(block).astype(np.float64, copy=False)
        if rows.count_nonzero() >= SPARSE_SHARE * math.prod(rows.shape):
            return rows.toarray()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    dense = np.ascontiguousarray(block, dtype=np.float64)
    if np.count_nonzero(dense) < SPARSE_SHARE * dense.size:
        return sp.csr_array(dense)
    return dense


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

    @property
    def held(self) -> bool:
        """Whether the counts are held by rows and by columns."""
        return self._columns is not None

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
            return improve_rows(counts, features, rows, sweeps=1, floor=floor).weights

        return self.blocks.keep(improved, start)

    def better_features(self, weights: Rows, start: Floats, floor: float) -> Features:
        """Make one sweep over the components of every column.

        By rows it takes a pass for each coordinate: it needs what the one before has changed.
        """
        if self._columns is not None:
            columns = self._columns
            found = improve_rows(columns, weights.array(), start, sweeps=1, floor=floor)
            return Features(found.weights, float(found.divergences.sum()))
        features, sums = start.copy(), weights.sum(lambda rows: rows.sum(axis=0))
        features[self._inverse_roots == 0] = 0.0  # columns without counts
        for i in np.flatnonzero(sums > 0).tolist():
            pulls = self.blocks.map_reduce(_pulling(features, i), weights)
            step_coordinate_in_place(features[:, i], sums[i], *pulls, floor, self._inverse_roots)
        return Features(features, self.divergence(weights, features))

    @computed_once
    def _inverse_roots(self) -> Floats:
        """Return 1 / √(least positive count) of each column, zero if there is none."""
        least = [found for _, _, found in self.blocks.each(_least_positive)]
        return np.asarray(1.0 / np.sqrt(np.min(least, axis=0)))

    def divergence(self, weights: Rows, features: Floats) -> float:
        """Return D(X || weights @ features')."""

        def of_block(block: Block, rows: Floats) -> float:
            found = improve_rows(as_counts(block), features, rows, sweeps=0, floor=0.0)
            return float(found.divergences.sum())

        return float(self.blocks.map_reduce(of_block, weights))


def held(blocks: Blocks) -> bool:
    """Return whether the counts are held by rows and by columns."""
    small = 16.0 * blocks.stored_entries <= AT_HAND_BYTES
    return blocks.in_memory or (small and not blocks.on_workers)


def mean(weights: Rows) -> float:
    """Return the mean of all weights."""
    total, size = weights.sum(lambda rows: (rows.sum(), rows.size))
    return float(total / size)


def _pulling(features: Floats, coordinate: int) -> Callable[[Block, Floats], tuple[Floats, Floats]]:
    """Return the function that sums x w / u and x (w / u)^2 over the rows of a block."""

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
    """Return the least positive count of each column; infinite for none."""
    least = np.full(block.shape[1], np.inf)
    if is_sparse(block):
        given = block.data > 0
        np.minimum.at(least, block.indices[given], block.data[given].astype(np.float64))
        return least
    np.min(block, axis=0, where=block > 0, initial=np.inf, out=least)
    return least


def transposed(block: Block) -> Block:
    """Return the columns as rows."""
    return sp.csr_array(block.T) if sp.issparse(block) else np.ascontiguousarray(block.T)
