"""What HALS and ANLS share as scikit-learn estimators: parameters, start, certificate."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from provenmf.blocks import Blocks
from provenmf.estimators.base import Factorizer
from provenmf.estimators.parameters import AT_LEAST_ONE, NOT_NEGATIVE
from provenmf.estimators.traits import Traits
from provenmf.guarantees import stationarity
from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate, Solution
from provenmf.solvers.alternating.starts import Init
from provenmf.solvers.interruption import OnInterrupt
from provenmf.solvers.run import Callback


class AlternatingFactorizer(Factorizer):
    """Improves weights and components in turn, minimising 1/2 ||X - weights @ components||_F^2.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        How many components; None takes what the start finds (init "cones" or "spa", or an array).
    init : str, array (k, d) or pair of arrays (n, k), (k, d), default="cones"
        Where to start: "cones", "spa" (or "anchors"), "merit", "random-rows", "random", "nndsvd",
        "nndsvda", "nndsvdar", given components, or given weights and components.
    coarse : bool, default=True
        With a named start and large data, start on a sample of rows and columns, solve that
        first and extend its answer.
    max_iter : int, default=500
        Iterations on the whole data at the most; one improves weights and components.
    tol : float, default=0.0001
        Stop when ten iterations lower the relative error by less than this fraction of it.
    random_state, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. The relative errors of `trace_` never increase.
    """

    def __init_subclass__(cls) -> None:
        """Let the help of HALS and ANLS list the parameters that they share."""
        super().__init_subclass__()
        shared = inspect.cleandoc(AlternatingFactorizer.__doc__ or "")
        own, _, more = inspect.cleandoc(cls.__doc__ or "").partition("See Also\n")
        parameters = shared[shared.index("Parameters\n") :]
        cls.__doc__ = f"{own}{parameters}\n\nSee Also\n{more}"

    traits = Traits(random="always")
    _solver: ClassVar[Callable[..., Solution]]
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **Factorizer._parameter_constraints,
        "init": [str, "array-like"],
        "coarse": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        init: Init = "cones",
        coarse: bool = True,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
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
        self.on_interrupt = on_interrupt

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return type(self)._solver(
            blocks,
            self._number_wanted(blocks.n_rows),
            init=self.init,
            coarse=self.coarse,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return stationarity.certify(fit)
