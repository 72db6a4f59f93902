"""Leading singular values from the Gram matrix or from products with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from provenmf.storage import as_dense

# Up to this size a full decomposition takes well under a second and cannot miss an eigenvalue.
DENSE_SIZE = 1000
# Up to so many columns the Gram matrix of the columns is formed: at most 200 MB.
GRAM_COLUMNS = 5000


def gram_of_columns(block: Any) -> NDArray[np.float64]:
    """blockᵀ block of a dense or sparse block, in double precision."""
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


def leading_eigenpairs(
    product: Callable[[NDArray[np.float64]], NDArray[np.float64]] | NDArray[np.float64],
    size: int,
    k: int,
) -> Spectrum:
    """The k leading eigenpairs of a symmetric positive semidefinite matrix.

    `product` is the matrix itself or a function that multiplies it with (size, m) matrices.
    """
    k = min(k, size)
    if isinstance(product, np.ndarray):
        gram = product
        if size <= DENSE_SIZE or 4 * k > size:
            values, vectors = eigh(gram, subset_by_index=(size - k, size - 1))
            return _with_errors(lambda v: gram @ v, values, vectors, converged=True)
        return _lanczos(lambda v: gram @ v, size, k)
    if k >= size - 1:
        gram = product(np.eye(size))
        return leading_eigenpairs((gram + gram.T) / 2, size, k)
    return _lanczos(product, size, k)


def with_fixed_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with their largest entry made positive, so that two runs agree."""
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])
    return vectors * np.where(signs == 0, 1.0, signs)[:, None]


def _lanczos(product: Callable[[Any], Any], size: int, k: int) -> Spectrum:
    def multiply(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        return product(vector.reshape(size, -1)).reshape(vector.shape)

    operator = LinearOperator((size, size), matvec=multiply, matmat=multiply, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(size)  # fixed: the same answer twice
    try:
        values, vectors = eigsh(operator, k=k, v0=start, tol=0)
        converged = True
    except ArpackNoConvergence as stopped:
        values, vectors = stopped.eigenvalues, stopped.eigenvectors
        converged = False
    return _with_errors(product, values, vectors, converged)


def _with_errors(
    product: Callable[[Any], Any], values: Any, vectors: Any, converged: bool
) -> Spectrum:
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    errors = np.linalg.norm(product(vectors) - vectors * values, axis=0)
    return Spectrum(np.maximum(values, 0.0), vectors.T.copy(), errors, converged)
