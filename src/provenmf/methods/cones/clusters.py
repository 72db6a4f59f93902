"""Products with the rows of each cluster, for dense and sparse blocks.

`labels` gives the cluster of each row; −1 belongs to none. `vectors` has one row per cluster.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit
from provenmf.linalg.storage import Matrix, is_sparse

# Products with the rows of each cluster, one reading of the data.
#
# Rows are visited in `order`, cluster after cluster, so that the cluster's own vectors stay in
# cache. `labels` gives the cluster of each row, `vectors` one row per cluster.

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


def products_with_own_vector(
    block: Matrix, labels: NDArray[np.intp], vectors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """⟨x, v⟩ of each row x with the vector v of its cluster; 0 for a row of none."""
    if is_sparse(block):
        row_of_entry = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        terms = block.data * vectors[labels[row_of_entry], block.indices]
        sums = np.bincount(row_of_entry, weights=terms, minlength=block.shape[0])
        products = sums.astype(np.float64, copy=False)
    else:
        from provenmf.methods.cones.clusters import fill_products_with_own_vector

        products = np.zeros(block.shape[0])
        order = cluster_order(labels)
        fill_products_with_own_vector(row_major(block), order, labels, vectors, products)
    products[labels < 0] = 0.0
    return products


def gram_products(
    block: Matrix, labels: NDArray[np.intp], vectors: NDArray[np.float64]
) -> NDArray[np.float64]:
    """X_kᵀ X_k v_k for the rows X_k of each cluster k, one row of the result per cluster."""
    from provenmf.methods.cones.clusters import add_gram_products, add_sparse_gram_products

    sums, order = np.zeros(vectors.shape), cluster_order(labels)
    if is_sparse(block):
        parts = block.indptr, block.indices, block.data
        add_sparse_gram_products(*parts, order, labels, vectors, sums)
    else:
        add_gram_products(row_major(block), order, labels, vectors, sums)
    return sums


def combine_rows(
    block: Matrix, labels: NDArray[np.intp], factors: NDArray[np.float64], n_clusters: int
) -> NDArray[np.float64]:
    """Σ factors[i] x_i over the rows i of each cluster, one row of the result per cluster."""
    if is_sparse(block):
        rows = np.flatnonzero(labels >= 0)
        shape = (n_clusters, block.shape[0])
        combined = sp.csr_array((factors[rows], (labels[rows], rows)), shape=shape) @ block
        return np.asarray(combined.toarray().astype(np.float64, copy=False))
    from provenmf.methods.cones.clusters import add_scaled_rows

    sums = np.zeros((n_clusters, block.shape[1]))
    add_scaled_rows(row_major(block), cluster_order(labels), labels, factors, sums)
    return sums


def cluster_order(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Row numbers cluster after cluster, rows of no cluster left out."""
    order = np.argsort(labels, kind="stable")
    return order[np.searchsorted(labels, 0, sorter=order) :]


def row_major(block: NDArray[np.floating]) -> NDArray[np.floating]:
    """The block with its rows contiguous: itself if they are."""
    return np.ascontiguousarray(block)
