"""Sparse exposures of tumors to known signatures under a negative binomial likelihood."""

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import njit
from provenmf.methods.poisson.kernels import (
    leaves_out,
    mix_in_place,
    stepped,
    sweep_in_place,
    weighted_product,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

TINY = 1e-300
LEAST_MEAN = 0.1  # below it the normal approximation of a score test is off
SHRINKS = 1e-3
RIDGE = 1e-9  # signatures may be alike
WORTH = 0.5  # share of its price that a signature must promise
MOST_OFF = 4.0  # times its price: a greater loss in the quadratic form is believed
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
def inverse_variances(means: Floats, a: float) -> Floats:
    """Return one over the variances of counts with these means."""
    raised = np.maximum(means, LEAST_MEAN)
    return 1.0 / (raised * (1.0 + a * raised))


@njit(cache=True, nogil=True)
def candidates(
    row: Floats,
    signatures: Floats,
    weights: Floats,
    prices: Floats,
    means: Floats,
    a: float,
    most: int,
) -> Floats:
    """Return weights, with first steps for the unused signatures that promise most.

    The gain of a signature that a row does not use is that of a score test. It is larger if the
    others are fitted again, so that it need not reach the price.
    """
    k = len(weights)
    gains, steps = np.zeros(k), np.zeros(k)
    mix_in_place(weights, signatures, means)
    precisions = inverse_variances(means, a)
    residuals = row - means
    for i in np.flatnonzero(weights == 0.0):
        score = weighted_product(precisions, signatures[i], residuals)
        information = weighted_product(precisions, signatures[i], signatures[i])
        if score > 0.0 and 0.5 * score**2 / information > WORTH * prices[i]:
            gains[i], steps[i] = score**2 / information, score / information
    more = weights.copy()
    for i in np.argsort(-gains)[:most]:
        more[i] += steps[i]
    return more


@njit(cache=True, nogil=True)
def losses(features: Floats, weights: Floats, means: Floats, a: float) -> Floats:
    """Return how much the quadratic approximation of the likelihood falls without each weight."""
    k = len(weights)
    information, precisions = np.empty((k, k)), inverse_variances(means, a)
    for i in range(k):
        for h in range(i + 1):
            information[i, h] = weighted_product(precisions, features[i], features[h])
            information[h, i] = information[i, h]
        information[i, i] = information[i, i] * (1.0 + RIDGE) + TINY
    return 0.5 * weights**2 / np.diag(np.linalg.inv(information))


@njit(cache=True, nogil=True)
def sparse_exposures(
    rows: Floats,
    signatures: Floats,
    prices: Floats,
    start: Floats,
    a: float,
    sweeps: int,
    retry_sweeps: int,
    more: int,
) -> Floats:
    """Return exposures (n, k) in which a signature stays only if the row's likelihood asks for it.

    Backward elimination, from all signatures, or from those with positive exposures in `start` and
    the few that promise most beside them. The one that seems least needed is dropped if that lowers
    the log-likelihood by less than its price (n, k), until none of those left can be spared.
    Signatures sum to one; `a` is the overdispersion.
    """
    n, k = len(rows), len(signatures)
    exposures, means = np.zeros((n, k)), np.empty(rows.shape[1])
    for i in range(n):
        row, total = rows[i], rows[i].sum()
        if total <= 0.0:
            continue
        first = np.full(k, total / k)
        if start[i].any():
            first = candidates(row, signatures, start[i], prices[i], means, a, more)
            mix_in_place(first, signatures, means)
            if leaves_out(row, means):
                first[:] = total / k
        active = np.flatnonzero(first)
        features, weights = signatures[active], first[active]
        current = improve_in_place(row, features, weights, means, a, sweeps)
        promised = losses(features, weights, means, a)
        while len(active) > 1:
            least = int(np.argmin(promised - prices[i, active]))
            price = prices[i, active[least]]
            if promised[least] > MOST_OFF * price:
                break
            others = np.flatnonzero(np.arange(len(active)) != least)
            trial, fewer, new = weights[others], features[others], current
            if weights[least] > 0.0:
                trial = trial * (total / max(trial.sum(), TINY))
                mix_in_place(trial, fewer, means)
                if leaves_out(row, means):
                    promised[least] = np.inf
                    continue
                new = improve_in_place(row, fewer, trial, means, a, retry_sweeps)
            if current - new < price:
                weights, features, current, active = trial, fewer, new, active[others]
                needed = promised[others] == np.inf
                mix_in_place(weights, features, means)
                promised = losses(features, weights, means, a)
                promised[needed] = np.inf
            else:
                promised[least] = np.inf
        exposures[i, active] = weights
    return exposures


@njit(cache=True, nogil=True)
def improve_exposures_in_place(
    rows: Floats, signatures: Floats, exposures: Floats, a: float, sweeps: int
) -> None:
    """Make Newton sweeps on the positive exposures of every row."""
    means = np.empty(rows.shape[1])
    for i in range(len(rows)):
        active = np.flatnonzero(exposures[i])
        chosen = exposures[i][active]
        improve_in_place(rows[i], signatures[active], chosen, means, a, sweeps)
        exposures[i, active] = chosen


@njit(cache=True, nogil=True, error_model="numpy")
def improve_signatures_in_place(
    columns: Floats,
    first: Ints,
    users: Ints,
    exposures: Floats,
    entries: Floats,
    free: Ints,
    a: float,
    sweeps: int,
) -> None:
    """Make Newton sweeps on entries (d, k) of the free signatures, for columns (d, n) of counts.

    Signature i has `exposures` in the tumors `users`, both from first[i] to first[i + 1]. A step
    takes no more than a factor 1 / SHRINKS from an entry, so that sums of means stay accurate.
    """
    means, scales = np.empty(columns.shape[1]), np.empty(columns.shape[1])
    for c in range(len(columns)):
        counts, weights = columns[c], entries[c]
        if not counts.any():
            for i in free:
                weights[i] = 0.0
            continue
        for _ in range(sweeps):
            means[:] = 0.0
            for i in range(len(weights)):
                for p in range(first[i], first[i + 1]):
                    means[users[p]] += weights[i] * exposures[p]
            for t in range(len(means)):
                scales[t] = 1.0 / (1.0 + a * means[t])
            for i in free:
                total = pull = curvature = 0.0
                least = np.inf
                for p in range(first[i], first[i + 1]):
                    t = users[p]
                    total += scales[t] * exposures[p]
                    if counts[t] > 0.0:
                        count, ratio = scales[t] * counts[t], exposures[p] / means[t]
                        pull += count * ratio
                        curvature += count * ratio**2
                        least = min(least, count)
                new = stepped(weights[i], total, pull, curvature, 0.0, 1.0 / np.sqrt(least))
                change = max(new, SHRINKS * weights[i]) - weights[i]
                if change != 0.0:
                    weights[i] += change
                    for p in range(first[i], first[i + 1]):
                        means[users[p]] += change * exposures[p]
