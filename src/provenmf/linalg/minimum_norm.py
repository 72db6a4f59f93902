"""The point of least length in a convex hull."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls


def minimum_norm_weights(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights w ≥ 0, Σw = 1, of the shortest Σ w_i z_i, from the Gram matrix of the z_i.

    Lawson and Hanson's reduction: for any factor RᵀR of the Gram matrix, the nonnegative least
    squares solution of [R; 1ᵀ] w = [0; 1] is a multiple of it. The active set is exact.
    """
    size = gram.shape[0]
    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    target = np.zeros(size + 1)
    target[-1] = 1.0
    solution, _ = nnls(np.vstack([root, np.ones(size)]), target, maxiter=100 * size)
    return np.asarray(solution / solution.sum())
