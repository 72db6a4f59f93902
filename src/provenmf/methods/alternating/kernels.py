"""Cyclic coordinate descent on rows of nonnegative weights, and a step ahead along their path."""

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit

Floats = NDArray[np.floating]


# Rows that are swept together: their weights and products stay in the innermost cache.
TILE_ROWS = 64


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def descend_coordinates_in_place(gram: Floats, cross: Floats, weights: Floats, sweeps: int) -> None:
    """Lower 1/2 w G w' - w c' over w >= 0 for every row of ``weights``.

    Rows are swept in tiles, kept transposed, so that a coordinate of all of them is one vector.
    """
    n, k = weights.shape
    tile = np.empty((k, TILE_ROWS), dtype=weights.dtype)
    products = np.empty((k, TILE_ROWS), dtype=weights.dtype)
    descent = np.empty(TILE_ROWS, dtype=weights.dtype)
    for start in range(0, n, TILE_ROWS):
        rows = min(TILE_ROWS, n - start)
        for r in range(rows):
            for j in range(k):
                tile[j, r] = weights[start + r, j]
                products[j, r] = cross[start + r, j]
        for _ in range(sweeps):
            for j in range(k):
                if gram[j, j] > 0.0:
                    descent[:rows] = products[j, :rows]
                    subtract_combination_in_place(gram[j], tile, rows, descent)
                    move_in_place(descent, gram[j, j], rows, tile[j])
        for r in range(rows):
            for j in range(k):
                weights[start + r, j] = tile[j, r]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def move_in_place(descent: Floats, curvature: float, rows: int, coordinate: Floats) -> None:
    """The best nonnegative value of one coordinate in every row."""
    inverse = descent.dtype.type(1.0 / curvature)
    for r in range(rows):
        coordinate[r] = max(coordinate[r] + descent[r] * inverse, 0.0)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def subtract_combination_in_place(
    coefficients: Floats, vectors: Floats, length: int, out: Floats
) -> None:
    """out -= coefficients @ vectors, four vectors at a time to spare loads and stores of out."""
    k = len(coefficients)
    fours = k - k % 4
    for i in range(0, fours, 4):
        a, b = coefficients[i], coefficients[i + 1]
        c, d = coefficients[i + 2], coefficients[i + 3]
        for r in range(length):
            out[r] -= (
                a * vectors[i, r]
                + b * vectors[i + 1, r]
                + c * vectors[i + 2, r]
                + d * vectors[i + 3, r]
            )
    for i in range(fours, k):
        for r in range(length):
            out[r] -= coefficients[i] * vectors[i, r]


@njit(cache=True, nogil=True)
def look_ahead_in_place(new: Floats, last: Floats, length: float, ahead: Floats) -> None:
    """ahead = max(new + length * (new - last), 0)."""
    n, k = new.shape
    for r in range(n):
        for j in range(k):
            ahead[r, j] = max(new[r, j] + length * (new[r, j] - last[r, j]), 0.0)
