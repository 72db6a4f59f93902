"""The Kullback-Leibler divergence of counts from a product of factors, and what bounds it.

For rows x of X (n, d), weights W (n, k) and components C (k, d), with u = w C:

    D(x || u) = sum_j x_j log(x_j / u_j) - x_j + u_j,     0 log 0 = 0

Only products at the positive entries of X are needed besides the sums of the factors, so sparse
data stay sparse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.linalg.storage import Matrix

Floats = NDArray[np.float64]

ENTRIES_AT_ONCE = 2_000_000  # products of weights and components held at a time


class Excess(NamedTuple):
    """What one block says of the divergence; all but the rows' parts add up over blocks.

    rows : divergence of each row (n,), infinite where a product vanishes and the count does not.
    row_logs : sum_j x_j log(x_j / u_j) of each row; column_logs : the same of each column;
        log_sizes : sum_j x_j |log(x_j / u_j)| of each row, which rounding errors are shares of.
    row_pull : (X / WC) C' (n, k); column_pull : (X / WC)' W (d, k).
    """

    rows: Floats
    row_logs: Floats
    log_sizes: Floats
    column_logs: Floats
    row_pull: Floats
    column_pull: Floats


def excess(block: Matrix, weights: Floats, components: Floats) -> Excess:
    """Divergences and pulls of a block of rows."""
    counts = sp.csr_array(block).astype(np.float64)
    counts.eliminate_zeros()
    lines = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    means = products_at(lines, counts.indices, weights, components)
    with np.errstate(divide="ignore"):
        ratio = counts.data / means
    logs = counts.data * np.log(ratio)
    row_logs = sums_by(lines, logs, counts.shape[0])
    pulls = sp.csr_array((ratio, counts.indices, counts.indptr), shape=counts.shape)
    totals = weights @ components.sum(axis=1)
    return Excess(
        rows=row_logs - np.asarray(counts.sum(axis=1)).ravel() + totals,
        row_logs=row_logs,
        log_sizes=sums_by(lines, np.abs(logs), counts.shape[0]),
        column_logs=sums_by(counts.indices, logs, counts.shape[1]),
        row_pull=pulls @ components.T,
        column_pull=pulls.T @ weights,
    )


def sums_by(places: NDArray[np.integer], values: Floats, length: int) -> Floats:
    """Sum of the values at each place."""
    return np.bincount(places, weights=values, minlength=length).astype(np.float64)


def products_at(
    rows: NDArray[np.intp], columns: NDArray[np.integer], weights: Floats, components: Floats
) -> Floats:
    """Entries (WC)[rows, columns], a part at a time."""
    out = np.empty(len(rows))
    features = np.ascontiguousarray(components.T)
    part = max(1, ENTRIES_AT_ONCE // max(1, len(components)))
    for start in range(0, len(rows), part):
        here = slice(start, start + part)
        out[here] = np.einsum("ij,ij->i", weights[rows[here]], features[columns[here]])
    return out


def least_divergences(logs: Floats, totals: Floats, pulls: Floats, sums: Floats) -> Floats:
    """Proved lower bounds of D(x || w C) over all w >= 0, one for each row x.

    For every y >= 0 with C y <= C 1 and all w >= 0, D(x || u y) >= 0 gives

        D(x || u)  >=  sum_j x_j log y_j + u.(1 - y)  >=  sum_j x_j log y_j.

    We take y = x / u at the weights at hand, divided by max_i (C y)_i / (C 1)_i.

    Parameters
    ----------
    logs : sum_j x_j log(x_j / u_j); totals : sum_j x_j, each (n,).
    pulls : (n, k), C y before the division; sums : (k,), C 1.
    """
    used = sums > 0
    worst = (pulls[:, used] / sums[used]).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = logs - totals * np.log(worst)
    return np.where(totals > 0, np.maximum(bound, 0.0), 0.0)
