"""Exposures of tumors to known signatures, one tumor at a time."""

import numpy as np

from provenmf.linalg.compiled import njit
from provenmf.methods.poisson.kernels import mix_in_place, sweep_in_place

TINY = 1e-300


@njit(cache=True, nogil=True)
def likelihood(row, means, total):  # type: ignore[no-untyped-def]
    """Return the Poisson log-likelihood of positive counts, without the constant of the data."""
    value = -total
    for channel in range(len(row)):
        value += row[channel] * np.log(max(means[channel], TINY))
    return value


@njit(cache=True, nogil=True)
def improve_in_place(row, signatures, weights, means, sweeps):  # type: ignore[no-untyped-def]
    """Make Newton sweeps on the weights of one row; return the likelihood reached."""
    ones = np.ones(len(weights))
    least = 1.0 / np.sqrt(row.min())
    mix_in_place(weights, signatures, means)
    for _ in range(sweeps):
        moved = sweep_in_place(row, signatures, ones, weights, means, 0.0, least)
        if moved <= 1e-4 * weights.max():
            break
    return likelihood(row, means, weights.sum())


@njit(cache=True, nogil=True)
def sparse_exposures(rows, signatures, penalties, sweeps, retry_sweeps):  # type: ignore[no-untyped-def]
    """Return exposures (n, k) in which a signature stays only if the row's likelihood asks for it.

    Backward elimination: the best exposures to all signatures first; the least one is dropped if
    that lowers the log-likelihood by less than the row's penalty, until none of those left can be
    spared. Signatures sum to one.
    """
    n, k = len(rows), len(signatures)
    exposures = np.zeros((n, k))
    for i in range(n):
        seen = np.flatnonzero(rows[i] > 0.0)
        if len(seen) == 0:
            continue
        row = rows[i][seen]
        profiles = signatures[:, seen]
        sums = profiles.sum(axis=1)
        active = np.flatnonzero(sums > 0.0)
        if len(active) == 0:
            continue
        features = profiles[active]
        weights, means = np.full(len(active), row.sum() / len(active)), np.empty(len(seen))
        current = improve_in_place(row, features, weights, means, sweeps)
        needed = np.zeros(len(active), dtype=np.bool_)
        while len(active) > 1:
            least, smallest = -1, np.inf
            for j in range(len(active)):
                if weights[j] < smallest and not needed[j]:
                    least, smallest = j, weights[j]
            if least < 0:
                break
            others = np.flatnonzero(np.arange(len(active)) != least)
            trial, fewer = weights[others], features[others]
            if smallest > 0.0:
                trial = trial * (row.sum() / max(trial.sum(), TINY))
                mix_in_place(trial, fewer, means)
                if means.min() <= 0.0:
                    needed[least] = True
                    continue
                new = improve_in_place(row, fewer, trial, means, retry_sweeps)
            else:
                new = current
            if current - new < penalties[i]:
                weights, features, current = trial, fewer, new
                active, needed = active[others], needed[others]
            else:
                needed[least] = True
        exposures[i, active] = weights
    return exposures
