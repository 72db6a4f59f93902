"""Alternating minimisation with extrapolation: the loop that HALS and ANLS share.

Objective: 1/2 ||X - weights @ components||_F^2 over nonnegative weights and components.

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
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.blocks import Blocks
from provenmf.linalg.norms import squared_frobenius_norm, squared_residual_rows
from provenmf.linalg.products import product, transposed_product
from provenmf.parallel import available_threads, for_row_slices
from provenmf.records import Solution, StopReason
from provenmf.solvers.alternating.coarse import SolveSample, components_from_sample, worth_sampling
from provenmf.solvers.alternating.extrapolation import Extrapolation
from provenmf.solvers.alternating.starts import Init, start_pair
from provenmf.solvers.run import Run
from provenmf.solvers.weights import encode

WINDOW = 10  # iterations over which the decrease of the error is judged
COARSE_WINDOW, COARSE_TOL = 5, 1e-3  # a sample need not be solved better
# Squared errors below this many units of the data's precision lost too many digits in products:
# they are measured on the data. A fit is exact from an error of this power of the precision on.
CANCELLED, EXACT = 1e4, 0.75

# rows of one factor: (gram (k, k), cross (m, k), start (m, k)) -> better rows (m, k)
ImproveRows = Callable[
    [NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]], NDArray[np.floating]
]


def alternate(
    blocks: Blocks,
    weights: NDArray[np.floating] | None,
    components: NDArray[np.floating],
    *,
    improve_weights: ImproveRows,
    improve_components: ImproveRows,
    tol: float,
    window: int = WINDOW,
    run: Run,
) -> Solution:
    """Alternate until ``window`` iterations lower the relative error by less than ``tol`` of it.

    Parameters
    ----------
    weights, components : where to start, (n, k) and (k, d); None asks for the best weights.
    run : its trace gets `relative_error` and the extrapolation `length` for each iteration.

    Returns
    -------
    Solution with the components and the weights that belong to them.
    """
    squared_norm = blocks.map_reduce(squared_frobenius_norm)
    features = np.ascontiguousarray(components.T, dtype=blocks.dtype)
    best_possible = weights is None
    start = encode(blocks, components) if weights is None else weights
    weights = np.ascontiguousarray(start, dtype=blocks.dtype)
    best = weights, features
    weights_ahead, features_ahead = weights, features
    extrapolation = Extrapolation()
    errors = [math.inf]
    if run.saved is not None:
        weights, features, ahead, features_ahead = run.saved["factors"]
        best, weights_ahead, best_possible = (ahead, features), ahead, False
        errors, extrapolation = run.saved["errors"], Extrapolation.restored(run.saved["steps"])
    transposed_times = transposed_multiplication(blocks)
    precision = float(np.finfo(blocks.dtype).eps)
    run.keeps(
        lambda: {
            "factors": (weights, features, weights_ahead, features_ahead),
            "errors": errors,
            "steps": vars(extrapolation),
        }
    )
    for _ in run:
        new_weights = weights
        if not best_possible:
            new_weights = better_weights(blocks, weights_ahead, features_ahead, improve_weights)
        best_possible = False
        length = extrapolation.length if len(errors) > 1 else 0.0
        candidate = look_ahead(new_weights, weights, length)
        cross = transposed_times(candidate)
        gram = double(candidate.T @ candidate)
        new_features = improve_components(gram, cross, features_ahead)
        error = relative_error(squared_norm, gram, cross, new_features)
        if error**2 < CANCELLED * precision:
            error = measured_error(blocks, squared_norm, candidate, new_features)
        if error > errors[-1]:
            weights_ahead, features_ahead = weights, features = best
            extrapolation.shorter()
            errors.append(errors[-1])
        else:
            features_ahead = look_ahead(new_features, features, extrapolation.length)
            weights_ahead, weights, features = candidate, new_weights, new_features
            best = candidate, new_features
            extrapolation.longer()
            errors.append(error)
        run.record(relative_error=errors[-1], length=extrapolation.length)
        if errors[-1] <= precision**EXACT or stalled(errors, tol, window):
            run.stop(StopReason.CONVERGED)
    return Solution(
        components=np.ascontiguousarray(best[1].T),
        weights=best[0],
        trace=run.trace,
        stop_reason=run.stop_reason,
    )


def start_for(
    blocks: Blocks,
    n_components: int | None,
    init: Init,
    rng: np.random.Generator,
    *,
    coarse: bool,
    solve_sample: SolveSample,
) -> tuple[NDArray[np.floating] | None, NDArray[np.floating]]:
    """Weights, if the start has any, and components; on a sample of the data where wanted."""
    if coarse and isinstance(init, str) and n_components and worth_sampling(blocks, n_components):
        init = components_from_sample(blocks, n_components, init, solve_sample, rng)
    weights, components = start_pair(blocks, n_components, init, rng)
    if weights is not None:
        components = scaled_to_data(blocks, weights, components)
    return weights, components


def better_weights(
    blocks: Blocks,
    start: NDArray[np.floating],
    features: NDArray[np.floating],
    improve: ImproveRows,
) -> NDArray[np.floating]:
    """One pass: every row of the weights improved for the given features."""
    gram = double(features.T @ features)
    return blocks.map_rows(lambda block, rows: improve(gram, product(block, features), rows), start)


def transposed_multiplication(
    blocks: Blocks,
) -> Callable[[NDArray[np.floating]], NDArray[np.floating]]:
    """left (n, k) -> X' @ left (d, k); with a transposed copy of sparse data, which is faster."""
    if not (blocks.is_sparse and blocks.in_memory):
        return lambda left: blocks.map_reduce(transposed_product, left)
    transposed = sp.csr_array(blocks.everything().T)
    return lambda left: product(transposed, left)


def look_ahead(
    new: NDArray[np.floating], last: NDArray[np.floating], length: float
) -> NDArray[np.floating]:
    """A step of relative length ``length`` beyond ``new`` (AG19, Eq. (4)), kept nonnegative."""
    if length == 0.0:
        return new
    from provenmf.kernels.alternating.coordinate_descent import look_ahead_in_place

    ahead = np.empty_like(new)
    for_row_slices(
        lambda rows: look_ahead_in_place(new[rows], last[rows], length, ahead[rows]),
        len(new),
        slice_rows=rows_per_thread(len(new)),
    )
    return ahead


def relative_error(
    squared_norm: float,
    gram: NDArray[np.floating],
    cross: NDArray[np.floating],
    features: NDArray[np.floating],
) -> float:
    """||X - weights @ features'||_F / ||X||_F from gram = weights' weights, cross = X' weights."""
    if squared_norm == 0.0:
        return 0.0
    explained = 2.0 * np.einsum("ij,ij->", cross, features, dtype=np.float64)
    explained -= np.vdot(gram, double(features.T @ features))
    return math.sqrt(max(squared_norm - explained, 0.0) / squared_norm)


def measured_error(
    blocks: Blocks,
    squared_norm: float,
    weights: NDArray[np.floating],
    features: NDArray[np.floating],
) -> float:
    """The same from the residual itself: all digits where the fit is nearly exact.

    Without them the order of the sums, which differs between dense and sparse data, would decide
    when to stop.
    """
    if squared_norm == 0.0:
        return 0.0
    components = np.ascontiguousarray(features.T)
    squared = blocks.map_reduce(
        lambda block, rows: float(squared_residual_rows(block, rows, components).sum()), weights
    )
    return math.sqrt(squared / squared_norm)


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


def rows_per_thread(n_rows: int) -> int:
    """Slices small enough to balance the load, large enough to be worth handing out."""
    return max(256, -(-n_rows // (4 * available_threads())))


def double(matrix: NDArray[np.floating]) -> NDArray[np.float64]:
    """In float64, as small matrices are kept whatever the data's precision."""
    return matrix.astype(np.float64, copy=False)
