"""Least squares with nonnegative or simplex weights, for many rows that share one Gram matrix.

With components A (k x d) and data rows x, ``gram = A A'`` and ``cross = X A'`` hold all that the
problem needs:

    nonnegative:  min over w >= 0              of  1/2 ||x - w A||^2 = 1/2 w G w' - w c' + constant
    simplex:      min over w >= 0, sum(w) = 1  of  the same

Rows are independent. A row whose unconstrained solution is feasible costs two triangular solves
inside one BLAS call; every other row runs an exact active-set method from the signs of that
solution. The arithmetic is float64 whatever comes in.

The active set is found by block principal pivoting (Kim & Park 2011): guess which entries are
positive, solve the linear system on them, exchange every entry that has the wrong sign. That nearly
always ends within a few exchanges, but it may cycle; then the row is handed to the primal
active-set method of Lawson & Hanson (1974), which descends at each step and cannot cycle.

Accuracy: the answer is optimal for the given Gram matrix to rounding, except that a component that
lies within sqrt(k * eps) of the span of chosen ones (its pivot is at most ``floor``) counts as
dependent and gets weight zero, so duplicate components do no harm.

Penalties on the factors have a scale that depends on no number of rows or columns. For data X
(n, d), weights W (n, k) and components C (k, d) the objective is

    1/(2 n d) ||X - WC||_F^2  +  1/n (l1_weights ||W||_1 + 1/2 l2_weights ||W||_F^2)
                              +  1/d (l1_components ||C||_1 + 1/2 l2_components ||C||_F^2),

a mean over entries, rows and columns: rows given twice change no component. Times n d it is
1/2 ||X - WC||_F^2 + d (…) + n (…). Missing entries leave out their squares and nothing else, so
that a row's weights depend on that row only. scikit-learn's NMF has the same scale: `alpha_W *
l1_ratio` is `l1_weights`, `alpha_W * (1 - l1_ratio)` is `l2_weights`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky

from provenmf.budget import for_row_slices
from provenmf.errors import InvalidInput
from provenmf.linalg.compiled import inner_njit, njit
from provenmf.linalg.storage import Matrix

Array = NDArray[np.floating]
Constraint = Literal["nonnegative", "simplex"]

ROUNDING = float(np.finfo(np.float64).eps)
HOPELESS = 1e6  # how far below the best a component gets no weight; Gram entries differ by <= 4
RIDGE = 1e-6  # on a singular Gram matrix with a unit diagonal
SLICE_ENTRIES = 1 << 16  # entries of cross handled by one thread at a time: 512 kB


@dataclass(frozen=True)
class Penalty:
    """l1 ||F||_1 + 1/2 l2 ||F||_F^2 on a factor, beside 1/2 ||X - WC||_F^2."""

    l1: float = 0.0
    l2: float = 0.0

    def __bool__(self) -> bool:
        return self.l1 > 0 or self.l2 > 0

    def normal_equations(
        self, gram: NDArray[Any], cross: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the penalised problem of a nonnegative factor as one without a penalty."""
        return self.with_gram(gram), self.with_cross(cross)

    def with_gram(self, gram: NDArray[Any]) -> NDArray[Any]:
        """Return the Gram matrix of the normal equations."""
        return gram + self.l2 * np.eye(len(gram)) if self else gram

    def with_cross(self, cross: NDArray[Any]) -> NDArray[Any]:
        """Return the right-hand sides of the normal equations, for any rows."""
        return np.asarray(cross - cross.dtype.type(self.l1)) if self else cross

    def value(self, factor: Array) -> float:
        """Return the penalty of a nonnegative factor."""
        if not self:
            return 0.0
        wide = factor.astype(np.float64, copy=False)
        return float(self.l1 * wide.sum() + 0.5 * self.l2 * np.vdot(wide, wide))


@dataclass(frozen=True)
class Penalties:
    """Penalties on weights and components, as in the objective above."""

    l1_weights: float = 0.0
    l2_weights: float = 0.0
    l1_components: float = 0.0
    l2_components: float = 0.0

    def on_weights(self, n_columns: int) -> Penalty:
        """Return the penalty on the weights beside half the sum of squares."""
        return Penalty(n_columns * self.l1_weights, n_columns * self.l2_weights)

    def on_components(self, n_rows: int) -> Penalty:
        """Return the penalty on the components beside half the sum of squares."""
        return Penalty(n_rows * self.l1_components, n_rows * self.l2_components)


NO_PENALTY = Penalty()


def encoder(
    components: Array,
    dtype: np.dtype[Any],
    constraint: Constraint = "nonnegative",
    penalty: Penalty = NO_PENALTY,
) -> Callable[[Matrix], NDArray[Any]]:
    """Return the function that finds the weights of a block's rows for given components.

    Rows w minimize 1/2 ||x - w components||^2 and the penalty over w >= 0, and sum(w) = 1 on the
    simplex. The weights have the given dtype. `fit_transform` and `transform` both end with it.
    """
    solve = nonnegative_least_squares if constraint == "nonnegative" else simplex_least_squares
    wide = components.astype(np.float64, copy=False)
    gram = penalty.with_gram(wide @ wide.T)

    def weights_of(block: Matrix) -> NDArray[Any]:
        cross = np.asarray(block @ wide.T, dtype=np.float64)
        return solve(gram, penalty.with_cross(cross)).astype(dtype, copy=False)

    return weights_of


def nonnegative_least_squares(gram: Array, cross: Array, *, start: Array | None = None) -> Array:
    """Solve ``min over w >= 0 of 1/2 w G w' - w c'`` for every row c of ``cross``.

    Parameters
    ----------
    gram : array (k, k)
        Inner products of the components; may be singular.
    cross : array (n, k)
        Inner products of the data rows with the components.
    start : array (n, k), optional
        Weights of a similar problem; only their signs are used, as the first guess of the support.

    Returns
    -------
    array (n, k)
        The weights, in the precision of ``cross``.
    """
    # Unit diagonal: the active set does not change, conditioning and thresholds get scale free.
    lengths = np.sqrt(np.maximum(np.diag(gram).astype(np.float64), 0.0))
    lengths[lengths == 0.0] = 1.0
    scaled_gram = gram / np.multiply.outer(lengths, lengths)
    floor = len(gram) * ROUNDING
    return _solve(scaled_gram, cross, np.zeros(len(gram)), lengths, start, False, floor, lengths)


def simplex_least_squares(gram: Array, cross: Array, *, start: Array | None = None) -> Array:
    """Solve ``min 1/2 w G w' - w c'`` over ``w >= 0, sum(w) = 1`` for every row c of ``cross``.

    Parameters and result as in `nonnegative_least_squares`. Components that are affinely
    independent give unique weights even where they are linearly dependent.
    """
    k = len(gram)
    # On the simplex the problem does not change when everything is moved so that the mean of the
    # components is the origin, nor when a multiple of the all-ones matrix is added to the Gram
    # matrix. The second makes affine independence enough for a Cholesky factor.
    row_means = gram.mean(axis=1, dtype=np.float64)
    centred = gram - row_means[:, None] - row_means[None, :] + row_means.mean()
    largest = float(np.max(np.abs(gram)))
    # Of equal components only rounding is left, of either sign.
    lift = max(float(np.trace(centred)) / k, k * ROUNDING * largest) or 1.0
    scale = max(float(np.max(np.diag(centred))), 0.0) + lift
    # Centring may cancel most digits; the floor follows, but never so far that no column passes.
    floor = k * ROUNDING * max(1.0, largest / scale)
    floor = min(floor, 0.01 * lift / scale)
    return _solve((centred + lift) / scale, cross, row_means, scale, start, True, floor, 1.0)


def _solve(
    gram: NDArray[np.float64],
    cross: Array,
    shift: NDArray[np.float64],
    scale: NDArray[np.float64] | float,
    start: Array | None,
    sum_to_one: bool,
    floor: float,
    unit: NDArray[np.float64] | float,
) -> Array:
    """Solve the normalised problem with ``(cross - shift) / scale``; divide weights by ``unit``."""
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    if not np.isfinite(gram.sum()):
        raise InvalidInput("components overflow: give the data in double precision, or another k")
    first_guess, exact = without_signs(gram, sum_to_one=sum_to_one, floor=floor)
    result = np.empty(cross.shape, dtype=cross.dtype)

    def solve_slice(rows: slice) -> None:
        right = (cross[rows] - shift) / scale
        if not np.isfinite(right.sum()):
            raise InvalidInput("cross contains NaN or infinity; check the data rows")
        if sum_to_one:
            # Rows far from the components: what lies this far below the best gets no weight, and
            # its exact size would only cost the digits of the others.
            best = right.max(axis=1, keepdims=True, initial=-np.inf)
            far = np.flatnonzero(best[:, 0] - right.min(axis=1, initial=np.inf) > HOPELESS)
            right[far] = np.maximum(right[far] - best[far], -HOPELESS)
            right -= right.mean(axis=1, keepdims=True)
        if start is None:
            weights = first_guess(right)
            todo = np.flatnonzero((weights.min(axis=1, initial=0.0) < 0.0) | (not exact))
        else:
            weights = np.array(start[rows], dtype=np.float64, order="C")
            todo = np.arange(len(right))
        if len(todo):
            chosen = weights[todo]
            solve_rows_in_place(gram, right[todo], chosen, sum_to_one, floor, ROUNDING)
            weights[todo] = chosen
        result[rows] = weights / unit

    for_row_slices(solve_slice, len(cross), slice_rows=max(1, SLICE_ENTRIES // max(1, len(gram))))
    return result


def without_signs(
    gram: NDArray[np.float64], *, sum_to_one: bool, floor: float
) -> tuple[Callable[[NDArray[np.float64]], NDArray[np.float64]], bool]:
    """Return a function that minimizes with signs ignored, and whether it is exact.

    A nearly singular Gram matrix gets a ridge: the minimizers are then good for their signs only.
    """
    try:
        factor = cholesky(gram, lower=True)
        exact = bool(np.min(np.diag(factor)) ** 2 > floor)
    except LinAlgError:
        exact = False
    if not exact:
        ridge = RIDGE + (1.0 + RIDGE) * max(0.0, -float(np.linalg.eigvalsh(gram)[0]))
        factor = cholesky(gram + ridge * np.eye(len(gram)), lower=True)

    def solve(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.ascontiguousarray(cho_solve((factor, True), rows.T).T)
        if sum_to_one:
            ones = cho_solve((factor, True), np.ones(len(gram)))
            weights += ((1.0 - weights.sum(axis=1)) / ones.sum())[:, None] * ones
        return weights

    return solve, exact


# Compiled active-set methods

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
kernel = njit(cache=True, nogil=True, error_model="numpy")
inner = inner_njit(error_model="numpy")
# For what is called in one place: it compiles faster there than by itself.
inlined = inner_njit(error_model="numpy", inline="always")
# Not literals, for which numba compiles separate functions.
NONE: Any = np.int64(0)
NOBODY: Any = np.int64(-1)
# Sums may be reordered, so that dot products use vector instructions.
reordering = inner_njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@reordering
def append_column_in_place(
    gram: Floats, order: Ints, size: int, column: int, lower: Floats, floor: float
) -> bool:
    """Extend the Cholesky factor of gram[order[:size]] by ``column``; False if it is dependent.

    ``lower`` keeps the reciprocals of the factor's diagonal: a division is slow.
    """
    pivot = gram[column, column]
    for i in range(size):
        total = 0.0
        for j in range(i):
            total += lower[i, j] * lower[size, j]
        value = (gram[column, order[i]] - total) * lower[i, i]
        lower[size, i] = value
        pivot -= value * value
    if pivot <= floor:
        return False
    lower[size, size] = 1.0 / np.sqrt(pivot)
    order[size] = column
    return True


@reordering
def solve_with_factor_in_place(lower: Floats, size: int, right: Floats) -> None:
    """Solve L L' x = right in place."""
    for i in range(size):
        total = 0.0
        for j in range(i):
            total += lower[i, j] * right[j]
        right[i] = (right[i] - total) * lower[i, i]
    for i in range(size - 1, -1, -1):
        value = right[i] * lower[i, i]
        right[i] = value
        for j in range(i):
            right[j] -= value * lower[i, j]


@inner
def solve_on_support_in_place(
    lower: Floats,
    size: int,
    order: Ints,
    row: Floats,
    sum_to_one: bool,
    work: Floats,
) -> float:
    """Minimize over the columns in ``order``, signs unconstrained; return the sum's multiplier.

    The solution is written into ``work[0]``; ``work[1]`` holds the one for a right side of ones.
    """
    solution, ones = work[0], work[1]
    for i in range(size):
        solution[i] = row[order[i]]
        ones[i] = 1.0
    for side in range(2 if sum_to_one else 1):  # a loop: each call is compiled where it stands
        solve_with_factor_in_place(lower, size, work[side])
    if not sum_to_one:
        return 0.0
    total, total_ones = 0.0, 0.0
    for i in range(size):
        total += solution[i]
        total_ones += ones[i]
    multiplier = (1.0 - total) / total_ones
    for i in range(size):
        solution[i] += multiplier * ones[i]
    return multiplier


@inner
def descent_in_place(
    gram: Floats,
    row: Floats,
    multiplier: float,
    order: Ints,
    size: int,
    solution: Floats,
    rounding: float,
    descent: Floats,
) -> float:
    """Write the negative gradient of the Lagrangian; return the size of its rounding errors."""
    k = row.size
    largest, total = 0.0, abs(multiplier)
    for j in range(k):
        descent[j] = row[j] + multiplier
        largest = max(largest, abs(row[j]))
    for i in range(size):
        weight = solution[i]
        total += abs(weight)
        column = order[i]
        for j in range(k):
            descent[j] -= weight * gram[column, j]
    return 8.0 * rounding * (largest + total)


@inlined
def pivot_row_in_place(
    gram: Floats,
    row: Floats,
    positive: Bools,
    sum_to_one: bool,
    floor: float,
    rounding: float,
    lower: Floats,
    order: Ints,
    work: Floats,
) -> int:
    """Pivot from the guess ``positive`` (Kim & Park 2011); return the support size, or -1."""
    k = row.size
    solution, descent, dependent = work[0], work[2], work[3]
    fewest, patience = k + 1, 3
    while True:
        size: int = NONE
        for j in range(k):
            dependent[j] = 0.0
            if positive[j]:
                if append_column_in_place(gram, order, size, j, lower, floor):
                    size += 1
                else:
                    positive[j] = False
                    dependent[j] = 1.0
        multiplier = solve_on_support_in_place(lower, size, order, row, sum_to_one, work)
        zero = descent_in_place(gram, row, multiplier, order, size, solution, rounding, descent)
        wrong = 0
        for i in range(size):
            descent[order[i]] = 0.0
            if solution[i] < 0.0:
                positive[order[i]] = False
                wrong += 1
        for j in range(k):
            if descent[j] > zero and dependent[j] == 0.0 and gram[j, j] > floor:
                positive[j] = True
                wrong += 1
        if wrong == 0:
            return size
        if wrong < fewest:
            fewest, patience = wrong, 3
        elif patience > 0:
            patience -= 1
        else:
            return -1


@inner
def best_vertex(gram: Floats, row: Floats) -> int:
    """Return the single component with the smallest objective at weight one."""
    best = 0
    for j in range(1, row.size):
        if 0.5 * gram[j, j] - row[j] < 0.5 * gram[best, best] - row[best]:
            best = j
    return best


@inlined
def descend_row_in_place(
    gram: Floats,
    row: Floats,
    weights: Floats,
    sum_to_one: bool,
    floor: float,
    rounding: float,
    lower: Floats,
    order: Ints,
    work: Floats,
) -> None:
    """Descend with a primal active set (Lawson & Hanson 1974); write the row of weights.

    In each round one entry may enter the support; if others then turn negative, weights move only
    until the first of them is zero. An entry that rounding keeps out is banned until one enters.
    """
    k = row.size
    solution, descent, banned = work[0], work[2], work[3]
    weights[:] = 0.0
    banned[:] = 0.0
    size, entering, step = NONE, NOBODY, 0.0
    if sum_to_one:
        size, order[0] = NONE + 1, best_vertex(gram, row)
        weights[order[0]] = 1.0
    for _ in range(10 * k + 20):
        if step < 1.0:  # the last step ended where some weights became zero
            before, size = size, NONE
            for i in range(before):
                j = order[i]
                if weights[j] > 0.0 and append_column_in_place(gram, order, size, j, lower, floor):
                    size += 1
                else:
                    weights[j] = 0.0
        if entering >= 0:
            banned[entering] = 1.0
            if append_column_in_place(gram, order, size, entering, lower, floor):
                size += 1
        multiplier = solve_on_support_in_place(lower, size, order, row, sum_to_one, work)
        if size and order[size - 1] == entering:
            entering = NOBODY
            if solution[size - 1] <= 0.0:
                size -= 1
                continue
            banned[:] = 0.0
        step = 1.0
        for i in range(size):
            old = weights[order[i]]
            if solution[i] <= 0.0:
                step = min(step, old / (old - solution[i]))
        for i in range(size):
            old = weights[order[i]]
            reached = old + step * (solution[i] - old)
            stays = solution[i] > 0.0 or reached > 1e-15 * old
            weights[order[i]] = max(reached, 0.0) if stays else 0.0
        if step < 1.0:
            continue
        zero = descent_in_place(gram, row, multiplier, order, size, solution, rounding, descent)
        entering = NOBODY
        for j in range(k):
            if weights[j] == 0.0 and banned[j] == 0.0 and gram[j, j] > floor and descent[j] > zero:
                entering, zero = j, descent[j]
        if entering < 0:
            return


@kernel
def solve_rows_in_place(
    gram: Floats, cross: Floats, weights: Floats, sum_to_one: bool, floor: float, rounding: float
) -> None:
    """Solve each row; positive entries of ``weights`` are the first guess, then the answer."""
    n, k = cross.shape
    lower = np.empty((k, k))
    order = np.empty(k, dtype=np.int64)
    work = np.empty((4, k))
    positive = np.empty(k, dtype=np.bool_)
    for r in range(n):
        any_positive = False
        for j in range(k):
            positive[j] = weights[r, j] > 0.0
            any_positive |= positive[j]
        if sum_to_one and not any_positive:
            positive[best_vertex(gram, cross[r])] = True
        size = pivot_row_in_place(
            gram, cross[r], positive, sum_to_one, floor, rounding, lower, order, work
        )
        if size < 0:
            descend_row_in_place(
                gram, cross[r], weights[r], sum_to_one, floor, rounding, lower, order, work
            )
            continue
        for j in range(k):
            weights[r, j] = 0.0
        for i in range(size):
            weights[r, order[i]] = work[0, i]
