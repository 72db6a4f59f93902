"""Hierarchical alternating least squares as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from provenmf.blocks import Blocks
from provenmf.estimators.base import Factorizer, check_n_components
from provenmf.estimators.parameters import Interval, StrOptions
from provenmf.guarantees import stationarity
from provenmf.records import Certificate, Factorization, Solution
from provenmf.solvers.hals import hals
from provenmf.solvers.run import Callback
from provenmf.solvers.starts import NAMES, Init


class HALS(Factorizer):
    """Accelerated hierarchical alternating least squares (Gillis & Glineur 2012).

    Minimises 1/2 ||X - weights @ components||_F^2 over nonnegative factors, by sweeps over the
    columns of either factor, with extrapolation (Ang & Gillis 2019). There is no bound on the
    error; `certificate_` says how nearly the result is stationary.

    Parameters
    ----------
    n_components : int or None
        How many components; None takes what the start finds (init "cones" or "spa", or an array).
    init : str, array (k, d) or pair of arrays (n, k), (k, d)
        Where to start: "cones", "spa" (or "anchors"), "merit", "random-rows", "random", "nndsvd",
        "nndsvda", "nndsvdar", given components, or given weights and components.
    coarse : bool
        With a named start and large data, start on a sample of rows and columns, solve that
        first and extend its answer.
    max_iter : int
        Iterations on the whole data at the most; one improves weights and components.
    tol : float
        Stop when ten iterations lower the relative error by less than this fraction of it.
    random_state, certify, verbose, callback
        As in every estimator.

    Attributes
    ----------
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. The relative errors of `trace_` never increase.
    """

    _method = "hals"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Factorizer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions(set(NAMES)), np.ndarray, tuple],
        "coarse": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Init = "cones",
        coarse: bool = True,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.coarse = coarse
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.certify = certify
        self.verbose = verbose
        self.callback = callback

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        if self.n_components is not None:
            check_n_components(self.n_components, blocks.n_rows, "rows")
        return hals(
            blocks,
            self.n_components,
            init=self.init,
            coarse=self.coarse,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, blocks: Blocks, factorization: Factorization) -> Certificate:
        return stationarity.certify(blocks, factorization)
