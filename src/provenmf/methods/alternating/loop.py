"""Alternating minimisation with extrapolation: the loop that HALS and ANLS share.

Objective: 1/2 ||X - weights @ components||_F^2 over nonnegative weights and components, with the
penalties of `linalg.penalties` where there are any; missing entries are left out of the sum.

Either factor is improved with the other one fixed, and that problem splits into rows that share a
k x k Gram matrix; what the two methods do with such a row is their only difference.

Extrapolation: Ang & Gillis, "Accelerating nonnegative matrix factorization algorithms using
extrapolation", Neural Computation 2019 (AG19), Algorithm 2.

    AG19            here
    W, H            weights, components; the latter kept transposed (d, k), so both are "rows"
    W_n, H_n        new
    W_y, H_y        ahead: a step of length beta beyond new, negative entries raised to zero
    beta            length, see `extrapolation.py`

Differs: an iteration that raises the objective is undone, so that the recorded errors never
increase; AG19 goes on from the worse point without extrapolation. The objective belongs to the
pair (weights ahead, new components), for which the products at hand give it at no cost.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.data.memory import ObservedBlocks
from provenmf.linalg.products import transposed_product
from provenmf.methods.alternating.coarse import SolveSample, components_from_sample, worth_sampling
from provenmf.methods.alternating.extrapolation import Extrapolation
from provenmf.methods.alternating.known import with_known_first
from provenmf.methods.alternating.starts import Init, start_pair
from provenmf.methods.alternating.steps import Steps, double, features_ahead, look_ahead
from provenmf.methods.run import Run
from provenmf.results import Solution, StopReason
from provenmf.results.states import KnownState

WINDOW = 10  # iterations over which the decrease of the error is judged
COARSE_WINDOW, COARSE_TOL = 5, 1e-3  # a sample need not be solved better
EXACT = 0.75  # a fit is exact from an error of this power of the precision on


def alternate(
    steps: Steps,
    weights: NDArray[np.floating] | None,
    components: NDArray[np.floating],
    *,
    tol: float,
    window: int = WINDOW,
    run: Run,
) -> Solution:
    """Alternate until ``window`` iterations lower the relative error by less than ``tol`` of it.

    Parameters
    ----------
    steps : the data and what the method does with them.
    weights, components : where to start, (n, k) and (k, d); None asks for the best weights.
    run : its trace gets `relative_error` and the extrapolation `length` for each iteration, and
        with penalties `level`, which takes the place of the error: sqrt(2 objective) / ||X||_F.

    Returns
    -------
    Solution with the components and the weights that belong to them.
    """
    dtype = steps.blocks.dtype
    features = np.ascontiguousarray(components.T, dtype=dtype)
    best_possible = weights is None
    rows = steps.best_weights(components) if weights is None else steps.placed(weights)
    best, error = (rows, features), math.inf
    rows_ahead, ahead = rows, features
    extrapolation = Extrapolation()
    levels = [math.inf]
    exact = float(np.finfo(dtype).eps) ** EXACT
    if run.saved is not None:
        kept, features, kept_ahead, ahead = run.saved["factors"]
        rows, rows_ahead = steps.placed(kept), steps.placed(kept_ahead)
        best, best_possible = (rows_ahead, features), False
        levels, error = run.saved["levels"], run.saved["error"]
        extrapolation = Extrapolation.restored(run.saved["steps"])
    run.keeps(
        lambda: {
            "factors": (
                rows.array(),
                features,
                rows_ahead.array(),
                ahead,
            ),
            "levels": levels,
            "error": error,
            "steps": vars(extrapolation),
        }
    )
    for _ in run:
        new_rows = rows
        if not best_possible:
            new_rows = steps.better_weights(rows_ahead, ahead)
        best_possible = False
        length = extrapolation.length if len(levels) > 1 else 0.0
        candidate = new_rows
        if length:
            candidate = new_rows.map(partial(look_ahead, length=length), rows)
        found = steps.better_features(candidate, ahead)
        if found.level > levels[-1]:
            rows_ahead, ahead = rows, features = best
            extrapolation.shorter()
            levels.append(levels[-1])
        else:
            ahead = features_ahead(found.features, features, extrapolation.length)
            rows_ahead, rows, features = candidate, new_rows, found.features
            best, error = (candidate, found.features), found.error
            extrapolation.longer()
            levels.append(found.level)
        more = {"level": levels[-1]} if steps.penalised else {}
        run.record(relative_error=error, length=extrapolation.length, **more)
        nothing_free = steps.known == len(components)
        if levels[-1] <= exact or nothing_free or stalled(levels, tol, window):
            run.stop(StopReason.CONVERGED)
    return Solution(
        components=np.ascontiguousarray(best[1].T),
        weights=best[0],
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=KnownState(steps.known) if steps.known else None,
    )


def start_for(
    blocks: Blocks,
    n_components: int | None,
    init: Init,
    rng: np.random.Generator,
    *,
    coarse: bool,
    solve_sample: SolveSample,
    known: NDArray[np.floating] | None = None,
) -> tuple[NDArray[np.floating] | None, NDArray[np.floating]]:
    """Weights, if the start has any, and components; on a sample of the data where wanted.

    Known components come first. Missing entries are filled for the start alone.
    """
    if known is not None and n_components == len(known):
        return None, known.astype(blocks.dtype)
    full = blocks.filled() if isinstance(blocks, ObservedBlocks) else blocks
    if coarse and isinstance(init, str) and n_components and worth_sampling(full, n_components):
        init = components_from_sample(full, n_components, init, solve_sample, rng)
    weights, components = start_pair(full, n_components, init, rng)
    if known is not None:
        return None, with_known_first(components, known)
    if weights is not None:
        components = scaled_to_data(full, weights, components)
    return weights, components


def scaled_to_data(
    blocks: Blocks, weights: NDArray[np.floating], components: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Multiply the components by the one number that fits best (Gillis & Glineur 2012)."""
    wide = double(weights), double(components)
    fitted = float(np.vdot(wide[0].T @ wide[0], wide[1] @ wide[1].T))
    cross = blocks.map_reduce(transposed_product, weights)
    aligned = float(np.einsum("ij,ji->", cross, components, dtype=np.float64))
    if fitted == 0.0 or aligned <= 0.0:
        return components
    return components * components.dtype.type(aligned / fitted)


def stalled(errors: list[float], tol: float, window: int) -> bool:
    """Whether the last ``window`` iterations lowered the error by less than ``tol`` of itself."""
    return len(errors) > window + 1 and errors[-1 - window] - errors[-1] <= tol * errors[-1]
