"""FastGradient as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar, Literal

import numpy as np

from provenmf.blocks import Blocks
from provenmf.estimators.base import Factorizer
from provenmf.estimators.parameters import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
)
from provenmf.estimators.traits import Traits
from provenmf.guarantees import separable
from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate, Solution
from provenmf.solvers.interruption import OnInterrupt
from provenmf.solvers.run import Callback
from provenmf.solvers.separable.fast_gradient import fast_gradient


class FastGradient(Factorizer):
    """Fast gradient method (Gillis & Luce 2018): one convex problem over n × n weights.

    Model: every row is a nonnegative combination of a few rows of the data; the problem selects
    these rows. Memory is quadratic in the number of rows: 32 n² bytes.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None takes the largest gap in the sorted diagonal.
    mu : float or "auto", default="auto"
        Penalty for using a row at all; "auto" balances it with the error and then adapts it.
    price_spread : float, default=0.01
        The penalties of the rows are random between 1 ± price_spread / 2, which separates
        duplicates.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-06
        Stop when the diagonal changes by less than this share of its sum.
    memory_limit : float, default=8000000000.0
        Bytes that the n × n matrices may take; larger problems are refused.
    random_state : int, RandomState instance or None, default=None
        For the prices.
    certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components, by decreasing diagonal entry.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. The record's state holds the `diagonal` and the `gap`.

    See Also
    --------
    MERIT : the same idea in linear memory.

    References
    ----------
    Gillis, N. and Luce, R., "A fast gradient method for nonnegative sparse regression with
    self-dictionary", IEEE Transactions on Image Processing, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import FastGradient
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> sorted(FastGradient(n_components=2, random_state=0).fit(X).anchors_.tolist())
    [0, 1]
    """

    _method = "fast_gradient"
    traits = Traits(
        negative_data=True,
        finds_number=True,
        anchors=True,
        random="always",
        block_by_block=False,
        compares_rows=True,
    )
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **Factorizer._parameter_constraints,
        "mu": [NOT_NEGATIVE, StrOptions({"auto"})],
        "price_spread": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NOT_NEGATIVE],
        "memory_limit": [POSITIVE],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        mu: float | Literal["auto"] = "auto",
        price_spread: float = 0.01,
        max_iter: int = 500,
        tol: float = 1e-6,
        memory_limit: float = 8e9,
        random_state: int | np.random.RandomState | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.price_spread = price_spread
        self.max_iter = max_iter
        self.tol = tol
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    def _gathered_bytes(self, blocks: Blocks) -> float:
        return 32.0 * blocks.n_rows**2  # four matrices of rows by rows; the data are no more

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return fast_gradient(
            blocks,
            self._number_wanted(blocks.n_rows),
            mu=self.mu,
            price_spread=self.price_spread,
            max_iter=self.max_iter,
            tol=self.tol,
            memory_limit=self.memory_limit,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_cone(fit)
