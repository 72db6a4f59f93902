"""Alternating nonnegative least squares: either factor is solved exactly in turn.

Kim & Park, "Fast nonnegative matrix factorization: an active-set-like method and comparisons",
SIAM J. Sci. Comput. 2011 (KP11): block principal pivoting for the subproblems, here row by row
from the previous support (see `linalg.nnls`). Without extrapolation every limit point is
stationary (Grippo & Sciandrone 2000); with it, that is not proved.

    KP11                here
    A, W, H             data, weights, components
    F, G                positive entries of a row, the others

Objective: 1/2 ||X - weights @ components||_F^2, all nonnegative, with the penalties of
`linalg.penalties` where there are any; missing entries are left out of the sum.

Differs: extrapolation between the exact solutions (`solvers.alternating`).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.linalg.nnls import nonnegative_least_squares
from provenmf.linalg.observed import best_observed_rows
from provenmf.linalg.penalties import Penalties, Penalty
from provenmf.methods.alternating.hals import NONE, solve_sample
from provenmf.methods.alternating.loop import alternate, start_for
from provenmf.methods.alternating.starts import Init
from provenmf.methods.alternating.steps import steps_for
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution


def anls(
    blocks: Blocks,
    n_components: int | None = None,
    *,
    init: Init = "cones",
    coarse: bool = True,
    penalties: Penalties = NONE,
    known: NDArray[np.floating] | None = None,
    max_iter: int = 500,
    tol: float = 1e-4,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Factorize by ANLS; parameters as in `hals`."""
    rng = rng if rng is not None else np.random.default_rng(0)
    run = Run(max_iter, callback=callback, verbose=verbose, name="ANLS")

    weights, components = start_for(
        blocks, n_components, init, rng, coarse=coarse, solve_sample=solve_sample, known=known
    )
    first_free = 0 if known is None else len(known)
    steps = steps_for(blocks, Exact(), Exact(), penalties=penalties, known=first_free)
    return alternate(steps, weights, components, tol=tol, run=run)


class Exact:
    """The best rows; the previous ones only tell which entries are probably positive."""

    def rows(
        self, gram: NDArray[np.floating], cross: NDArray[np.floating], start: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Rows that share a Gram matrix."""
        return nonnegative_least_squares(gram, cross, start=start if start.any() else None)

    def observed_rows(
        self,
        entries: sp.csr_array,
        features: NDArray[np.floating],
        start: NDArray[np.floating],
        known: int,
        penalty: Penalty,
    ) -> NDArray[np.floating]:
        """Rows with missing entries."""
        return best_observed_rows(entries, features, start, known, penalty)
