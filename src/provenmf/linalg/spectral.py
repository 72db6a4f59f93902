"""Leading singular values from the Gram matrix or from products with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from provenmf.linalg.norms import power_of_two
from provenmf.linalg.storage import Matrix, as_dense

# Leading eigenpairs by block Krylov spaces: repeated eigenvalues, and the same answer twice.
#
# A single vector sees one direction of every eigenspace; a block sees as many as it has columns.

Floats = NDArray[np.float64]

# Up to this size a full decomposition takes well under a second and cannot miss an eigenvalue.
DENSE_SIZE = 1000
# Most columns for which their Gram matrix is formed: 200 MB.
GRAM_COLUMNS = 5000


@dataclass(frozen=True)
class Settings:
    """Sizes of the Krylov spaces and tolerances of the eigenpairs; they decide the time only."""

    steps: int = 6  # products with the matrix before each restart
    spare: int = 8  # columns beyond those asked for, at the least
    small: int = 64  # up to this size all eigenpairs are as fast as some
    negligible: float = 1e-60  # relative to the largest entry
    tolerance: float = 1e-9  # of a residual, relative to the largest eigenvalue


SETTINGS = Settings()


def block_krylov(
    product: Callable[[Floats], Floats], size: int, k: int, *, tol: float, max_restarts: int = 20
) -> tuple[Floats, Floats, Floats]:
    """Return Ritz values (descending), vectors (size, k) and residual lengths of a matrix.

    Ends once all k residuals are at most `tol` times the largest value. The start is fixed.
    """
    width = min(size, k + max(SETTINGS.spare, k // 4))
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((size, width)))[0]
    for _ in range(max_restarts):
        values, vectors, residuals = _rayleigh_ritz(*_krylov_space(product, vectors))
        values, vectors = values[:width], vectors[:, :width]
        lengths = np.linalg.norm(residuals[:, :k], axis=0)
        if lengths.max() <= tol * abs(values[0]):
            break
    return values[:k], vectors[:, :k], lengths


def _krylov_space(product: Callable[[Floats], Floats], start: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis of start, G start, G² start, …, and its image under G."""
    size, width = start.shape
    blocks, images = [start], [product(start)]
    while len(blocks) < SETTINGS.steps and (len(blocks) + 1) * width <= size:
        # Householder's Q is orthonormal even where the image adds no new direction.
        fresh = np.linalg.qr(np.hstack([*blocks, images[-1]]))[0][:, -width:]
        blocks.append(fresh)
        images.append(product(fresh))
    return np.hstack(blocks), np.hstack(images)


def _rayleigh_ritz(basis: Floats, image: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the best eigenpairs within a space, in descending order, and their residuals."""
    small = basis.T @ image
    values, turn = np.linalg.eigh((small + small.T) / 2)
    values, turn = values[::-1], turn[:, ::-1]
    vectors = basis @ turn
    return values, vectors, image @ turn - vectors * values


def gram_of_columns(block: Matrix) -> NDArray[np.float64]:
    """Return blockᵀ block of a dense or sparse block, in double precision."""
    wide = block.astype(np.float64, copy=False)
    return as_dense(wide.T @ wide)


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenvalues of a Gram matrix, each with a bound on its error.

    values : descending; vectors : one per row; errors : ‖G v − θ v‖, within which an
    eigenvalue of G lies; converged : whether the iteration met its tolerance.
    """

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    errors: NDArray[np.float64]
    converged: bool = True


def leading_eigenpairs(gram: Floats, k: int) -> tuple[Floats, Floats, float]:
    """Return the k leading eigenvalues, eigenvectors as columns, and the largest residual length.

    A large positive semidefinite matrix is only multiplied with a few vectors.
    """
    if len(gram) <= DENSE_SIZE or 4 * k > len(gram):
        values, vectors = dense_eigenpairs(gram, k)
        residuals = np.linalg.norm(gram @ vectors - vectors * values, axis=0)
    else:
        values, vectors, residuals = block_krylov(
            lambda v: gram @ v, len(gram), k, tol=SETTINGS.tolerance
        )
    return values, vectors, float(residuals.max())


def dense_eigenpairs(
    gram: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k leading eigenvalues, descending, and eigenvectors as columns.

    Scaled to a largest entry of about one, and entries that no digit of the answer sees set to
    zero: LAPACK's solvers can hang on numbers of very different size.
    """
    size = len(gram)
    largest = float(np.abs(gram).max(initial=0.0))
    unit = float(power_of_two(largest)) if largest > 0 else 1.0
    scaled = gram / unit
    scaled[np.abs(scaled) < SETTINGS.negligible] = 0.0
    if size == 1:  # older scipy passes too small a work array
        values, vectors = scaled[0], np.ones((1, 1))
    elif k == size or size <= SETTINGS.small:
        values, vectors = eigh(scaled, driver="evd")
    else:
        values, vectors = eigh(scaled, driver="evx", subset_by_index=(size - k, size - 1))
        if len(values) < k:  # bisection may lose eigenvalues that are equal
            values, vectors = eigh(scaled, driver="evd")
    return values[::-1][:k] * unit, vectors[:, ::-1][:, :k]


def with_fixed_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make the largest entry of each row positive, so that two runs agree."""
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])
    return vectors * np.where(signs == 0, 1.0, signs)[:, None]
