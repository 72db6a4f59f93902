"""Coordinate-wise Newton steps for rows of weights under the Kullback-Leibler divergence.

For one data row x, features L (k, m) and their sums s, the weights w >= 0 minimise

    f(w) = s.w - sum_j x_j log u_j,   u = w L                       (constants of x left out)

Along coordinate i the slope is s_i - sum_j x_j L_ij / u_j and the curvature sum_j x_j (L_ij/u_j)^2.
f is self-concordant with constant 1/sqrt(min x): a full Newton step lowers it if it goes up, or if
the Newton decrement is at most 0.683, and a damped one always does (Hien & Gillis, "Algorithms for
nonnegative matrix factorization with the Kullback-Leibler divergence", 2021, Section 4).

Where x has entries of very different size, damping by the least of them leaves next to nothing of
a step. The multiplicative update w_i sum_j x_j L_ij / (u_j s_i) lowers f as well (Lee & Seung,
"Algorithms for non-negative matrix factorization", 2001), whatever the entries, and goes the same
way; the longer of the two is taken. Near the least f that is Newton's.
"""

import numpy as np
from numpy.typing import NDArray

from provenmf.linalg.compiled import inner_njit, njit

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

FULL_STEP = 0.683
CANCELS = 1e-3
SWEEPS_ALONE = 2  # before joint steps begin
HALVINGS = 10  # of a joint step, at the most
KEPT = 0.01
SMALL = 1e-6  # share of the largest part below which joint steps leave a weight to the sweeps
RIDGE = 1e-12  # added to the diagonal of the Hessian, as a share: features may be alike
# Rows without a larger entry are rescaled first: 1 / u would overflow.
TINY = 1e-280
# Largest weight of such a row to start from, in these units.
FAR_ABOVE = 1e100
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@inner_njit(error_model="numpy", fastmath=_FAST)
def pull_and_curvature(x: Floats, feature: Floats, u: Floats) -> tuple[float, float]:
    """Return the sums of x_j q_j and of x_j q_j^2 with q = feature / u."""
    pull, curvature = 0.0, 0.0
    for j in range(len(x)):
        ratio = feature[j] / u[j] if x[j] > 0.0 else 0.0  # both may vanish where x does
        weighted = x[j] * ratio
        pull += weighted
        curvature += weighted * ratio
    return pull, curvature


@inner_njit(error_model="numpy", fastmath=_FAST)
def add_multiple_in_place(u: Floats, feature: Floats, factor: float) -> None:
    """Compute u += factor * feature."""
    for j in range(len(u)):
        u[j] += factor * feature[j]


@njit(cache=True, nogil=True, error_model="numpy")
def shrinks_little(u: Floats, feature: Floats, factor: float) -> bool:
    """Return whether u + factor * feature >= CANCELS * u in every entry."""
    for j in range(len(u)):
        if u[j] + factor * feature[j] < CANCELS * u[j]:
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def leaves_out(x: Floats, u: Floats) -> bool:
    """Return whether some u_j is zero where x_j is positive."""
    for j in range(len(x)):
        if u[j] <= 0.0 < x[j]:
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def mix_in_place(w: Floats, features: Floats, u: Floats) -> None:
    """Compute u = w @ features."""
    u[:] = 0.0
    for i in range(len(w)):
        if w[i] != 0.0:
            add_multiple_in_place(u, features[i], w[i])


@njit(cache=True, nogil=True, error_model="numpy")
def stepped(
    value: float, total: float, pull: float, curvature: float, floor: float, inverse_root: float
) -> float:
    """Return a coordinate after its step; `total` is the sum of its feature.

    Where an entry of u is so small that feature / u overflows, the coordinate stays as it is.
    """
    slope = total - pull
    if not np.isfinite(slope) or np.isnan(curvature):
        return value
    if value <= floor and slope >= 0.0:
        return value
    if curvature <= 0.0:
        return floor
    decrement = inverse_root * abs(slope) / np.sqrt(curvature)
    step = slope / curvature
    if slope > 0.0 and decrement > FULL_STEP:
        step /= 1.0 + decrement
    if abs(value * slope / total) > abs(step):
        return max(value * (pull / total), floor)
    return max(value - step, floor)


@njit(cache=True, nogil=True, error_model="numpy")
def step_coordinate_in_place(
    values: Floats,
    total: float,
    pull: Floats,
    curvature: Floats,
    floor: float,
    inverse_roots: Floats,
) -> None:
    """Update one coordinate of many rows; skip rows without a positive entry."""
    for j in range(len(values)):
        if inverse_roots[j] > 0.0:
            root = inverse_roots[j]
            values[j] = stepped(values[j], total, pull[j], curvature[j], floor, root)


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_in_place(
    x: Floats,
    features: Floats,
    sums: Floats,
    w: Floats,
    u: Floats,
    floor: float,
    inverse_root: float,
) -> float:
    """Update every coordinate of w once, none below `floor`, and keep u = w @ features.

    `inverse_root` is one over the square root of the least positive entry of x. Returns the
    largest move.
    """
    moved = 0.0
    for i in range(len(w)):
        if sums[i] <= 0.0:
            continue
        pull, curvature = pull_and_curvature(x, features[i], u)
        multiplicative = w[i] * (pull / sums[i])
        new = stepped(w[i], sums[i], pull, curvature, floor, inverse_root)
        if new != w[i]:
            change = new - w[i]
            # A weight that keeps a share keeps that share of its part of u, and more of the whole.
            kept = new >= CANCELS * w[i] or shrinks_little(u, features[i], change)
            w[i] = new
            moved = max(moved, abs(change))
            if kept:
                add_multiple_in_place(u, features[i], change)
            else:  # what is left of u is the rounding error of what it was
                mix_in_place(w, features, u)
                if leaves_out(x, u):  # by rounding: no step does
                    w[i] = max(multiplicative, floor) if np.isfinite(pull) else new - change
                    mix_in_place(w, features, u)
    return moved


@njit(cache=True, nogil=True, error_model="numpy")
def joint_step_in_place(x: Floats, features: Floats, sums: Floats, w: Floats, u: Floats) -> None:
    """Apply a damped Newton step to all weights jointly, except those of negligible parts.

    The Hessian of f is sum_j x_j L_j L_j' / u_j^2. The step ends where a weight has a share KEPT
    left, since only sweeps say that a weight is zero; then it is halved until f falls. u follows.
    """
    parts = w * sums
    free = np.flatnonzero(parts > SMALL * parts.max())
    k, m = len(free), len(x)
    hessian, slopes = np.zeros((k, k)), sums[free]
    scaled = np.empty((k, m))
    for a in range(k):
        feature = features[free[a]]
        for j in range(m):
            scaled[a, j] = feature[j] / u[j] if x[j] > 0.0 else 0.0
    for a in range(k):
        for b in range(a + 1):
            hessian[a, b] = weighted_product(x, scaled[a], scaled[b])
            hessian[b, a] = hessian[a, b]
        slopes[a] -= np.dot(x, scaled[a])
        hessian[a, a] *= 1.0 + RIDGE
        if not (0.0 < hessian[a, a] < np.inf) or not np.isfinite(slopes[a]):
            return
    step = np.linalg.solve(hessian, slopes)
    length = 1.0
    for a in range(k):
        if step[a] * length > (1.0 - KEPT) * w[free[a]]:
            length = (1.0 - KEPT) * w[free[a]] / step[a]
    relative = step @ scaled
    for _ in range(HALVINGS):
        change = 0.0
        for a in range(k):
            change -= length * step[a] * sums[free[a]]
        for j in range(m):
            if x[j] > 0.0:
                change -= x[j] * np.log1p(-length * relative[j])
        if change < 0.0:
            for a in range(k):
                w[free[a]] -= length * step[a]
            mix_in_place(w, features, u)
            return
        length *= 0.5


@inner_njit(error_model="numpy", fastmath=_FAST)
def weighted_product(x: Floats, left: Floats, right: Floats) -> float:
    """Return the sum of x_j left_j right_j."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * left[j] * right[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def divergence_of_row(x: Floats, u: Floats, total: float) -> float:
    """Return sum_j x_j log(x_j / u_j) - x_j, plus the total of u over all columns."""
    value = total
    for j in range(len(x)):
        if x[j] > 0.0:
            value += x[j] * np.log(x[j] / u[j]) - x[j]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_row_in_place(
    x: Floats,
    features: Floats,
    sums: Floats,
    w: Floats,
    u: Floats,
    sweeps: int,
    floor: float,
    tol: float,
) -> float:
    """Sweep until no weight moves by more than tol times the largest; return the divergence.

    Where weights are to be found to a tolerance, joint steps follow the sweeps: these find out
    which weights are zero, and joint steps how the others depend on each other.
    """
    least = np.inf
    for j in range(len(x)):
        if 0.0 < x[j] < least:
            least = x[j]
    mix_in_place(w, features, u)
    for sweep in range(sweeps):
        if sweep > 0:
            mix_in_place(w, features, u)  # it may have become small step by step
        moved = sweep_in_place(x, features, sums, w, u, floor, 1.0 / np.sqrt(least))
        if moved <= tol * w.max():
            break
        if tol > 0.0 and sweep >= SWEEPS_ALONE:
            joint_step_in_place(x, features, sums, w, u)
    return float(divergence_of_row(x, u, np.dot(w, sums)))


@njit(cache=True, nogil=True, error_model="numpy")
def improve_row_in_place(
    x: Floats,
    features: Floats,
    sums: Floats,
    w: Floats,
    u: Floats,
    sweeps: int,
    floor: float,
    tol: float,
) -> float:
    """Improve the weights of one row, whatever the size of its entries; the divergence."""
    largest = 0.0
    for j in range(len(x)):
        largest = max(largest, x[j])
    if largest == 0.0:
        w[:] = 0.0
        return 0.0
    if largest > TINY or floor > 0.0:
        return float(sweep_row_in_place(x, features, sums, w, u, sweeps, floor, tol))
    for i in range(len(w)):
        w[i] = min(w[i] / largest, FAR_ABOVE)
    divergence = sweep_row_in_place(x / largest, features, sums, w, u, sweeps, floor, tol)
    w *= largest
    return float(divergence * largest)


@njit(cache=True, nogil=True, error_model="numpy")
def improve_dense_rows_in_place(
    rows: Floats,
    features: Floats,
    sums: Floats,
    weights: Floats,
    divergences: Floats,
    sweeps: int,
    floor: float,
    tol: float,
) -> None:
    """Improve the weights (n, k) of dense rows (n, m) for features (k, m)."""
    u = np.empty(rows.shape[1])
    for r in range(len(rows)):
        divergences[r] = improve_row_in_place(
            rows[r], features, sums, weights[r], u, sweeps, floor, tol
        )


@njit(cache=True, nogil=True, error_model="numpy")
def improve_sparse_rows_in_place(
    indptr: Ints,
    indices: Ints,
    data: Floats,
    columns: Floats,
    sums: Floats,
    weights: Floats,
    divergences: Floats,
    sweeps: int,
    floor: float,
    tol: float,
) -> None:
    """Improve the weights (n, k) of CSR rows; `columns` (m, k) are the transposed features.

    `indptr` may be a slice of the matrix's own: it points into all of `indices` and `data`. Only
    the entries of a row matter besides the sums of the features, so these are gathered first.
    """
    k = weights.shape[1]
    longest = 0
    for r in range(len(weights)):
        longest = max(longest, indptr[r + 1] - indptr[r])
    gathered = np.empty((k, longest))
    u = np.empty(longest)
    for r in range(len(weights)):
        first, count = indptr[r], indptr[r + 1] - indptr[r]
        for j in range(count):
            column = indices[first + j]
            for i in range(k):
                gathered[i, j] = columns[column, i]
        divergences[r] = improve_row_in_place(
            data[first : first + count],
            gathered[:, :count],
            sums,
            weights[r],
            u[:count],
            sweeps,
            floor,
            tol,
        )


def sums_by(places: NDArray[np.integer], values: Floats, length: int) -> Floats:
    """Sum the values at each place."""
    return np.bincount(places, weights=values, minlength=length).astype(np.float64)


def products_at(
    rows: NDArray[np.intp], columns: NDArray[np.integer], weights: Floats, components: Floats
) -> Floats:
    """Return the entries (WC)[rows, columns], two million products at a time."""
    out = np.empty(len(rows))
    features = np.ascontiguousarray(components.T)
    part = max(1, 2_000_000 // max(1, len(components)))
    for start in range(0, len(rows), part):
        here = slice(start, start + part)
        out[here] = np.einsum("ij,ij->i", weights[rows[here]], features[columns[here]])
    return out
