"""How far a mixture is from the optimum of MERIT's problem, all n vertices counted.

With p_ln = <x_n, r_l>, r_l = c_l X - x_l, and any prices y >= 0 whose columns sum to at most one,

    min f  >=  sum_l  v_l - <r_l, x_l> - ||r_l||^2 / 2  -  lam mu (columns) log n,
    v_l     =  min over n of p_ln + lam y_ln,

by weak duality; the last term pays for the smoothing, phi_mu(c) >= <y, c> - mu log n. Four
choices of y:

* the gradient of the penalty where the dictionary is used, and each other row's price on itself;
* the same, with the search outside the dictionary replaced by a bound (very many rows);
* dual ascent on the levels v themselves (few rows);
* levels between the lowest and the second lowest p of a row, which charge one vertex each (the
  dictionary alone): one pass, and sharper than dual ascent where many rows share few vertices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.methods.merit import settings
from provenmf.methods.merit.mixture import SINGLE_EPS, MixedRows, Mixture, Penalties

Floats = NDArray[np.float64]

TILE = (1024, 4096)  # rows and vertices multiplied at a time
RAISE = (0.1, 0.2, 0.3, 0.5, 1.0)  # shares of the slack by which dual ascent raises the levels


@dataclass(frozen=True)
class Extent:
    """Of some rows: the longest, the longest residual outside the dictionary, and sum ||r||^2."""

    longest: float
    farthest: float
    squared: float

    def objective(self, penalties: Penalties) -> float:
        """Return f(C) = 1/2 sum ||r||^2 and the penalties, if these are all rows."""
        return 0.5 * self.squared + penalties.total()

    def __add__(self, others: Extent) -> Extent:
        """Join with other rows."""
        return Extent(
            max(self.longest, others.longest),
            max(self.farthest, others.farthest),
            self.squared + others.squared,
        )


def extent_of(mixture: Mixture) -> Extent:
    """Measure the extent of all rows, in one pass."""
    dictionary = mixture.dictionary

    def of_rows(some: MixedRows) -> Extent:
        squared = some.squared_residuals()
        total = float(squared.sum())
        own = dictionary - some.first_row
        squared[own[(own >= 0) & (own < some.n_rows)]] = 0.0
        lengths = np.einsum("ij,ij->i", some.X, some.X, dtype=np.float64)
        return Extent(float(np.sqrt(lengths.max())), float(np.sqrt(squared.max())), total)

    found: Extent = mixture.map_reduce(of_rows)
    return found


def duality_gap(
    mixture: Mixture, penalties: Penalties, extent: Extent, *, quickly: bool = False
) -> tuple[float, bool]:
    """Return an upper bound of f(C) - min f, and whether all pairs of rows were searched for it.

    `extent` is that of all rows. `quickly` leaves the long searches out, for a user who has just
    interrupted.
    """
    n, dictionary = mixture.n_rows, mixture.dictionary
    outside = n - len(dictionary)
    whole = None if quickly else mixture.whole()
    searched = outside == 0 or whole is not None

    def of_rows(some: MixedRows) -> float:
        _, lowest, inner, squared = some.search(penalties)
        error = some.search_error(penalties, squared)
        lowest, inner = lowest - error, inner + error
        if outside:
            others = (
                lowest_products(some, dictionary)
                if searched
                else lowest_outside_bound(some, extent.farthest, squared)
            )
            # Rounding of <x_n, r_l> in single precision: at most (d + 4) eps ||x_n|| ||r_l||.
            others -= (some.X.shape[1] + 4) * SINGLE_EPS * extent.longest * np.sqrt(squared)
            lowest = np.minimum(lowest, np.minimum(others, own_products(some) + penalties.lam))
        return float((inner - lowest).sum())

    smoothing = penalties.lam * penalties.mu * outside * np.log(n)
    gap = float(mixture.map_reduce(of_rows)) + smoothing
    objective = extent.objective(penalties)
    if whole is not None and n <= settings.SETTINGS.ascent_rows:
        gap = min(gap, objective - ascent_bound(whole, penalties, whole.X))
    return max(min(gap, objective), 0.0), searched  # f is never negative


def dictionary_gap(mixture: Mixture, penalties: Penalties, objective: float) -> float:
    """Return an upper bound of f(C) - min f where only the dictionary has vertices."""
    bound = bound_of_one_vertex_each(mixture, penalties)
    whole = mixture.whole()
    if whole is not None and mixture.n_rows <= settings.SETTINGS.ascent_rows:
        bound = max(bound, ascent_bound(whole, penalties, whole.atoms))
    return max(min(objective - bound, objective), 0.0)


def own_products(some: MixedRows) -> Floats:
    """Return <x_l, r_l> of every row."""
    own = np.empty(some.n_rows)

    def multiply(rows: slice) -> None:
        own[rows] = np.einsum("ij,ij->i", some.X[rows], some.residual(rows))

    for_row_slices(multiply, len(own), slice_rows=some.slice_rows)
    return own


def lowest_products(some: MixedRows, dictionary: NDArray[np.intp]) -> Floats:
    """Return for every row l the smallest <x_n, r_l> over rows n != l outside the dictionary.

    In tiles and in single precision. The rows are all of them.
    """
    outside = np.ones(len(some.X), dtype=bool)
    outside[dictionary] = False
    place = np.cumsum(outside) - 1
    narrow = np.ascontiguousarray(some.X[outside].T, dtype=np.float32)
    lowest = np.empty(len(some.X))

    def search(rows: slice) -> None:
        residual = some.residual(rows).astype(np.float32)
        own = np.flatnonzero(outside[rows])
        columns = place[rows][own]
        best = np.full(len(residual), np.inf, dtype=np.float32)
        for start in range(0, narrow.shape[1], TILE[1]):
            products = residual @ narrow[:, start : start + TILE[1]]
            here = (columns >= start) & (columns < start + TILE[1])
            products[own[here], columns[here] - start] = np.inf
            np.minimum(best, products.min(axis=1), out=best)
        lowest[rows] = best

    for_row_slices(search, len(some.X), slice_rows=TILE[0])
    return lowest


def lowest_outside_bound(some: MixedRows, farthest: float, squared: Floats) -> Floats:
    """Bound for every row, from below, <x_j, r> over all rows j outside the dictionary.

    Row j is its own mixture of dictionary rows plus an error e_j = -r_j no longer than `farthest`,
    so <x_j, r> >= min over the dictionary of <x_s, r> - ||e_j|| ||r||.
    """
    bound = np.empty(some.n_rows)

    def search(rows: slice) -> None:
        bound[rows] = some.gradient(rows).min(axis=1) - farthest * np.sqrt(squared[rows])

    for_row_slices(search, len(bound), slice_rows=some.slice_rows)
    return bound


def bound_of_one_vertex_each(mixture: Mixture, penalties: Penalties) -> float:
    """Return a lower bound of min f over the dictionary, in one pass.

    A row whose level is between its lowest p and the second lowest charges one vertex only. Rows
    with the same lowest vertex go the same share of that way: as far as it can pay for all of them.
    """
    from provenmf.methods.merit.kernels import add_margins_in_place

    def of_rows(some: MixedRows) -> tuple[float, Floats]:
        levels, margins = 0.0, np.zeros(len(some.atoms))
        for rows, residual, products in product_slices(some, some.atoms):
            levels -= float(np.vdot(residual, some.X[rows] + 0.5 * residual))
            levels += add_margins_in_place(products, margins)
        return float(levels), margins

    levels, margins = mixture.map_reduce(of_rows)
    smoothing = penalties.lam * penalties.mu * len(margins) * float(np.log(mixture.n_rows))
    return float(levels + np.minimum(margins, penalties.lam).sum() - smoothing)


def ascent_bound(some: MixedRows, penalties: Penalties, vertices: NDArray[np.floating]) -> float:
    """Return a lower bound of min f over the given vertices by dual ascent (Erlenkotter 1978).

    Levels start on the line from min_n p_ln, where nothing is charged, towards <c_l, p_l>, as far
    as all columns can pay; then each row in turn is raised as far as its columns allow. The rows
    are all of them.
    """
    from provenmf.methods.merit.kernels import raise_levels_in_place

    lam = penalties.lam
    floor, target, fit = np.empty((3, some.n_rows))
    for rows, residual, products in product_slices(some, vertices):
        floor[rows] = products.min(axis=1)
        target[rows] = np.einsum("ij,ij->i", some.fitted(rows), residual)
        fit[rows] = np.einsum("ij,ij->i", some.X[rows] + 0.5 * residual, residual)
    low, high = 0.0, 1.0
    for _ in range(8):
        share = (low + high) / 2
        if charges_of(some, floor + share * (target - floor), vertices).max() <= lam:
            low = share
        else:
            high = share
    levels = floor + low * (target - floor)
    slack = lam - charges_of(some, levels, vertices)
    for fraction in RAISE:
        for rows, _, products in product_slices(some, vertices):
            raise_levels_in_place(products, levels[rows], slack, fraction)
    smoothing = lam * penalties.mu * len(vertices) * float(np.log(some.n_rows))
    return float((levels - fit).sum()) - smoothing


def charges_of(some: MixedRows, levels: Floats, vertices: NDArray[np.floating]) -> Floats:
    """Return what the rows charge each vertex at the given levels."""
    from provenmf.methods.merit.kernels import add_charges_in_place

    total = np.zeros(len(vertices))
    for rows, _, products in product_slices(some, vertices):
        add_charges_in_place(products, levels[rows], total)
    return total


def product_slices(
    some: MixedRows, vertices: NDArray[np.floating]
) -> Iterator[tuple[slice, Floats, NDArray[np.floating]]]:
    """Yield a slice of rows l at a time, their r_l, and <vertex, r_l> for all vertices."""
    for start in range(0, some.n_rows, TILE[0]):
        rows = slice(start, min(start + TILE[0], some.n_rows))
        residual = some.residual(rows)
        yield rows, residual, residual @ vertices.T
