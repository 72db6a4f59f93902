"""Signatures from counts: a search for the least penalized cost (`model`), without random starts.

1. *Growth.* A new signature starts from what the others leave of the counts, several places are
   tried, everything is fitted again, and the best is kept if the likelihood gains more than its
   parameters cost. Growth is eager and too many are mixed and pruned: two signatures that were
   taken for one have parted by then.
2. *Search.* Until the cost falls no more: add what is missing, remove what is superfluous, mix
   (a part of one signature is taken out of another or given to it; supports would have to change
   in many tumors at once, so descent cannot find this).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator

import numpy as np

from provenmf.applications.signatures.model import (
    SETTINGS,
    Extracted,
    Floats,
    Tumors,
    cost,
    exposures_of,
    overdispersion,
    refine,
)
from provenmf.applications.signatures.moves import costs_without, mixtures, unexplained
from provenmf.methods.poisson.estimator import PoissonNMF
from provenmf.methods.run import Run
from provenmf.results import StopReason

Search = Generator[tuple[Tumors, Extracted], None, Extracted]


def extract(
    counts: Floats,
    n_signatures: int | None,
    run: Run | None = None,
    searches: int | None = None,
) -> tuple[Tumors, Extracted]:
    """Find signatures, as many as the penalized likelihood asks for or a given number.

    Every step of the search is an iteration of the run; if it is interrupted, what has been found
    so far is returned. At most `searches` rounds follow growth, `SETTINGS.searches` by default.
    """
    steps, run = (
        _search(counts, n_signatures, searches or SETTINGS.searches),
        run or Run(sys.maxsize),
    )
    for _ in run:
        step = next(steps, None)
        if step is None:
            run.stop(StopReason.CONVERGED)
        else:
            tumors, found = step
            run.record(signatures=len(found.signatures))
    return tumors, found


def _search(counts: Floats, n_signatures: int | None, searches: int) -> Search:
    """Yield better and better fits.

    The overdispersion is estimated around a rich Poisson fit first, then around the signatures
    that were found with it.
    """
    tumors = Tumors(counts, overdispersion(counts, _rich_fit(counts)))
    found = yield from grow(tumors, n_signatures)
    yield tumors, found  # also if the first signature is all there is
    found = yield from _mixed(tumors, found)
    found = yield from prune(tumors, found, n_signatures)
    tumors = Tumors(counts, overdispersion(counts, found))
    found = refine(tumors, found)
    for _ in range(searches):
        found = cheaper(tumors, found, _afresh(tumors, found))
        before = cost(tumors, found)
        found = yield from _with_missing(tumors, found, n_signatures)
        found = yield from _mixed(tumors, found)
        if cost(tumors, found) > before - 1:
            break
    return found


def _rich_fit(counts: Floats) -> Extracted:
    k = max(1, min(SETTINGS.rich, counts.shape[1] // 3, len(counts) // 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this fit need not converge
        model = PoissonNMF(k, max_iter=SETTINGS.iterations, certify=False, random_state=0)
        weights = np.asarray(model.fit_transform(counts), dtype=np.float64)
    return Extracted(np.asarray(model.components_, dtype=np.float64), weights)


def grow(tumors: Tumors, n_signatures: int | None) -> Search:
    """Add signatures one by one, a few beyond the wanted number or the lowest cost."""
    counts = tumors.counts
    totals = counts.sum(axis=1, keepdims=True)
    mean = counts.sum(axis=0, keepdims=True) / counts.sum()
    found = refine(tumors, Extracted(mean, totals))
    least, wanted = cost(tumors, found), n_signatures or 1
    while len(found.signatures) < min(*counts.shape, SETTINGS.surplus * wanted + 2):
        yield tumors, found
        trials = [_with(tumors, found, new) for new in unexplained(tumors, found, SETTINGS.places)]
        costs = [cost(tumors, trial, SETTINGS.eager) for trial in trials]
        if not trials:
            break
        larger = refine(tumors, trials[int(np.argmin(costs))])
        paid = cost(tumors, larger, SETTINGS.eager) < cost(tumors, found, SETTINGS.eager)
        # A signature that is used nowhere was dropped again.
        if len(larger.signatures) <= len(found.signatures) or not (
            paid or len(found.signatures) < wanted
        ):
            break
        found = larger
        if n_signatures is None and cost(tumors, found) < least:
            least, wanted = cost(tumors, found), len(found.signatures)
    return found


def cheaper(tumors: Tumors, found: Extracted, trial: Extracted) -> Extracted:
    """Return the trial with everything fitted again if it costs less and keeps all signatures.

    It is not fitted again if it costs much more than what was found.
    """
    least = cost(tumors, found)
    if cost(tumors, trial) < least + SETTINGS.slack:
        trial = refine(tumors, trial)
        if len(trial.signatures) >= len(found.signatures) and cost(tumors, trial) < least:
            return trial
    return found


def _with_missing(tumors: Tumors, found: Extracted, n_signatures: int | None) -> Search:
    """Add signatures that still lower the cost, then remove those that have become superfluous."""
    for new in unexplained(tumors, found, 2 * SETTINGS.places):
        found = cheaper(tumors, found, _with(tumors, found, new))
        yield tumors, found
    return (yield from prune(tumors, found, n_signatures))


def prune(tumors: Tumors, found: Extracted, n_signatures: int | None) -> Search:
    """Remove signatures, the least needed first, as long as the penalized likelihood gains.

    The few that look least needed are removed in turn and everything else is fitted again.
    """
    while len(found.signatures) > (n_signatures or 1):
        yield tumors, found
        costs = costs_without(tumors, found)
        for j in np.argsort(costs)[: SETTINGS.tried]:
            fewer = _without(tumors, found, j)
            if n_signatures is not None or cost(tumors, fewer) < cost(tumors, found):
                found = fewer
                break
        else:
            break
    return found


def _mixed(tumors: Tumors, found: Extracted) -> Search:
    """Try mixtures until none lowers the cost."""
    for _ in range(SETTINGS.mixings):
        before = found
        for mixture in mixtures(tumors, found):
            found = cheaper(tumors, found, refine(tumors, mixture.of(found), mixture.changed))
            yield tumors, found
        if found is before:
            break
    return found


def _with(tumors: Tumors, found: Extracted, new: Extracted) -> Extracted:
    """Return the fit with one more signature, fitted to the tumors that gain from it."""
    signatures = np.vstack([found.signatures, new.signatures])
    grown = Extracted(signatures, np.hstack([found.exposures, new.exposures]))
    return refine(tumors, grown, len(found.signatures))


def _without(tumors: Tumors, found: Extracted, j: int) -> Extracted:
    """Return the fit without signature j."""
    rest = np.delete(found.signatures, j, axis=0), np.delete(found.exposures, j, axis=1)
    return refine(tumors, Extracted(*rest))


def _afresh(tumors: Tumors, found: Extracted) -> Extracted:
    """Return the fit with its exposures computed from scratch."""
    exposures = exposures_of(tumors, found.signatures, found.prevalence)
    return found._replace(exposures=exposures)
