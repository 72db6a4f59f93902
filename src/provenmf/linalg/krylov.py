"""Leading eigenpairs by block Krylov spaces: repeated eigenvalues, and the same answer twice.

A single vector sees one direction of every eigenspace; a block sees as many as it has columns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 6  # products with the matrix before each restart
SPARE = 8  # columns beyond those asked for, at the least


def block_krylov(
    product: Callable[[Floats], Floats], size: int, k: int, *, tol: float, max_restarts: int = 20
) -> tuple[Floats, Floats, Floats]:
    """Ritz values (descending), vectors (size, k) and residual lengths of a symmetric matrix.

    Ends once all k residuals are at most `tol` times the largest value. The start is fixed.
    """
    width = min(size, k + max(SPARE, k // 4))
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((size, width)))[0]
    for _ in range(max_restarts):
        values, vectors, residuals = _rayleigh_ritz(*_krylov_space(product, vectors))
        values, vectors = values[:width], vectors[:, :width]
        lengths = np.linalg.norm(residuals[:, :k], axis=0)
        if lengths.max() <= tol * abs(values[0]):
            break
    return values[:k], vectors[:, :k], lengths


def _krylov_space(product: Callable[[Floats], Floats], start: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis of start, G start, G² start, …, and its image under G."""
    size, width = start.shape
    blocks, images = [start], [product(start)]
    while len(blocks) < STEPS and (len(blocks) + 1) * width <= size:
        # Householder's Q is orthonormal even where the image adds no new direction.
        fresh = np.linalg.qr(np.hstack([*blocks, images[-1]]))[0][:, -width:]
        blocks.append(fresh)
        images.append(product(fresh))
    return np.hstack(blocks), np.hstack(images)


def _rayleigh_ritz(basis: Floats, image: Floats) -> tuple[Floats, Floats, Floats]:
    """Best eigenpairs within a space, in descending order, and what is missing in each."""
    small = basis.T @ image
    values, turn = np.linalg.eigh((small + small.T) / 2)
    values, turn = values[::-1], turn[:, ::-1]
    vectors = basis @ turn
    return values, vectors, image @ turn - vectors * values
