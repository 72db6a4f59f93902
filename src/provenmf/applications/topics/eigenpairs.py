"""Leading eigenpairs of a symmetric operator by block Lanczos with thick restarts.

The basis grows by the residuals of the pairs that are not accurate yet (Knyazev & Argentati's span
of Ritz vectors and residuals, kept over several steps) and is cut back to the leading Ritz vectors
when it becomes wide. One product with the operator serves all residuals at once: sparse data are
read once a step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.spectral import Spectrum

Floats = NDArray[np.float64]

WIDEST = 4  # the basis is cut back at so many times its first width


def leading_eigenpairs_of(
    product: Callable[[Floats], Floats],
    start: Floats,
    k: int,
    *,
    tol: float = 1e-2,
    max_products: int = 40,
) -> Spectrum:
    """The k algebraically largest eigenpairs of a symmetric matrix.

    Parameters
    ----------
    product : callable
        Multiplies the matrix with an array (size, m).
    start : array (size, m)
        First guess of the subspace, m ≥ k; a few more columns than k speed it up.
    k : int
        How many pairs.
    tol : float, default 0.01
        Stop when all residuals ‖M u − λ u‖ are at most tol · max(λ_k, λ_1 / 1000).
    max_products : int, default 40
        Stop anyway after so many products.

    Returns
    -------
    Spectrum
        With the residuals as `errors`; `converged` says whether tol was met. It holds as many
        pairs as start has columns, the first k to the accuracy asked for.
    """
    width = start.shape[1]
    basis = _orthonormal(_orthonormal(start))
    image = product(basis)
    inner = basis.T @ image
    used = 1
    while True:
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        values, turn = values[::-1][:width], np.ascontiguousarray(turn[:, ::-1][:, :width])
        vectors, images = basis @ turn, image @ turn
        residuals = images - vectors * values
        errors = np.linalg.norm(residuals, axis=0)
        limit = tol * max(values[k - 1], values[0] / 1000)
        open_pairs = np.flatnonzero(errors > limit)
        converged = not np.any(open_pairs < k)
        if converged or used >= max_products:
            return Spectrum(values, vectors.T, errors, converged)
        if basis.shape[1] + len(open_pairs) > WIDEST * width:
            basis, image, inner = vectors, images, np.diag(values)
        new = _orthogonal_to(basis, residuals[:, open_pairs])
        if not new.shape[1]:
            return Spectrum(values, vectors.T, errors, converged)
        new_image = product(new)
        beside = basis.T @ new_image
        inner = np.block([[inner, beside], [beside.T, new.T @ new_image]])
        basis, image = np.hstack([basis, new]), np.hstack([image, new_image])
        used += 1


def _orthogonal_to(basis: Floats, columns: Floats) -> Floats:
    """An orthonormal basis of what the columns add to an orthonormal basis."""
    for _ in range(2):  # twice is enough
        columns = _orthonormal(columns - basis @ (basis.T @ columns))
    return columns


def _orthonormal(columns: Floats) -> Floats:
    """Orthonormal columns with the same span, from the Gram matrix; dependent ones are dropped."""
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    values, turn = np.linalg.eigh(columns.T @ columns)
    kept = values > 1e-10
    return np.asarray(columns @ (turn[:, kept] / np.sqrt(values[kept])))
