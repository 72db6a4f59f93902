"""Weights of rows under the Kullback-Leibler divergence, with the components fixed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Block, Blocks
from provenmf.linalg.storage import is_sparse

Floats = NDArray[np.float64]

MOST_SWEEPS = 1000
SOLVED = 1e-10  # largest move of a weight in a sweep, as a share of the row's largest weight
# A dense block with fewer nonzero entries than this share is cheaper to treat as sparse.
SPARSE_SHARE = 0.4
ROWS_PER_SLICE = 64


class Rows(NamedTuple):
    """Weights (n, k), and the divergence of each row from its mixture."""

    weights: Floats
    divergences: Floats


def improve_rows(
    block: Block, features: Floats, start: Floats, *, sweeps: int, floor: float, tol: float = 0.0
) -> Rows:
    """Coordinate-wise Newton sweeps on the weights of every row of a block.

    Parameters
    ----------
    block : nonnegative rows (n, m), dense or CSR, in double precision (see `as_counts`).
    features : (m, k), the components transposed.
    start : weights (n, k) to begin with, positive.
    sweeps : how many at the most.
    floor : least weight, so that no product vanishes where the data do not.
    tol : a row is done once no weight moves by more than this share of the largest.
    """
    from provenmf.methods.poisson.kernels import (
        improve_dense_rows_in_place,
        improve_sparse_rows_in_place,
    )

    n = block.shape[0]
    found = Rows(np.array(start, dtype=np.float64), np.empty(n))
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


def encode_counts(blocks: Blocks, components: NDArray[np.floating]) -> NDArray[np.floating]:
    """Weights w >= 0 of each row that minimise D(x || w @ components), one pass."""
    return blocks.map_rows(weights_encoder(components, blocks.dtype))


def weights_encoder(
    components: NDArray[np.floating], dtype: np.dtype[Any]
) -> Callable[[Block], NDArray[np.floating]]:
    """The function that finds the weights of a block's rows.

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
        return rows.weights.astype(dtype, copy=False)

    return weights_of


def as_counts(block: Block) -> Block:
    """A block in double precision, its rows contiguous; CSR where most entries are zero.

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
