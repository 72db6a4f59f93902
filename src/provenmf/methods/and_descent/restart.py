"""Restart components that died: dependent on the others, or without a row that uses them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.linalg.norms import squared_residual_rows
from provenmf.linalg.orthogonal import first_largest
from provenmf.methods.separable.anchors import dense_row

Array = NDArray[np.float64]

TIE = 1e-9  # scores that differ by less than this share of the largest are equal


def most_dependent(components: Array, decoder: Array) -> int:
    """The component that the others explain best: length times length of its decoder is largest.

    The first of those that are equal but for rounding, as two that explain each other are.
    """
    lengths = np.linalg.norm(components, axis=1)
    if not lengths.all():
        return int(np.argmin(lengths))
    products = lengths * np.linalg.norm(decoder, axis=0)
    return first_largest(products, TIE * float(products.max()))


def restart(blocks: Blocks, components: Array, row_scales: Array, component: int) -> Array:
    """Components with one of them replaced by the row that the others explain worst.

    The row's part outside the span of the others is what is missing; the row itself is used, as at
    the start. One pass.
    """
    others = np.delete(components, component, axis=0)
    other_decoder = np.linalg.pinv(others).astype(blocks.dtype, copy=False)

    def residuals(block: Block, scales: Array) -> Array:
        weights = np.maximum(np.asarray(block @ other_decoder, dtype=np.float64), 0.0)
        return squared_residual_rows(block, weights, others) * scales**2

    squares = blocks.map_rows(residuals, row_scales)
    row = first_largest(squares, TIE * float(squares.max()))
    fresh = components.copy()
    candidate = dense_row(blocks, row) * row_scales[row]
    size = np.abs(candidate).sum()
    usual_size = np.abs(others).sum(axis=1).mean() if len(others) else 1.0
    if size > 0:
        fresh[component] = candidate * (usual_size / size)
    return fresh
