"""Poisson NMF: either factor improved in turn by coordinate-wise Newton steps, extrapolated.

    Objective: D(X || WC) = sum x log(x / wc) - x + wc over W, C >= 0, which is the negative
    log-likelihood of Poisson counts with means WC up to a constant of the data.

Hsieh & Dhillon, "Fast coordinate descent methods with variable selection for non-negative matrix
factorization", 2011 (the step); Hien & Gillis 2021 (the damping that makes it monotone); Carbonetto
et al. 2021 observe how much faster this is than multiplicative updates on counts; Ang & Gillis 2019
(extrapolation, as in `methods.alternating.solver`).

One sweep over the coordinates of a row costs as much as one multiplicative update; data that are
read block by block (`counts.py`) take k + 2 passes for it. Both factors
stay above a tiny floor, which keeps the divergence finite; entries at the floor become zero at the
end where that does not raise the divergence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks, Rows
from provenmf.methods.alternating.solver import Extrapolation
from provenmf.methods.alternating.starts import Init, start_pair
from provenmf.methods.poisson.counts import Counts, mean, refuse_nan
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """When a run ends and which start goes on, chosen on counts of words and mutations."""

    floor: float = 1e-10  # of a factor, as a share of its mean at the start
    window: int = 5  # iterations over which the decrease is judged
    trial: int = 100  # iterations of another start; after 50 the order still changes on tumors
    clearly: float = 1e-4  # share by which another start must be better


SETTINGS = Settings()
OTHER_STARTS: tuple[Init, ...] = ("random-rows", "random")
TINY = 1e-100  # mean of given components from which they are rescaled
EXACT = 64 * np.finfo(np.float64).eps  # divergence over the sum of the data, from rounding alone


def poisson_nmf(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    init: Init = "cones",
    n_init: int = 1,
    max_iter: int = 2000,
    tol: float = 1e-6,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Factorize nonnegative data under the Kullback-Leibler divergence.

    The divergence has local minima, and a deterministic start meets the same one every time. So
    several starts, besides `init` random rows and random numbers, are tried for some iterations;
    the one with the smallest divergence goes on.

    Parameters
    ----------
    n_components : k; None takes what the start finds ("cones" and "spa" only, or an array's k).
    init : a name of `methods.alternating.starts`, components (k, d), or (weights, components).
    n_init : number of starts; one if `init` is an array or the data are read block by block.
    tol : stop when five iterations lower the divergence by less than this fraction of it.

    Returns
    -------
    Solution whose trace has the `divergence` and the extrapolation `length` of each iteration.
    """
    rng = rng if rng is not None else np.random.default_rng(0)
    counts = Counts(blocks)
    start = starting_factors(counts, n_components, init, rng)
    notes: tuple[str, ...] = ()
    if n_init > 1 and isinstance(init, str) and counts.held and start.features.shape[1] > 1:
        start, notes = best_start(
            counts, start, init, n_init - 1, min(SETTINGS.trial, max_iter), tol, rng
        )
    run = Run(max_iter, callback=callback, verbose=verbose, name="PoissonNMF")
    found = descend(counts, start, run, tol)
    components = refuse_nan(without_floor(counts, *found)).T
    return Solution(
        components=np.ascontiguousarray(components, dtype=blocks.dtype),
        trace=run.trace,
        stop_reason=run.stop_reason,
        notes=notes,
    )


def best_start(
    counts: Counts,
    first: Factors,
    name: str,
    others: int,
    iterations: int,
    tol: float,
    rng: np.random.Generator,
) -> tuple[Factors, tuple[str, ...]]:
    """Try several starts for some iterations; return the best, and a note if not `first`."""
    k = first.features.shape[1]
    kinds = islice(cycle(OTHER_STARTS), others)
    starts = [first, *(starting_factors(counts, k, kind, rng) for kind in kinds)]
    tried = [
        descend(counts, start, Run(iterations, name="PoissonNMF, one start"), tol)
        for start in starts
    ]
    ends = [counts.divergence(weights, features) for weights, features, _ in tried]
    best = int(np.argmin(ends))
    if ends[best] >= (1 - SETTINGS.clearly) * ends[0]:
        return tried[0], ()
    note = (
        f"{len(starts)} starts: after {iterations} iterations the divergence from init={name!r} "
        f"is {ends[0]:.4g}, that from a random start {ends[best]:.4g}, which is continued"
    )
    return tried[best], (note,)


class Factors(NamedTuple):
    """Weights (n, k), features (d, k), and the floor that neither goes below."""

    weights: Rows
    features: Floats
    floor: float


def descend(counts: Counts, start: Factors, run: Run, tol: float) -> Factors:
    """Improve weights and features in turn until the divergence settles."""
    weights, features, floor = start
    exact = EXACT * counts.total()
    best = weights, features
    weights_ahead, features_ahead = best
    extrapolation, divergences = Extrapolation(), [np.inf]
    length = 0.0
    if run.saved is not None:
        arrays = run.saved["factors"]
        weights, weights_ahead = map(counts.blocks.place, (arrays[0], arrays[2]))
        features, features_ahead = arrays[1], arrays[3]
        divergences, length = run.saved["divergences"], run.saved["length"]
        best = weights_ahead, features
        vars(extrapolation).update(run.saved["steps"])
    run.keeps(
        lambda: {
            "factors": (weights.array(), features, weights_ahead.array(), features_ahead),
            "divergences": divergences,
            "length": length,
            "steps": vars(extrapolation),
        }
    )
    for _ in run:
        new_weights = counts.better_weights(features_ahead, weights_ahead, floor)
        ahead = partial(beyond, length=length, floor=floor)
        candidate = new_weights.map(ahead, weights) if length else new_weights
        improved, divergence = counts.better_features(candidate, features_ahead, floor)
        at_rounding = divergence > divergences[-1] and length == 0.0
        if divergence > divergences[-1]:
            weights_ahead, features_ahead = weights, features = best
            extrapolation.shorter()
            length = 0.0  # a plain iteration next: only rounding can raise the divergence
        else:
            features_ahead = beyond(improved, features, extrapolation.length, floor)
            weights_ahead, weights, features = candidate, new_weights, improved
            best = candidate, improved
            extrapolation.longer()
            length = extrapolation.length
            divergences.append(divergence)
        run.record(divergence=divergences[-1], length=length)
        if at_rounding or divergences[-1] <= exact or settled(divergences, tol):
            run.stop(StopReason.CONVERGED)
    return Factors(*best, floor)


def starting_factors(
    counts: Counts, n_components: int | None, init: Init, rng: np.random.Generator
) -> Factors:
    """Return weights (n, k) and features (d, k) of equal mean, and the floor below both.

    Zeros are raised to a hundredth of the mean: a start must let every entry grow.
    """
    given, found = start_pair(counts.given, n_components, init, rng)
    components, size = found.astype(np.float64), float(found.mean(dtype=np.float64))
    if 0 < size < TINY:  # their weights would overflow
        components, size = components / size, 1.0
    components = raised(components, size)
    if given is None:
        weights = counts.best_weights(components)
    else:
        weights = counts.blocks.place(given.astype(np.float64))
    weights = weights.map(partial(raised, mean=mean(weights)))
    balance = float(np.sqrt(mean(weights) / components.mean()))
    weights = weights.map(lambda rows: rows / balance)
    features = np.ascontiguousarray(components.T) * balance
    return Factors(weights, features, SETTINGS.floor * float(features.mean()))


def raised(factor: Floats, mean: float) -> Floats:
    """Raise entries to a hundredth of the mean at least; ones if the mean is zero."""
    return np.maximum(factor, mean / 100) if mean > 0 else np.ones_like(factor)


def beyond(new: Floats, last: Floats, length: float, floor: float) -> Floats:
    """Return new + length (new - last), kept above the floor."""
    return new if length == 0.0 else np.maximum(new + length * (new - last), floor)


def settled(divergences: list[float], tol: float) -> bool:
    """Return whether the last successful iterations gained less than `tol` of the divergence."""
    window = SETTINGS.window
    if len(divergences) <= window + 1:
        return False
    return divergences[-1 - window] - divergences[-1] <= tol * abs(divergences[-1])


def without_floor(counts: Counts, weights: Rows, features: Floats, floor: float) -> Floats:
    """Set features at the floor to zero unless that raises the divergence."""
    cleaned = np.where(features <= floor * (1 + 1e-9), 0.0, features)
    before = counts.divergence(weights, features)
    return cleaned if counts.divergence(weights, cleaned) <= before * (1 + 1e-9) else features
