"""Poisson NMF: either factor improved in turn by coordinate-wise Newton steps, extrapolated.

    Objective: D(X || WC) = sum x log(x / wc) - x + wc over W, C >= 0, which is the negative
    log-likelihood of Poisson counts with means WC up to a constant of the data.

Hsieh & Dhillon, "Fast coordinate descent methods with variable selection for non-negative matrix
factorization", 2011 (the step); Hien & Gillis 2021 (the damping that makes it monotone); Carbonetto
et al. 2021 observe how much faster this is than multiplicative updates on counts; Ang & Gillis 2019
(extrapolation, as in `solvers.alternating.loop`).

One sweep over the coordinates of a row costs as much as one multiplicative update. Both factors
stay above a tiny floor, which keeps the divergence finite; entries at the floor become zero at the
end where that does not raise the divergence.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.blocks import Block, Blocks
from provenmf.errors import TooLarge
from provenmf.records import Solution, StopReason
from provenmf.solvers.alternating.extrapolation import Extrapolation
from provenmf.solvers.alternating.starts import Init, start_pair
from provenmf.solvers.poisson.rows import Rows, as_counts, encode_counts, improve_rows
from provenmf.solvers.run import Callback, Run

Floats = NDArray[np.float64]

FLOOR = 1e-10  # of a factor, as a share of its mean at the start
SWEEPS = 1  # for each factor and iteration: more of them gained nothing on any data tried
MOST_BYTES = 8e9
WINDOW = 5  # iterations over which the decrease is judged
EXACT = 64 * np.finfo(np.float64).eps  # divergence over the sum of the data, from rounding alone


def poisson_nmf(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    init: Init = "cones",
    max_iter: int = 500,
    tol: float = 1e-6,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Factorize nonnegative data under the Kullback-Leibler divergence.

    Parameters
    ----------
    n_components : k; None takes what the start finds ("cones" and "spa" only, or an array's k).
    init : a name of `solvers.alternating.starts`, components (k, d), or (weights, components).
    tol : stop when five iterations lower the divergence by less than this fraction of it.

    Returns
    -------
    Solution whose trace has the `divergence` and the extrapolation `length` of each iteration.
    """
    rng = rng if rng is not None else np.random.default_rng(0)
    run = Run(max_iter, callback=callback, verbose=verbose, name="PoissonNMF")
    rows = counts_in_memory(blocks)
    columns = transposed(rows)
    weights, features, floor = starting_factors(blocks, n_components, init, rng)

    exact = EXACT * float(rows.sum())
    best = weights, features
    weights_ahead, features_ahead = best
    extrapolation, divergences = Extrapolation(), [np.inf]
    length = 0.0
    if run.saved is not None:
        weights, features, weights_ahead, features_ahead = run.saved["factors"]
        divergences, length = run.saved["divergences"], run.saved["length"]
        best = weights_ahead, features
        extrapolation = Extrapolation.restored(run.saved["steps"])
    run.keeps(
        lambda: {
            "factors": (weights, features, weights_ahead, features_ahead),
            "divergences": divergences,
            "length": length,
            "steps": vars(extrapolation),
        }
    )
    for _ in run:
        new_weights = step(rows, features_ahead, weights_ahead, floor).weights
        candidate = beyond(new_weights, weights, length, floor)
        improved = step(columns, candidate, features_ahead, floor)
        divergence = float(improved.divergences.sum())
        if divergence > divergences[-1]:
            weights_ahead, features_ahead = weights, features = best
            extrapolation.shorter()
            length = 0.0  # a plain iteration next: it cannot raise the divergence
        else:
            features_ahead = beyond(improved.weights, features, extrapolation.length, floor)
            weights_ahead, weights, features = candidate, new_weights, improved.weights
            best = candidate, improved.weights
            extrapolation.longer()
            length = extrapolation.length
            divergences.append(divergence)
        run.record(divergence=divergences[-1], length=length)
        if divergences[-1] <= exact or settled(divergences, tol):
            run.stop(StopReason.CONVERGED)

    components = without_floor(rows, *best, floor).T
    return Solution(
        components=np.ascontiguousarray(components, dtype=blocks.dtype),
        trace=run.trace,
        stop_reason=run.stop_reason,
    )


def counts_in_memory(blocks: Blocks) -> Block:
    """All rows: the method reads them by rows and by columns in every iteration."""
    size = 16.0 * blocks.stored_entries  # the entries and their transposed copy
    if not blocks.in_memory and size > MOST_BYTES:
        raise TooLarge(
            f"X of shape {blocks.shape} takes {size / 1e9:.1f} GB by rows and by columns: give "
            "PoissonNMF fewer rows, or use HALS, which reads it block by block"
        )
    return as_counts(blocks.everything())


def starting_factors(
    blocks: Blocks, n_components: int | None, init: Init, rng: np.random.Generator
) -> tuple[Floats, Floats, float]:
    """Weights (n, k) and features (d, k) of equal mean, both above the floor that comes with them.

    Zeros are raised to a hundredth of the mean: a start must let every entry grow.
    """
    weights, components = start_pair(blocks, n_components, init, rng)
    components = raised(components.astype(np.float64))
    if weights is None:
        weights = encode_counts(blocks, components)
    weights = raised(weights.astype(np.float64))
    balance = np.sqrt(weights.mean() / components.mean())
    weights, features = weights / balance, np.ascontiguousarray(components.T) * balance
    return weights, features, FLOOR * float(features.mean())


def raised(factor: Floats) -> Floats:
    """The factor with entries below a hundredth of its mean raised to that; ones if it is zero."""
    mean = float(factor.mean())
    return np.maximum(factor, mean / 100) if mean > 0 else np.ones_like(factor)


def step(block: Block, features: Floats, start: Floats, floor: float) -> Rows:
    """Improve one factor, the other being fixed."""
    return improve_rows(block, features, start, sweeps=SWEEPS, floor=floor)


def beyond(new: Floats, last: Floats, length: float, floor: float) -> Floats:
    """A step of relative length `length` beyond `new`, kept above the floor."""
    return new if length == 0.0 else np.maximum(new + length * (new - last), floor)


def transposed(block: Block) -> Block:
    """Columns as rows."""
    return sp.csr_array(block.T) if sp.issparse(block) else np.ascontiguousarray(block.T)


def settled(divergences: list[float], tol: float) -> bool:
    """Whether WINDOW successful iterations lowered the divergence by less than `tol` of itself."""
    if len(divergences) <= WINDOW + 1:
        return False
    return divergences[-1 - WINDOW] - divergences[-1] <= tol * abs(divergences[-1])


def without_floor(rows: Block, weights: Floats, features: Floats, floor: float) -> Floats:
    """The features, entries at the floor set to zero unless that raises the divergence."""
    cleaned = np.where(features <= floor * (1 + 1e-9), 0.0, features)

    def divergence(chosen: Floats) -> float:
        fitted = improve_rows(rows, chosen, weights, sweeps=0, floor=0.0)
        return float(fitted.divergences.sum())

    return cleaned if divergence(cleaned) <= divergence(features) * (1 + 1e-9) else features
