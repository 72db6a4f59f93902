"""How far a mixture is from the optimum of MERIT's problem, all n vertices counted.

With p_ln = <x_n, r_l>, r_l = c_l X - x_l, and any prices y >= 0 whose columns sum to at most one,

    min f  >=  sum_l  v_l - <r_l, x_l> - ||r_l||^2 / 2  -  lam mu (columns) log n,
    v_l     =  min over n of p_ln + lam y_ln,

by weak duality; the last term pays for the smoothing, phi_mu(c) >= <y, c> - mu log n. Three
choices of y, from cheap to sharp:

* the gradient of the penalty where the dictionary is used, and each other row's price on itself;
* the same, with the search outside the dictionary replaced by a bound (very many rows);
* dual ascent on the levels v themselves (few rows, or the dictionary alone).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from provenmf.parallel import for_row_slices
from provenmf.solvers.merit.mixture import SINGLE_EPS, Mixture, Penalties
from provenmf.solvers.merit.spread import SpreadMixture

Floats = NDArray[np.float64]

# Above this many rows the search over all pairs is replaced by a bound. It takes minutes from
# 10^5 rows on, and with so many rows proves little: any of them may serve a row by its noise.
SEARCH_ROWS = 20_000
# Up to this many rows we afford the dozen such searches of dual ascent.
ASCENT_ROWS = 4000
TILE = (1024, 4096)
RAISE = (0.1, 0.2, 0.3, 0.5, 1.0)


def duality_gap(
    mixture: Mixture | SpreadMixture, penalties: Penalties, *, quickly: bool = False
) -> tuple[float, bool]:
    """An upper bound of f(C) - min f, and whether all pairs of rows were searched for it.

    `quickly` leaves the long searches out, for a user who has just interrupted.
    """
    n, outside = mixture.n_rows, mixture.n_rows - len(mixture.dictionary)
    at_hand = isinstance(mixture, Mixture)
    searched = outside == 0 or (at_hand and n <= SEARCH_ROWS and not quickly)
    longest, farthest = longest_row(mixture), farthest_outside(mixture)
    smoothing = penalties.lam * penalties.mu * outside * np.log(n)

    def of_rows(some: Mixture) -> float:
        _, lowest, inner = some.search(penalties)
        error = some.search_error(penalties)
        lowest, inner = lowest - error, inner + error
        if outside:
            others = (
                lowest_products(some, longest)
                if searched
                else lowest_outside_bound(some, longest, farthest)
            )
            lowest = np.minimum(lowest, np.minimum(others, own_products(some) + penalties.lam))
        return float((inner - lowest).sum())

    gap = float(mixture.map_reduce(of_rows)) + smoothing
    objective = mixture.objective(penalties)
    if isinstance(mixture, Mixture) and n <= ASCENT_ROWS and not quickly:
        gap = min(gap, objective - ascent_bound(mixture, penalties, mixture.X))
    return max(min(gap, objective), 0.0), searched  # f is never negative


def dictionary_gap(mixture: Mixture | SpreadMixture, penalties: Penalties) -> float:
    """An upper bound of f(C) - min f where only the rows of the dictionary may be vertices."""
    objective = mixture.objective(penalties)
    if len(mixture.dictionary) > ASCENT_ROWS:
        return objective  # too many for dual ascent; f is never negative
    bound = ascent_bound(mixture, penalties, mixture.atoms)
    return max(min(objective - bound, objective), 0.0)


def own_products(mixture: Mixture) -> Floats:
    """<x_l, r_l> of every row."""
    return np.asarray(np.einsum("ij,ij->i", mixture.X, mixture.fitted - mixture.X))


def longest_row(mixture: Mixture | SpreadMixture) -> float:
    """Length of the longest row of the data."""
    squared = mixture.map_rows(lambda some: np.einsum("ij,ij->i", some.X, some.X, dtype=np.float64))
    return float(np.sqrt(squared.max()))


def farthest_outside(mixture: Mixture | SpreadMixture) -> float:
    """The longest residual of a row outside the dictionary."""
    squared = mixture.squared_residuals()
    squared[mixture.dictionary] = 0.0
    return float(np.sqrt(squared.max()))


def lowest_products(mixture: Mixture, longest: float) -> Floats:
    """For every row l the smallest <x_n, r_l> over rows n != l outside the dictionary, from below.

    Single precision in tiles; its largest rounding error is taken off.
    """
    X, outside = mixture.X, outside_rows(mixture)
    place = np.cumsum(outside) - 1
    narrow = np.ascontiguousarray(X[outside].T, dtype=np.float32)
    lowest = np.empty(len(X))

    def search(rows: slice) -> None:
        residual = (mixture.fitted[rows] - X[rows]).astype(np.float32)
        own = np.flatnonzero(outside[rows])
        columns = place[rows][own]
        best = np.full(len(residual), np.inf, dtype=np.float32)
        for start in range(0, narrow.shape[1], TILE[1]):
            products = residual @ narrow[:, start : start + TILE[1]]
            here = (columns >= start) & (columns < start + TILE[1])
            products[own[here], columns[here] - start] = np.inf
            np.minimum(best, products.min(axis=1), out=best)
        lowest[rows] = best

    for_row_slices(search, len(X), slice_rows=TILE[0])
    return lowest - single_precision_error(mixture, longest)


def outside_rows(mixture: Mixture) -> NDArray[np.bool_]:
    """Which rows are not in the dictionary."""
    outside = np.ones(len(mixture.X), dtype=bool)
    outside[mixture.dictionary] = False
    return outside


def single_precision_error(mixture: Mixture, longest: float) -> Floats:
    """Largest rounding error of <x_n, r_l> in single precision: (d + 4) eps ||x_n|| ||r_l||."""
    lengths = np.sqrt(mixture.squared_residuals())
    return np.asarray((mixture.X.shape[1] + 4) * SINGLE_EPS * longest * lengths)


def lowest_outside_bound(mixture: Mixture, longest: float, farthest: float) -> Floats:
    """A lower bound, for every row, of <x_j, r> over all rows j outside the dictionary.

    Row j is its own mixture of dictionary rows plus an error e_j = -r_j no longer than `farthest`,
    so <x_j, r> >= min over the dictionary of <x_s, r> - ||e_j|| ||r||.
    """
    lengths = np.sqrt(mixture.squared_residuals())
    bound = np.empty(len(lengths))

    def search(rows: slice) -> None:
        bound[rows] = mixture.gradient(rows).min(axis=1) - farthest * lengths[rows]

    for_row_slices(search, len(lengths), slice_rows=mixture.slice_rows)
    return bound - single_precision_error(mixture, longest)


def ascent_bound(
    mixture: Mixture | SpreadMixture, penalties: Penalties, vertices: NDArray[np.floating]
) -> float:
    """A lower bound of min f over the given vertices by dual ascent, as of Erlenkotter (1978).

    Levels start on the line from min_n p_ln, where nothing is charged, towards <c_l, p_l>, as far
    as all columns can pay; then each row in turn is raised as far as its columns allow.
    """
    lam = penalties.lam
    found = mixture.map_rows(lambda some: level_ends(some, vertices))
    floor, target, fit = (np.ascontiguousarray(column) for column in found.T)

    def charges(levels: Floats) -> Floats:
        charged = mixture.map_reduce(lambda some, own: charges_of(some, own, vertices), levels)
        return np.asarray(charged)

    low, high = 0.0, 1.0
    for _ in range(8):
        share = (low + high) / 2
        if charges(floor + share * (target - floor)).max() <= lam:
            low = share
        else:
            high = share
    levels = floor + low * (target - floor)
    slack = lam - charges(levels)
    for fraction in RAISE:

        def raised(
            left: Floats, some: Mixture, own: Floats, share: float = fraction
        ) -> tuple[Floats, Floats]:
            return levels_raised(left, some, own, vertices, share)

        slack, parts = mixture.fold(raised, slack, levels)
        levels = parts.rows()
    smoothing = lam * penalties.mu * len(vertices) * float(np.log(mixture.n_rows))
    return float((levels - fit).sum()) - smoothing


def level_ends(mixture: Mixture, vertices: NDArray[np.floating]) -> Floats:
    """For each row: min_n p_ln, <c_l, p_l>, and <r_l, x_l> + ||r_l||^2 / 2."""
    residual = mixture.fitted - mixture.X
    floor = np.concatenate([p.min(axis=1) for _, p in product_slices(vertices, residual)])
    target = np.einsum("ij,ij->i", mixture.fitted, residual)
    fit = own_products(mixture) + 0.5 * np.einsum("ij,ij->i", residual, residual)
    return np.column_stack([floor, target, fit])


def charges_of(mixture: Mixture, levels: Floats, vertices: NDArray[np.floating]) -> Floats:
    """What some rows charge each vertex at the given levels."""
    from provenmf.kernels.merit.dual import add_charges_in_place

    total = np.zeros(len(vertices))
    for rows, products in product_slices(vertices, mixture.fitted - mixture.X):
        add_charges_in_place(products, levels[rows], total)
    return total


def levels_raised(
    slack: Floats, mixture: Mixture, levels: Floats, vertices: NDArray[np.floating], share: float
) -> tuple[Floats, Floats]:
    """The slack that is left, and the levels of some rows raised by a share of what it allows."""
    from provenmf.kernels.merit.dual import raise_levels_in_place

    slack, levels = slack.copy(), levels.copy()
    for rows, products in product_slices(vertices, mixture.fitted - mixture.X):
        raise_levels_in_place(products, levels[rows], slack, share)
    return slack, levels


def product_slices(
    vertices: NDArray[np.floating], residual: Floats
) -> Iterator[tuple[slice, NDArray[np.floating]]]:
    """<vertex, r_l> for all vertices, a slice of rows l at a time."""
    for start in range(0, len(residual), TILE[0]):
        rows = slice(start, min(start + TILE[0], len(residual)))
        yield rows, residual[rows] @ vertices.T
