"""Alternating nonnegative least squares: HALS and ANLS, with extrapolation.

Objective: 1/2 ||X - weights @ components||_F^2 over nonnegative weights and components, with the
penalties of `linalg.nnls` if there are any; missing entries are left out of the sum.

Either factor is improved with the other one fixed, and that problem splits into rows that share a
k x k Gram matrix. What the two methods do with such a row is their only difference (`steps.py`).

HALS. Cichocki, Zdunek & Amari 2007 (the method); Gillis & Glineur, "Accelerated multiplicative
updates and hierarchical ALS algorithms for nonnegative matrix factorization", Neural Computation
2012 (GG12: several sweeps for one product with the data). One sweep minimises the objective exactly
over each column of a factor in turn.

    GG12                  here
    M, U, V               data, weights, components
    A = M V', B = V V'    cross, gram
    rho_U, rho_V          cost of products with the data over cost of one sweep, per factor
    alpha                 0.5 in `sweeps_for`

Differs: GG12 also stop the sweeps of a factor when they gain little; here their number is fixed, so
that a row's answer does not depend on other rows.

ANLS. Kim & Park, "Fast nonnegative matrix factorization: an active-set-like method and
comparisons", SIAM J. Sci. Comput. 2011: either factor is solved exactly, here row by row from the
previous support (`linalg.nnls`). Without extrapolation every limit point is stationary (Grippo &
Sciandrone 2000); with it, that is not proved.

Extrapolation: Ang & Gillis, "Accelerating nonnegative matrix factorization algorithms using
extrapolation", Neural Computation 2019 (AG19), Algorithm 2.

    AG19                     here
    W, H                     weights, components; the latter transposed (d, k), so both are "rows"
    W_n, H_n                 new
    W_y, H_y                 ahead: a step of length beta beyond new, raised to zero if negative
    beta, beta-bar           length, limit
    gamma, gamma-bar, eta    1.05, 1.01, 1.5 in `Extrapolation`

Differs: an iteration that raises the objective is undone, so that the recorded errors never
increase; AG19 goes on from the worse point without extrapolation. The objective belongs to the
pair (weights ahead, new components), for which the products at hand give it at no cost.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks, as_blocks
from provenmf.data.memory import ObservedBlocks
from provenmf.linalg.nnls import Constraint, Penalties
from provenmf.linalg.products import transposed_product
from provenmf.linalg.storage import as_dense, stored_values
from provenmf.methods.alternating.starts import (
    SETTINGS,
    Init,
    components_from_sample,
    start_factors,
    start_pair,
    with_known_first,
    worth_sampling,
)
from provenmf.methods.alternating.steps import (
    AllEntries,
    ObservedEntries,
    RowSolver,
    Steps,
    double,
    features_ahead,
    look_ahead,
)
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason
from provenmf.results.states import KnownState

NONE = Penalties()
UNIMODAL_SWEEPS = 5  # a sweep is cheap beside the product with the data; most gain comes at first


def alternating_least_squares(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    method: Literal["hals", "anls"],
    init: Init = "cones",
    sample_first: bool = True,
    penalties: Penalties = NONE,
    known: NDArray[np.floating] | None = None,
    constraint: Constraint = "nonnegative",
    unimodal: bool = False,
    max_iter: int = 500,
    tol: float = 1e-4,
    window: int = 10,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Factorize nonnegative data by alternating least squares.

    Parameters
    ----------
    n_components : k; None takes what the start finds ("cones" and "spa" only, or an array's k).
    init : a name of `starts.py`, components (k, d), or a pair (weights, components).
    sample_first : with a named start and large data, factorize a sample of it by HALS first and
        start from its extension.
    penalties : on weights and components.
    known : components (m, d) that come first and are not changed.
    constraint : of the weights; on the simplex either method solves for them exactly.
    unimodal : whether each component has one maximum (`unimodal.py`).
    tol, window : stop when `window` iterations lower the relative error by less than `tol` of it.
    """
    rng = np.random.default_rng(0 if rng is None else rng)
    run = Run(max_iter, callback=callback, verbose=verbose, name=method.upper())
    closed = constraint == "simplex"
    weights, components = starting_factors(
        blocks,
        n_components,
        init,
        rng,
        sample_first=sample_first and not unimodal,
        known=known,
        closed=closed,
        from_columns=unimodal and known is None,
    )
    k = len(components)
    for_weights = for_components = RowSolver(None)
    if method == "hals":
        # Zeros are not counted, so that sparse and dense data get the same sweeps.
        entries = blocks.map_reduce(lambda block: np.count_nonzero(stored_values(block)))
        for_weights = RowSolver(sweeps_for(entries, blocks.n_rows, k))
        for_components = RowSolver(sweeps_for(entries, blocks.n_columns, k))
    if closed:
        for_weights = RowSolver(None, closed=True)
    if unimodal:
        for_components = RowSolver(UNIMODAL_SWEEPS, unimodal=True)
    kind: type[Steps] = ObservedEntries if isinstance(blocks, ObservedBlocks) else AllEntries
    first_free = 0 if known is None else len(known)
    steps = kind(blocks, for_weights, for_components, penalties=penalties, known=first_free)
    return alternate(steps, weights, components, tol=tol, window=window, run=run)


hals = partial(alternating_least_squares, method="hals")
anls = partial(alternating_least_squares, method="anls")


def sweeps_for(entries: int, rows: int, k: int) -> int:
    """Return the number of sweeps that cost about half the product with the data (GG12, 3.1)."""
    return int(min(20, 1 + 0.5 * entries / (rows * k) + 1))


def alternate(
    steps: Steps,
    weights: NDArray[np.floating] | None,
    components: NDArray[np.floating],
    *,
    tol: float,
    window: int = 10,
    run: Run,
) -> Solution:
    """Iterate until ``window`` iterations lower the relative error by less than a fraction ``tol``.

    Parameters
    ----------
    steps : the data and what the method does with them.
    weights, components : the start, (n, k) and (k, d); None takes the best weights.
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
    exact = float(np.finfo(dtype).eps) ** 0.75
    if run.saved is not None:
        kept, features, kept_ahead, ahead = run.saved["factors"]
        rows, rows_ahead = steps.placed(kept), steps.placed(kept_ahead)
        best, best_possible = (rows_ahead, features), False
        levels, error = run.saved["levels"], run.saved["error"]
        vars(extrapolation).update(run.saved["steps"])
    run.keeps(
        lambda: {
            "factors": (rows.array(), features, rows_ahead.array(), ahead),
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
        # A step beyond closed weights would not be closed.
        length = 0.0 if len(levels) == 1 or steps.for_weights.closed else extrapolation.length
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


def starting_factors(
    blocks: Blocks,
    n_components: int | None,
    init: Init,
    rng: np.random.Generator,
    *,
    sample_first: bool,
    known: NDArray[np.floating] | None = None,
    closed: bool = False,
    from_columns: bool = False,
) -> tuple[NDArray[np.floating] | None, NDArray[np.floating]]:
    """Return weights, if the start has any, and components.

    Known components come first. Missing entries are filled for the start alone. `from_columns`
    makes a named start among the columns: at some times one compound elutes alone, while hardly
    any wavelength has one compound alone.
    """
    if known is not None and n_components == len(known):
        return None, known.astype(blocks.dtype)
    full = blocks.filled() if isinstance(blocks, ObservedBlocks) else blocks
    if sample_first and isinstance(init, str) and n_components:
        if worth_sampling(full, n_components):
            ends = {"tol": SETTINGS.tol, "window": SETTINGS.window}
            constraint = "simplex" if closed else "nonnegative"
            solve = partial(hals, sample_first=False, constraint=constraint, **ends)
            init = components_from_sample(full, n_components, init, solve, rng)
    weights: NDArray[np.floating] | None
    if from_columns and isinstance(init, str):
        columns = as_blocks(np.ascontiguousarray(as_dense(full.everything()).T))
        features, start = start_factors(columns, n_components, init, rng)
        weights, components = np.ascontiguousarray(start.T), np.ascontiguousarray(features.T)
    else:
        weights, components = start_pair(full, n_components, init, rng)
    if closed and isinstance(init, str):  # a start that knows no scale gets that of the rows
        mean = full.map_reduce(lambda block: float(block.sum())) / full.n_rows
        sums = components.sum(axis=1, keepdims=True)
        components = components * np.where(sums > 0, mean / np.where(sums > 0, sums, 1.0), 1.0)
        components = components.astype(full.dtype)
    if known is not None:
        return None, with_known_first(components, known)
    if closed:
        return None, components
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
    """Return whether the last ``window`` iterations gained less than ``tol`` of the error."""
    return len(errors) > window + 1 and errors[-1 - window] - errors[-1] <= tol * errors[-1]


class Extrapolation:
    """Length of the step beyond the newest factors: longer as long as that helps (AG19)."""

    def __init__(self) -> None:
        self.length = 0.5
        self._limit = 1.0
        self._accepted = 0.5

    def longer(self) -> None:
        """Extend the extrapolation step after an iteration that lowered the objective."""
        self._accepted = self.length
        self.length = min(self._limit, 1.05 * self.length)
        self._limit = min(1.0, 1.01 * self._limit)

    def shorter(self) -> None:
        """Shorten the step after an iteration that was undone."""
        self._limit, self.length = self._accepted, self.length / 1.5
