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

Objective: 1/2 ||X - weights @ components||_F^2, all nonnegative, with the penalties of
`linalg.penalties` where there are any; missing entries are left out of the sum. One sweep minimises
it exactly over each column of a factor in turn. The columns' updates do not mix rows of the factor,
so we sweep a few rows at a time, which stay in the processor's cache.

Differs: GG12 also stop the inner sweeps of a factor when they gain little; here their number is
fixed, so that a row's answer does not depend on the rows beside it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.budget import for_row_slices
from provenmf.data import Blocks
from provenmf.linalg.observed import better_observed_rows
from provenmf.linalg.penalties import Penalties, Penalty
from provenmf.linalg.storage import stored_values
from provenmf.methods.alternating.loop import (
    COARSE_TOL,
    COARSE_WINDOW,
    WINDOW,
    alternate,
    start_for,
)
from provenmf.methods.alternating.starts import Init
from provenmf.methods.alternating.steps import rows_per_thread, steps_for
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution

EFFORT = 0.5
MOST_SWEEPS = 20
NONE = Penalties()


def hals(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    init: Init = "cones",
    coarse: bool = True,
    penalties: Penalties = NONE,
    known: NDArray[np.floating] | None = None,
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
    penalties : on weights and components.
    known : components (m, d) that come first and are not changed.
    tol, window : stop when `window` iterations lower the relative error by less than `tol` of it.
    """
    rng = rng if rng is not None else np.random.default_rng(0)
    run = Run(max_iter, callback=callback, verbose=verbose, name="HALS")

    weights, components = start_for(
        blocks, n_components, init, rng, coarse=coarse, solve_sample=solve_sample, known=known
    )
    k, entries = len(components), nonzeros(blocks)
    steps = steps_for(
        blocks,
        Sweeps(sweeps_for(entries, blocks.n_rows, k)),
        Sweeps(sweeps_for(entries, blocks.n_columns, k)),
        penalties=penalties,
        known=0 if known is None else len(known),
    )
    return alternate(steps, weights, components, tol=tol, window=window, run=run)


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


class Sweeps:
    """Improve rows by so many sweeps over their coordinates."""

    def __init__(self, sweeps: int) -> None:
        self.sweeps = sweeps

    def rows(
        self, gram: NDArray[np.floating], cross: NDArray[np.floating], start: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Rows that share a Gram matrix."""
        from provenmf.methods.alternating.kernels import descend_coordinates_in_place

        rows_gram = gram.astype(cross.dtype)
        new = start.copy()
        for_row_slices(
            lambda rows: descend_coordinates_in_place(
                rows_gram, cross[rows], new[rows], self.sweeps
            ),
            len(new),
            slice_rows=rows_per_thread(len(new)),
        )
        return new

    def observed_rows(
        self,
        entries: sp.csr_array,
        features: NDArray[np.floating],
        start: NDArray[np.floating],
        known: int,
        penalty: Penalty,
    ) -> NDArray[np.floating]:
        """Rows with missing entries."""
        return better_observed_rows(entries, features, start, known, penalty, self.sweeps)
