"""Least squares with nonnegative or simplex weights, for many rows that share one Gram matrix.

With components A (k x d) and data rows x, ``gram = A A'`` and ``cross = X A'`` hold all that the
problem needs:

    nonnegative:  min over w >= 0              of  1/2 ||x - w A||^2 = 1/2 w G w' - w c' + constant
    simplex:      min over w >= 0, sum(w) = 1  of  the same

Rows are independent. A row whose unconstrained solution is feasible costs two triangular solves
inside one BLAS call; every other row runs an exact active-set method from the signs of that
solution (see ``kernels.active_set``). The arithmetic is float64 whatever comes in.

Accuracy: the answer is optimal for the given Gram matrix to rounding, except that a component that
lies within sqrt(k * eps) of the span of chosen ones counts as dependent and gets weight zero.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky

from provenmf.budget import for_row_slices
from provenmf.errors import InvalidInput

Array = NDArray[np.floating]

ROUNDING = float(np.finfo(np.float64).eps)
HOPELESS = 1e6  # how far below the best a component gets no weight; Gram entries differ by <= 4
SLICE_ENTRIES = 1 << 16  # entries of cross handled by one thread at a time: 512 kB


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
    lift = np.trace(centred) / k
    lift = lift if lift > 0.0 else 1.0
    scale = np.max(np.diag(centred)) + lift
    # Centring may cancel most digits; the floor follows, but never so far that no column passes.
    floor = k * ROUNDING * max(1.0, float(np.max(np.abs(gram))) / scale)
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
    """Solve the normalised problem with ``(cross - shift) / scale``; weights come out by unit."""
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    guess = UnconstrainedSolver(gram, sum_to_one=sum_to_one, floor=floor)
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
            weights = guess.solve(right)
            todo = np.flatnonzero(~guess.trusted | (weights.min(axis=1, initial=0.0) < 0.0))
        else:
            weights = np.array(start[rows], dtype=np.float64, order="C")
            todo = np.arange(len(right))
        if len(todo):
            chosen = weights[todo]
            _pivot_or_descend(gram, right[todo], chosen, sum_to_one, floor)
            weights[todo] = chosen
        result[rows] = weights / unit

    for_row_slices(solve_slice, len(cross), slice_rows=max(1, SLICE_ENTRIES // max(1, len(gram))))
    return result


def _pivot_or_descend(
    gram: NDArray[np.float64],
    right: NDArray[np.float64],
    weights: NDArray[np.float64],
    sum_to_one: bool,
    floor: float,
) -> None:
    """Solve rows in place; the method for hard rows is compiled only where there are any."""
    from provenmf.linalg.active_set import (
        descend_rows_in_place,
        pivot_rows_in_place,
    )

    hard = np.zeros(len(right), dtype=np.bool_)
    if pivot_rows_in_place(gram, right, weights, sum_to_one, floor, ROUNDING, hard):
        descend_rows_in_place(gram, right, weights, sum_to_one, floor, ROUNDING, hard)


class UnconstrainedSolver:
    """Minimisers with signs ignored; ``trusted`` when the Gram matrix is far from singular."""

    def __init__(self, gram: NDArray[np.float64], *, sum_to_one: bool, floor: float) -> None:
        self.trusted = True
        try:
            self._factor = cholesky(gram, lower=True)
            self.trusted = bool(np.min(np.diag(self._factor)) ** 2 > floor)
        except LinAlgError:
            self.trusted = False
        if not self.trusted:
            self._inverse = _pseudo_inverse(gram, floor)
        self._ones = self._apply(np.ones((1, len(gram)))) if sum_to_one else None

    def _apply(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.trusted:
            return np.ascontiguousarray(cho_solve((self._factor, True), rows.T).T)
        return rows @ self._inverse

    def solve(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one minimiser for each row."""
        weights = self._apply(rows)
        if self._ones is not None:
            total = self._ones.sum()
            multiplier = (1.0 - weights.sum(axis=1)) / (total if total > 0.0 else 1.0)
            weights += multiplier[:, None] * self._ones
        return weights


def _pseudo_inverse(gram: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(gram)
    kept = values > max(floor, floor * values[-1])
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
