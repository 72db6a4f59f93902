"""Sparse exposures of tumors to known signatures under a negative binomial likelihood."""

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit
from provenmf.methods.poisson.kernels import leaves_out, mix_in_place, sweep_in_place

Floats = NDArray[np.float64]

TINY = 1e-300
SOLVED = 1e-3  # largest move of an exposure in a sweep, as a share of the tumor's largest


@njit(cache=True, nogil=True)
def likelihood(row: Floats, means: Floats, overdispersion: float) -> float:
    """Return the log-likelihood of a row of counts, without the constant of the data."""
    value = 0.0
    for j in range(len(row)):
        if row[j] > 0.0:
            value += row[j] * np.log(max(means[j], TINY))
        if overdispersion > 0.0:
            value -= (row[j] + 1.0 / overdispersion) * np.log1p(overdispersion * means[j])
        else:
            value -= means[j]
    return value


@njit(cache=True, nogil=True)
def improve_in_place(
    row: Floats, signatures: Floats, weights: Floats, means: Floats, a: float, sweeps: int
) -> float:
    """Make Newton sweeps on the weights of one row; return the likelihood reached.

    The score of a negative binomial count is the Poisson score (x - m) / m times 1 / (1 + a m).
    Before each sweep the counts and the sums of the signatures get these weights.
    """
    counts, sums = np.empty_like(row), np.empty(len(weights))
    mix_in_place(weights, signatures, means)
    for _ in range(sweeps):
        least = np.inf
        sums[:] = 0.0
        for j in range(len(row)):
            scale = 1.0 / (1.0 + a * means[j])
            counts[j] = scale * row[j]
            if 0.0 < counts[j] < least:
                least = counts[j]
            for i in range(len(weights)):
                sums[i] += scale * signatures[i, j]
        root = 1.0 / np.sqrt(least)
        moved = sweep_in_place(counts, signatures, sums, weights, means, 0.0, root)
        mix_in_place(weights, signatures, means)
        if moved <= SOLVED * weights.max():
            break
    return float(likelihood(row, means, a))


@njit(cache=True, nogil=True)
def sparse_exposures(
    rows: Floats, signatures: Floats, prices: Floats, a: float, sweeps: int, retry_sweeps: int
) -> Floats:
    """Return exposures (n, k) in which a signature stays only if the row's likelihood asks for it.

    Backward elimination: the best exposures to all signatures first; the least one is dropped if
    that lowers the log-likelihood by less than its price (n, k), until none of those left can be
    spared. Signatures sum to one; `a` is the overdispersion.
    """
    n, k = len(rows), len(signatures)
    exposures, means = np.zeros((n, k)), np.empty(rows.shape[1])
    for i in range(n):
        row, total = rows[i], rows[i].sum()
        if total <= 0.0:
            continue
        active, features = np.arange(k), signatures
        weights, needed = np.full(k, total / k), np.zeros(k, dtype=np.bool_)
        current = improve_in_place(row, features, weights, means, a, sweeps)
        while len(active) > 1:
            least, smallest = -1, np.inf
            for j in range(len(active)):
                if weights[j] < smallest and not needed[j]:
                    least, smallest = j, weights[j]
            if least < 0:
                break
            others = np.flatnonzero(np.arange(len(active)) != least)
            trial, fewer, new = weights[others], features[others], current
            if smallest > 0.0:
                trial = trial * (total / max(trial.sum(), TINY))
                mix_in_place(trial, fewer, means)
                if leaves_out(row, means):
                    needed[least] = True
                    continue
                new = improve_in_place(row, fewer, trial, means, a, retry_sweeps)
            if current - new < prices[i, active[least]]:
                weights, features, current = trial, fewer, new
                active, needed = active[others], needed[others]
            else:
                needed[least] = True
        exposures[i, active] = weights
    return exposures


@njit(cache=True, nogil=True)
def improve_rows_in_place(
    rows: Floats, features: Floats, weights: Floats, a: float, sweeps: int
) -> None:
    """Make Newton sweeps on the positive weights of every row.

    With counts, signatures and exposures, or with all three transposed.
    """
    means = np.empty(rows.shape[1])
    for i in range(len(rows)):
        active = np.flatnonzero(weights[i])
        if rows[i].any():
            chosen = weights[i][active]
            improve_in_place(rows[i], features[active], chosen, means, a, sweeps)
            weights[i, active] = chosen
        else:
            weights[i] = 0.0
