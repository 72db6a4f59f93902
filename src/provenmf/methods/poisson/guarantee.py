"""Proved and measured statements about factors of counts.

For rows x of X (n, d), weights W (n, k) and components C (k, d), with u = w C:

    D(x || u) = sum_j x_j log(x_j / u_j) - x_j + u_j,     0 log 0 = 0

Only products at the positive entries of X are needed besides the sums of the factors, so sparse
data stay sparse.

With one factor fixed D(X || WC) is convex, and a feasible point of the dual problem proves how much
the other factor could still gain (`least_divergences`), with no assumption. In both factors it is
not convex. Factors of a negative binomial likelihood are measured by its deviance instead
(`of_overdispersed`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import xlogy

from provenmf.certificate.measurement import Fit
from provenmf.data import Block
from provenmf.linalg.storage import Matrix, as_dense, stored_values
from provenmf.methods.poisson.kernels import products_at, sums_by
from provenmf.results import Certificate, Check

Floats = NDArray[np.float64]


class Excess(NamedTuple):
    """Divergences of rows, and the sums behind the lower bounds for rows and columns.

    rows : divergence of each row (n,), infinite where a product vanishes and the count does not.
    log_sizes : sum_j x_j |log(x_j / u_j)| of each row, which rounding errors are shares of.
    least : lower bound of each row's divergence for any weights.
    column_logs : sum_i x_i log(x_i / u_i) of each column; column_pull : (X / WC)' W (d, k).
    """

    rows: Floats
    log_sizes: Floats
    least: Floats
    column_logs: Floats
    column_pull: Floats


def excess(block: Matrix, weights: Floats, components: Floats) -> Excess:
    """Measure a block of rows."""
    counts = sp.csr_array(block).astype(np.float64)
    counts.eliminate_zeros()
    lines = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    means = np.maximum(products_at(lines, counts.indices, weights, components), 0.0)
    with np.errstate(divide="ignore"):
        ratio = counts.data / means
    logs = counts.data * np.log(ratio)
    row_logs = sums_by(lines, logs, counts.shape[0])
    pulls = sp.csr_array((ratio, counts.indices, counts.indptr), shape=counts.shape)
    sums, totals = components.sum(axis=1), np.asarray(counts.sum(axis=1)).ravel()
    return Excess(
        rows=row_logs - totals + weights @ sums,
        log_sizes=sums_by(lines, np.abs(logs), counts.shape[0]),
        least=least_divergences(row_logs, totals, pulls @ components.T, sums),
        column_logs=sums_by(counts.indices, logs, counts.shape[1]),
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


STATIONARY = 1e-3  # gaps, as a share of the divergence
KNOWN = 1e4  # deviance over its rounding error, from which its share is right to a tenth of a %
EPS = float(np.finfo(np.float64).eps)  # twice the unit roundoff, to be safe


def certify(fit: Fit) -> Certificate:
    """Report the divergence and what the weights or the components alone could still gain.

    Of negative binomial counts, whose overdispersion the record names, report their deviance.
    """
    overdispersion = float(fit.factorization.parameters.get("overdispersion", 0.0))
    if overdispersion > 0:
        return of_overdispersed(fit, overdispersion)
    measured = measure(fit)
    if not np.isfinite(measured.rows).all():
        return _infinite(fit, int(np.count_nonzero(~np.isfinite(measured.rows))))
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
    explained = {}  # where independence fits as well as rounding can tell, no share is known
    if independent > KNOWN * (slack + rounding):
        explained = {"deviance_explained": 1.0 - total / independent}
    return Certificate(
        fit.method,
        checks=(check,),
        bounds={
            "weights_divergence_gap": weights_gap * fit.unit,
            "components_divergence_gap": components_gap * fit.unit,
        },
        measures={"divergence": total * fit.unit, **explained},
    )


def _infinite(fit: Fit, rows: int) -> Certificate:
    note = f"{rows} rows have counts where the product is zero: their divergence is infinite"
    check = Check("finite divergence", "likelihood", "fails", note=note)
    return Certificate(fit.method, checks=(check,))


def of_overdispersed(fit: Fit, overdispersion: float) -> Certificate:
    """Report which share of the deviance of negative binomial counts the factors explain.

    With variance u + a u^2 half the deviance of an entry is

        x log(x / u) - (x + 1/a) log((1 + a x) / (1 + a u)),

    so that a row of very many counts does not decide. What is explained is relative to the product
    of the margins.
    """
    a, columns, components = overdispersion * fit.unit, column_sums(fit), fit.components
    profile = columns / max(float(columns.sum()), 1e-300)

    def of_block(block: Block, weights: Floats, totals: Floats) -> Floats:
        x = as_dense(block).astype(np.float64)
        of_means = [
            xlogy(x, x) - xlogy(x, u) - (x + 1 / a) * (np.log1p(a * x) - np.log1p(a * u))
            for u in (weights @ components, np.outer(totals, profile))
        ]
        infinite = np.count_nonzero(~np.isfinite(of_means[0]).all(axis=1))
        return np.array([of_means[0].sum(), of_means[1].sum(), infinite])

    reached, independent, infinite = fit.blocks.map_reduce(of_block, fit.weight_rows, fit.sums)
    if infinite:
        return _infinite(fit, int(infinite))
    explained = {}
    if independent > KNOWN * sum_rounding(fit) * float(fit.sums.sum() + fit.entries / a):
        explained = {"negative_binomial_deviance_explained": float(1.0 - reached / independent)}
    return Certificate(fit.method, measures={"overdispersion": overdispersion, **explained})


def measure(fit: Fit) -> Excess:
    """Measure all rows in one pass."""
    components = fit.components

    def of_block(block: Block, weights: Floats) -> tuple[Any, Floats]:
        found = excess(block, weights, components)
        by_row = np.column_stack([found.rows, found.log_sizes, found.least])
        return (found.column_logs, found.column_pull), by_row

    columns, by_row = fit.blocks.sum_and_keep(of_block, fit.weight_rows)
    return Excess(*np.ascontiguousarray(by_row.array().T), *columns)


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
