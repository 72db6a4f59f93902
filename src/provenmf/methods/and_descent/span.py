"""A start brought into the span of the data, where the truth lies.

Data rows are mixtures of the k true components plus noise, so that the k leading right singular
vectors span nearly the same space as the components. Whatever a start has outside of it is error:
Li17, Definition 2, calls it N and asks that it be small; here it is projected away first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block, Blocks
from provenmf.methods.and_descent.decoding import DEPENDENT, decoder_of

Floats = NDArray[np.float64]

PASSES = 4
ROUNDING = 1e-13  # squared singular values below this share of the largest are zero
SPARE = 10  # more vectors than wanted: the wanted ones settle sooner


def within_span(blocks: Blocks, start: Floats, row_scales: Floats) -> Floats:
    """The start (k, d) projected onto the k leading right singular vectors of the scaled rows.

    Where that makes its rows dependent, as on data of lower rank, the start is returned as it is.
    """
    span = leading_span(blocks, len(start), row_scales)
    projected = start @ span.T @ span
    lengths = np.linalg.norm(projected, axis=1)
    if not lengths.all() or decoder_of(projected / lengths[:, None])[1] < DEPENDENT:
        return start
    return projected


def leading_span(blocks: Blocks, k: int, row_scales: Floats) -> Floats:
    """Orthonormal rows near the k leading right singular vectors; fewer where the rank is lower."""
    width = min(k + SPARE, blocks.n_columns)
    fixed = np.random.default_rng(0)  # the same answer twice
    basis = np.linalg.qr(fixed.standard_normal((blocks.n_columns, width)))[0]

    def product(block: Block, scales: Floats, basis: Floats) -> Floats:
        return np.asarray(block.T @ (scales[:, None] ** 2 * np.asarray(block @ basis)))

    for _ in range(PASSES):
        image = blocks.map_reduce(
            lambda block, scales, b=basis: product(block, scales, b), row_scales
        )
        basis = np.linalg.qr(image)[0]
    left, values, _ = np.linalg.svd(image, full_matrices=False)
    there = values[:k] > ROUNDING * values[0]
    return np.ascontiguousarray(left[:, :k][:, there].T)
