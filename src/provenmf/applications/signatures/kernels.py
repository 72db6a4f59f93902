"""Exposures of tumors to known signatures, one tumor at a time."""

import numpy as np

from provenmf.linalg.compiled import njit

TINY = 1e-300


@njit(cache=True, nogil=True, inline="never")
def likelihood(row, signatures, weights):  # type: ignore[no-untyped-def]
    """Return the Poisson log-likelihood of one row, without the constant of the data."""
    total = 0.0
    for channel in range(len(row)):
        mean = 0.0
        for j in range(len(weights)):
            if weights[j] > 0.0:
                mean += weights[j] * signatures[j, channel]
        total -= mean
        if row[channel] > 0.0:
            total += row[channel] * np.log(max(mean, TINY))
    return total


@njit(cache=True, nogil=True)
def em_in_place(row, signatures, weights, steps):  # type: ignore[no-untyped-def]
    """Raise the likelihood of one row by EM; signatures sum to one, zero weights stay zero."""
    k = len(weights)
    moved = np.empty(k)
    for _ in range(steps):
        moved[:] = 0.0
        for channel in range(len(row)):
            if row[channel] > 0.0:
                mean = TINY
                for j in range(k):
                    if weights[j] > 0.0:
                        mean += weights[j] * signatures[j, channel]
                ratio = row[channel] / mean
                for j in range(k):
                    if weights[j] > 0.0:
                        moved[j] += ratio * weights[j] * signatures[j, channel]
        weights[:] = moved


@njit(cache=True, nogil=True)
def sparse_exposures(rows, signatures, penalties, steps, retry_steps):  # type: ignore[no-untyped-def]
    """Return exposures (n, k) in which a signature stays only if the row's likelihood asks for it.

    Backward elimination: all signatures first; the least one is dropped if that lowers the
    log-likelihood by less than the row's penalty, until none of those left can be spared.
    """
    n, k = len(rows), len(signatures)
    exposures = np.zeros((n, k))
    for i in range(n):
        total = rows[i].sum()
        if total <= 0.0:
            continue
        weights = np.full(k, total / k)
        em_in_place(rows[i], signatures, weights, steps)
        current = likelihood(rows[i], signatures, weights)
        needed = np.zeros(k, dtype=np.bool_)
        while True:
            least, smallest = -1, np.inf
            for j in range(k):
                if 0.0 < weights[j] < smallest and not needed[j]:
                    least, smallest = j, weights[j]
            if least < 0 or np.count_nonzero(weights) == 1:
                break
            trial = weights.copy()
            trial[least] = 0.0
            trial *= total / max(trial.sum(), TINY)
            em_in_place(rows[i], signatures, trial, retry_steps)
            new = likelihood(rows[i], signatures, trial)
            if current - new < penalties[i]:
                weights, current = trial, new
            else:
                needed[least] = True
        exposures[i] = weights
    return exposures
