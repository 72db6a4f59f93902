"""Pseudo-inverse decoding: raw weights of data rows from components in general position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput

# Singular values below this share of the largest one count as zero.
RANK_TOLERANCE = 1e-12
# Components of unit length are called dependent below this.
DEPENDENT = 1e-8


def decoder_of(components: NDArray[np.floating]) -> tuple[NDArray[np.float64], float]:
    """The Moore-Penrose inverse (d, k) of components (k, d), and how independent they are.

    data @ decoder are the least-squares weights. The second value is the smallest singular value
    of the components divided by the largest one; near zero, some are dependent, and the decoder
    then ignores the directions that are not there.
    """
    wide = np.asarray(components, dtype=np.float64)
    if wide.shape[0] > wide.shape[1]:
        left, singular, right = np.linalg.svd(wide, full_matrices=False)
        return right.T @ _divided(left.T, singular), 0.0
    # A thin QR first: the singular vectors are then those of a small triangle.
    orthonormal, triangle = np.linalg.qr(wide.T)
    left, singular, right = np.linalg.svd(triangle.T)
    independence = float(singular[-1] / singular[0]) if singular[0] > 0 else 0.0
    return orthonormal @ (right.T @ _divided(left.T, singular)), independence


def _divided(rows: NDArray[np.floating], singular: NDArray[np.floating]) -> NDArray[np.floating]:
    keep = singular > RANK_TOLERANCE * singular[0]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=keep)
    return np.asarray(inverse[:, None] * rows)


def real_matrix(values: object, name: str) -> NDArray[np.float64]:
    """Values as a finite matrix of real numbers; `name` is the argument they came in."""
    try:
        matrix = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(f"{name} is not a matrix ({error}): pass rows of equal length") from None
    if matrix.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} holds {matrix.dtype} entries: pass real numbers")
    if matrix.ndim != 2:
        raise InvalidInput(f"{name} has shape {matrix.shape}: pass a matrix, one component per row")
    if not np.isfinite(matrix).all():
        raise InvalidInput(f"{name} has NaN or infinite entries: fill or remove them")
    return matrix.astype(np.float64)


def require_independent(rows: NDArray[np.floating], name: str) -> None:
    """Refuse rows that are zero or linearly dependent; `name` is the argument they came in."""
    lengths = np.linalg.norm(np.asarray(rows, dtype=np.float64), axis=1)
    zero = np.flatnonzero(lengths == 0)
    if zero.size:
        raise InvalidInput(f"{name} has a zero row ({zero[0]}): every component needs a direction")
    _, independence = decoder_of(rows / lengths[:, None])
    if independence < DEPENDENT:
        raise InvalidInput(
            f"{name} has linearly dependent rows (smallest over largest singular value of the unit "
            f"rows: {independence:.1e}): pass independent components"
        )
