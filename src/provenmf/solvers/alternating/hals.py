"""Hierarchical alternating least squares, accelerated twice.

Cichocki, Zdunek & Amari 2007 (the method); Gillis & Glineur, "Accelerated multiplicative updates
and hierarchical ALS algorithms for nonnegative matrix factorization", Neural Computation 2012
(GG12: several sweeps for one product with the data); Ang & Gillis 2019 (extrapolation, see
`solvers.alternating`).

    GG12                  here
    M, U, V               data, weights, components
    A = M V', B = V V'    cross, gram
    rho_U, rho_V          cost of products with the data over cost of one sweep, per factor
    alpha                 EFFORT

Objective: 1/2 ||X - weights @ components||_F^2, all nonnegative. One sweep minimises it exactly
over each column of a factor in turn. The columns' updates do not mix rows of the factor, so we
sweep a few rows at a time, which stay in the processor's cache.

Differs: GG12 also stop the inner sweeps of a factor when they gain little; here their number is
fixed, so that a row's answer does not depend on the rows beside it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Blocks
from provenmf.parallel import for_row_slices
from provenmf.records import Solution
from provenmf.solvers.alternating.loop import (
    COARSE_TOL,
    COARSE_WINDOW,
    WINDOW,
    ImproveRows,
    alternate,
    rows_per_thread,
    start_for,
)
from provenmf.solvers.alternating.starts import Init
from provenmf.solvers.run import Callback, Run
from provenmf.storage import stored_values

EFFORT = 0.5
MOST_SWEEPS = 20


def hals(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    init: Init = "cones",
    coarse: bool = True,
    max_iter: int = 500,
    tol: float = 1e-4,
    window: int = WINDOW,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Factorize by accelerated HALS.

    Parameters
    ----------
    n_components : k; None takes what the start finds ("cones" and "spa" only, or an array's k).
    init : a name of `solvers.starts`, components (k, d), or a pair (weights, components).
    coarse : with a named start and large data, start on a sample and solve that first
        (`solvers.coarse`).
    tol, window : stop when `window` iterations lower the relative error by less than `tol` of it.
    """
    rng = rng if rng is not None else np.random.default_rng(0)
    run = Run(max_iter, callback=callback, verbose=verbose, name="HALS")

    weights, components = start_for(
        blocks, n_components, init, rng, coarse=coarse, solve_sample=solve_sample
    )
    k, entries = len(components), nonzeros(blocks)
    return alternate(
        blocks,
        weights,
        components,
        improve_weights=coordinate_descent(sweeps_for(entries, blocks.n_rows, k)),
        improve_components=coordinate_descent(sweeps_for(entries, blocks.n_columns, k)),
        tol=tol,
        window=window,
        run=run,
    )


def solve_sample(
    sample: Blocks, n_components: int, init: Init, rng: np.random.Generator
) -> Solution:
    """Factorize a sample as well as it deserves: its optimum is not that of all the data."""
    return hals(
        sample,
        n_components,
        init=init,
        coarse=False,
        tol=COARSE_TOL,
        window=COARSE_WINDOW,
        rng=rng,
    )


def sweeps_for(entries: int, rows: int, k: int) -> int:
    """GG12, Section 3.1: sweeps that cost about EFFORT times the product with the data."""
    return int(min(MOST_SWEEPS, 1 + EFFORT * entries / (rows * k) + 1))


def nonzeros(blocks: Blocks) -> int:
    """Entries that are not zero, stored or not: sparse and dense data get the same sweeps."""
    return int(blocks.map_reduce(lambda block: np.count_nonzero(stored_values(block))))


def coordinate_descent(sweeps: int) -> ImproveRows:
    """Improve rows by that many sweeps over their coordinates."""

    def improve(
        gram: NDArray[np.floating], cross: NDArray[np.floating], start: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        from provenmf.kernels.alternating.coordinate_descent import descend_coordinates_in_place

        rows_gram = gram.astype(cross.dtype)
        new = start.copy()
        for_row_slices(
            lambda rows: descend_coordinates_in_place(rows_gram, cross[rows], new[rows], sweeps),
            len(new),
            slice_rows=rows_per_thread(len(new)),
        )
        return new

    return improve
