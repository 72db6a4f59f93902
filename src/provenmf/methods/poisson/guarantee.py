"""Bounds of the Kullback-Leibler divergence of counts from a product of factors.

For rows x of X (n, d), weights W (n, k) and components C (k, d), with u = w C:

    D(x || u) = sum_j x_j log(x_j / u_j) - x_j + u_j,     0 log 0 = 0

Only products at the positive entries of X are needed besides the sums of the factors, so sparse
data stay sparse.

With one factor fixed D(X || WC) is convex, and a feasible point of the dual problem proves how much
the other factor could still gain (`least_divergences`). In both factors it is not
convex: a loose bound holds for all pairs (`least_divergence`), a tight one for one component.
All are proved for this data, with no assumption.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block
from provenmf.linalg.hull import product_rounding
from provenmf.linalg.storage import Matrix, as_dense, stored_values
from provenmf.methods.poisson.kernels import products_at, sums_by
from provenmf.results import Certificate, Check

Floats = NDArray[np.float64]


class Excess(NamedTuple):
    """Divergences of one block; all but the rows' parts add up over blocks.

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
    """Return divergences and pulls of a block of rows."""
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


def least_divergences(logs: Floats, totals: Floats, pulls: Floats, sums: Floats) -> Floats:
    """Return proved lower bounds of D(x || w C) over all w >= 0, one for each row x.

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


# Columns of a group for each component: fewer leave little besides the k largest eigenvalues, more
# make the entries' bound r_i worse.
COLUMNS = 3


def least_divergence(fit: Fit) -> float:
    """Return a divergence that no pair of k >= 2 nonnegative factors goes below, rounded down.

    Columns are split into groups, and each group G gets separate factors, which can only help:

        D(X || WC) >= Σ_G min over Y of rank k of D(X_G || Y).

    At the minimum the row sums of Y are those of X_G, since scaling a row of the weights is free;
    no entry of row i of Y exceeds r_i = Σ_{j in G} x_ij. With h(u) = (1 + u) log(1 + u) − u, which
    is at least u² / (2 + 2u/3) for u >= −1 (Bennett and Bernstein),

        x log(x/y) − x + y = y h((x − y)/y) >= 3 (x − y)² / (2 (x + 2y)) >= (x − y)² / (2 m_i),
        m_i = (max_j x_ij + 2 r_i) / 3,

    and the weighted sum of squares is bounded by Eckart and Young: half the sum of all but the k
    largest eigenvalues of Σ_i x_i x_iᵀ / m_i. What is lost is that entries of Y are taken to be as
    large as their row's sum: the bound is a few per cent of what can be reached. For k = 1 the best
    pair is known, the product of the margins.

    Of the data divided by `fit.unit`.
    """
    n, d = fit.blocks.shape
    k = fit.n_components
    edges = np.linspace(0, d, max(1, d // (COLUMNS * k)) + 1).astype(int).tolist()
    groups = list(zip(edges[:-1], edges[1:], strict=True))

    def moments(block: Block) -> Floats:
        columns = sp.csc_array(block) if sp.issparse(block) else block
        return np.concatenate([_weighted_moments(columns[:, a:b]).ravel() for a, b in groups])

    found = np.asarray(fit.blocks.map_reduce(moments))
    least, start = 0.0, 0
    for a, b in groups:
        gram = found[start : start + (b - a) ** 2].reshape(b - a, b - a)
        start += gram.size
        left = np.linalg.eigvalsh(gram)[: max(0, b - a - k)]
        rounding = 8 * product_rounding(n + b - a) * float(np.trace(gram))
        least += max(0.0, float(left.sum()) - len(left) * rounding) / 2
    return least


def _weighted_moments(columns: Block) -> Floats:
    """Return Σ_i x_i x_iᵀ / m_i of some columns; rows of zeros add nothing."""
    rows = as_dense(columns).astype(np.float64)
    sizes = (rows.max(axis=1) + 2 * rows.sum(axis=1)) / 3
    sizes *= 1 + product_rounding(rows.shape[1])
    some = sizes > 0
    scaled = rows[some] / np.sqrt(sizes[some])[:, None]
    return np.asarray(scaled.T @ scaled)


STATIONARY = 1e-3  # gaps, as a share of the divergence
KNOWN = 1e4  # deviance over its rounding error, from which its share is right to a tenth of a %
EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff, to be safe


def certify(fit: Fit) -> Certificate:
    """Report the divergence and what the weights or the components alone could still gain."""
    measured = measure(fit)
    if not np.isfinite(measured.rows).all():
        hidden = int(np.count_nonzero(~np.isfinite(measured.rows)))
        note = f"{hidden} rows have counts where the product is zero: their divergence is infinite"
        return Certificate(
            fit.method, checks=(Check("finite divergence", "likelihood", "fails", note=note),)
        )
    rows, columns = fit.sums, column_sums(fit)
    fitted = float(fit.weights_sums @ fit.components.sum(axis=1))
    size = float(measured.log_sizes.sum() + 3 * rows.sum()) + fitted
    slack = sum_rounding(fit) * size
    total = float(measured.rows.sum())
    least_by_columns = least_divergences(
        measured.column_logs, columns, measured.column_pull, fit.weights_sums
    ).sum()
    weights_gap = max(total - float(measured.least.sum()), 0.0) + slack
    components_gap = max(total - float(least_by_columns), 0.0) + slack
    share = max(weights_gap, components_gap) / total if total > slack else 0.0
    check = Check(
        "either factor near its best",
        "Fenchel duality",
        "holds" if share <= STATIONARY else "fails",
        value=share,
        threshold=STATIONARY,
        note="proved gap of either factor, the other fixed, as a share of the divergence; another "
        "pair of factors may still be better",
    )
    independent, rounding = independence_divergence(fit, rows, columns)
    lower = max(0.0, independent - rounding) if fit.n_components == 1 else least_divergence(fit)
    explained = {}  # where independence fits as well as rounding can tell, no share is known
    if independent > KNOWN * (slack + rounding):
        explained = {"deviance_explained": 1.0 - total / independent}
    return Certificate(
        fit.method,
        checks=(check,),
        bounds={
            "weights_divergence_gap": weights_gap * fit.unit,
            "components_divergence_gap": components_gap * fit.unit,
            "divergence_lower_bound": lower * fit.unit,
        },
        measures={"divergence": total * fit.unit, **explained},
    )


class Divergences(NamedTuple):
    """Of each row (n,): divergence, logarithms, their sizes, and the least for any weights.

    Of each column: logarithms (d,) and pulls (d, k), see `linalg.divergence.Excess`.
    """

    rows: Floats
    row_logs: Floats
    log_sizes: Floats
    least: Floats
    column_logs: Floats
    column_pull: Floats


def measure(fit: Fit) -> Divergences:
    """Measure the divergences of all rows in one pass."""
    components, sums = fit.components, fit.components.sum(axis=1)

    def of_block(block: Block, weights: Floats, totals: Floats) -> tuple[Any, Floats]:
        found = excess(block, weights, components)
        least = least_divergences(found.row_logs, totals, found.row_pull, sums)
        by_row = np.column_stack([found.rows, found.row_logs, found.log_sizes, least])
        return (found.column_logs, found.column_pull), by_row

    columns, by_row = fit.blocks.sum_and_keep(of_block, fit.weight_rows, fit.sums)
    return Divergences(*np.ascontiguousarray(by_row.array().T), *columns)


def column_sums(fit: Fit) -> Floats:
    """Sum each column of the data in double precision."""

    def of_block(block: Block) -> Floats:
        return np.asarray(block.astype(np.float64).sum(axis=0)).ravel()

    return np.asarray(fit.blocks.map_reduce(of_block))


def independence_divergence(fit: Fit, rows: Floats, columns: Floats) -> tuple[float, float]:
    """Return the divergence from the product of the margins, the best of rank one; its rounding.

    Σ x log x − Σ r log r − Σ c log c + N log N, with row sums r, column sums c and total N.
    """

    def entropy(values: Floats) -> Floats:
        positive = values[values > 0]
        terms = positive * np.log(positive)
        return np.array([terms.sum(), np.abs(terms).sum() + positive.sum()])

    def of_block(block: Block) -> Floats:
        return entropy(np.asarray(stored_values(block), dtype=np.float64).ravel())

    terms = np.array(
        [
            fit.blocks.map_reduce(of_block),
            entropy(rows),
            entropy(columns),
            entropy(rows.sum(keepdims=True)),
        ]
    )
    found = float(np.array([1, -1, -1, 1]) @ terms[:, 0])
    return found, sum_rounding(fit) * float(terms[:, 1].sum())


def sum_rounding(fit: Fit) -> float:
    """Return the share of a sum over all entries that rounding may add or take, in any order.

    A sum of m terms is off by at most (m − 1) u of the sum of their sizes (Higham 2002, Section
    4.2). Here there are up to d terms in a row, n rows, and each term rests on products of k.
    """
    return 2 * (sum(fit.blocks.shape) + fit.n_components + 32) * EPS
