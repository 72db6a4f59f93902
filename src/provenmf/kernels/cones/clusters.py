"""Products with the rows of each cluster, one reading of the data.

Rows are visited in `order`, cluster after cluster, so that the cluster's own vectors stay in
cache. `labels` gives the cluster of each row, `vectors` one row per cluster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]

# Sums may be reordered (that is what lets them run in vector registers), nothing else.
FAST = {"reassoc", "contract"}


@njit(cache=True, fastmath=FAST)
def add_gram_products(
    block: Floats,
    order: Ints,
    labels: Ints,
    vectors: Floats,
    sums: Floats,
) -> None:
    """Add ⟨x, vectors[k]⟩ x to sums[k] for every row x of cluster k, in place.

    The row is still in cache when it is used for the second time.
    """
    columns = block.shape[1]
    for i in order:
        row, vector, total = block[i], vectors[labels[i]], sums[labels[i]]
        product = 0.0
        for j in range(columns):
            product += row[j] * vector[j]
        for j in range(columns):
            total[j] += product * row[j]


@njit(cache=True, fastmath=FAST)
def add_sparse_gram_products(
    pointers: Ints,
    columns: Ints,
    values: Floats,
    order: Ints,
    labels: Ints,
    vectors: Floats,
    sums: Floats,
) -> None:
    """`add_gram_products` for the rows of a CSR matrix."""
    for i in order:
        vector, total = vectors[labels[i]], sums[labels[i]]
        product = 0.0
        for p in range(pointers[i], pointers[i + 1]):
            product += values[p] * vector[columns[p]]
        for p in range(pointers[i], pointers[i + 1]):
            total[columns[p]] += product * values[p]


@njit(cache=True, fastmath=FAST)
def fill_products_with_own_vector(
    block: Floats,
    order: Ints,
    labels: Ints,
    vectors: Floats,
    products: Floats,
) -> None:
    """Write ⟨x, vectors[k]⟩ to products for every row x of cluster k, in place."""
    columns = block.shape[1]
    for i in order:
        row, vector = block[i], vectors[labels[i]]
        product = 0.0
        for j in range(columns):
            product += row[j] * vector[j]
        products[i] = product


@njit(cache=True, fastmath=FAST)
def add_scaled_rows(
    block: Floats,
    order: Ints,
    labels: Ints,
    factors: Floats,
    sums: Floats,
) -> None:
    """Add factors[i] x_i to sums[k] for every row x_i of cluster k, in place."""
    columns = block.shape[1]
    for i in order:
        row, factor, total = block[i], factors[i], sums[labels[i]]
        for j in range(columns):
            total[j] += factor * row[j]
