"""The one pass over the data that measures a fit: everything that needs rows, weights, components.

All arithmetic is double precision. A dense block is worked on in slices that stay in the cache, so
that the residual is formed and forgotten; for a sparse block its square is expanded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data import Block, Blocks, Part, Rows
from provenmf.data.base import joined
from provenmf.data.door import RowHashes, row_hashes
from provenmf.linalg.norms import (
    entry_range,
    row_lengths,
    row_sums,
    rows_of_a_slice,
    squared_residual_rows,
)
from provenmf.linalg.products import product, transposed_product
from provenmf.linalg.spectral import gram_of_columns
from provenmf.linalg.storage import as_dense

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measurement:
    """Sums and extremes of one pass, for data X (n, d), weights W (n, k) and components C (k, d).

    lengths, sums, residuals : (n,), ‖x‖, Σ x and ‖x − wC‖ of each row; largest : max |x_ij|;
        lowest : the smallest entry, or zero.
    cross : XCᵀ (n, k), left where the rows are; weights_data : WᵀX (k, d); gram : XᵀX or None;
        hashes : of the entries.
    """

    lengths: Floats
    sums: Floats
    residuals: Floats
    largest: float
    lowest: float
    hashes: RowHashes
    cross: Rows
    weights_data: Floats
    gram: Floats | None


def measure(
    blocks: Blocks, weights: Rows, components: Floats, *, products: bool, gram: bool
) -> Measurement:
    """Measure in one pass; `products` asks for cross and weights_data, `gram` for XᵀX."""

    def of_block(block: Block, w: Floats, row: range) -> tuple[tuple[Any, ...], Part]:
        rows = _sparse_rows if sp.issparse(block) else _dense_rows
        with np.errstate(over="ignore", invalid="ignore"):
            found, cross, weights_data = rows(block, w, components, products)
            matrix = [gram_of_columns(block)] if gram else []
            hashes = row_hashes(block, row.start)
            bounds = np.array(entry_range(block))
            return (hashes, weights_data, *matrix), (found.T, bounds, cross)

    sums, kept = blocks.sum_and_keep(of_block, weights, range(blocks.n_rows))
    hashes, weights_data, *matrix = sums
    ends: list[Floats] = []

    def by_row() -> Iterator[Floats]:
        for found, bounds in kept.each(itemgetter(0, 1)):
            ends.append(bounds)
            yield found

    lengths, summed, residuals = np.ascontiguousarray(joined(blocks.n_rows, by_row()).T)
    lowest, highest = min(0.0, np.min(ends)), max(0.0, np.max(ends))
    return Measurement(
        lengths=lengths,
        sums=summed,
        residuals=residuals,
        largest=float(max(highest, -lowest)),
        lowest=float(lowest),
        hashes=hashes,
        cross=kept.map(itemgetter(2)),
        weights_data=weights_data,
        gram=matrix[0] if matrix else None,
    )


def _dense_rows(
    block: NDArray[np.floating], weights: Floats, components: Floats, products: bool
) -> tuple[Floats, Floats, Floats]:
    """Return (lengths, sums, residuals), XCᵀ and WᵀX of a dense block."""
    by_row = np.empty((3, len(block)))
    cross = np.empty(weights.shape if products else (0, len(components)))
    weights_data = np.zeros(components.shape)
    step = rows_of_a_slice(block.shape[1])
    for start in range(0, len(block), step):
        part = slice(start, start + step)
        rows, w = block[part].astype(np.float64, copy=False), weights[part]
        by_row[0, part], by_row[1, part] = row_lengths(rows), rows.sum(axis=1)
        by_row[2, part] = row_lengths(rows - w @ components)
        if products:
            np.matmul(rows, components.T, out=cross[part])
            weights_data += w.T @ rows
    return by_row, cross, weights_data


def _sparse_rows(
    block: Any, weights: Floats, components: Floats, products: bool
) -> tuple[Floats, Floats, Floats]:
    """Return the same of a sparse block, which no step makes dense."""
    wide = block.astype(np.float64, copy=False)
    residuals = np.sqrt(squared_residual_rows(wide, weights, components))
    by_row = np.stack([row_lengths(wide), row_sums(wide), residuals])
    if not products:
        return by_row, np.empty((0, len(components))), np.zeros(components.shape)
    cross = product(wide, np.ascontiguousarray(components.T))
    return by_row, cross, transposed_product(wide, weights).T


def largest_residual_entries(block: Block, weights: Floats, components: Floats) -> Floats:
    """Return max |x_ij − (wC)_j| of each row of a block, a few rows dense at a time."""
    out = np.empty(block.shape[0])
    step = rows_of_a_slice(block.shape[1])
    for start in range(0, block.shape[0], step):
        part = slice(start, start + step)
        residual = as_dense(block[part]) - weights[part] @ components
        out[part] = np.maximum(residual.max(axis=1), -residual.min(axis=1))
    return out
