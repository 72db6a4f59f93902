"""Minimum-volume NMF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.nnls import Constraint
from provenmf.methods.alternating.starts import Init
from provenmf.methods.base import Factorizer
from provenmf.methods.min_vol import guarantee
from provenmf.methods.min_vol.solver import Loss, min_vol
from provenmf.methods.poisson.counts import weights_encoder
from provenmf.methods.traits import Count, NotNegative, Positive, Seed, Traits
from provenmf.results import Certificate, Solution


@dataclass(eq=False, repr=False, kw_only=True)
class MinVol(Factorizer):
    """Minimum-volume NMF: the factorization whose components span the smallest volume.

    For data without pure rows, where separable methods cannot find the components and plain NMF has
    many answers. Minimizes

        misfit(X, WC) + penalty log det(CC' + delta I)   over W, C >= 0

    with components that sum to one. If the weights are sufficiently scattered, the components of
    least volume are unique (Fu et al. 2015; Leplat, Ang & Gillis 2019).

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of components; None takes what the start finds (init "cones" or "spa", or an array).
    loss : {"least-squares", "poisson"}, default="least-squares"
        The misfit: ||X - WC||_F^2 / ||X||_F^2, or for counts the Kullback-Leibler divergence over
        the sum of X.
    constraint : {"nonnegative", "simplex"}, default="nonnegative"
        "nonnegative": each component sums to one. "simplex" (least squares only): the weights of
        each row sum to one, as shares of materials do, and components may be of any size.
    penalty : float or None, default=None
        Weight of the volume. None follows a falling path of penalties and takes the largest one
        with which the misfit exceeds the least by no more than true components would.
    init : str or array (k, d), default="spa"
        Initialization: "spa", "cones", "merit", "random-rows", or components.
    max_iter : int, default=3000
        Maximum number of iterations in all; each is one pass over the rows.
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this fraction of the misfit.
    random_state, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. `trace_` has the misfit, the volume (log det) and the penalty.

    See Also
    --------
    MERIT, SPA : components that are rows of the data.
    HALS : no preference among factorizations that fit.

    References
    ----------
    Fu, X., Ma, W.-K., Huang, K. and Sidiropoulos, N. D., "Blind separation of quasi-stationary
    sources: exploiting convex geometry in covariance domain", IEEE Transactions on Signal
    Processing, 2015.

    Leplat, V., Ang, A. M. S. and Gillis, N., "Minimum-volume rank-deficient nonnegative matrix
    factorizations", ICASSP, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import MinVol
    >>> rng = np.random.default_rng(0)
    >>> weights = rng.dirichlet([0.5] * 3, 300)
    >>> components = rng.dirichlet([0.5] * 20, 3)
    >>> model = MinVol(3).fit(weights[weights.max(axis=1) < 0.8] @ components)
    >>> cosines = model.components_ @ components.T
    >>> cosines /= np.linalg.norm(model.components_, axis=1)[:, None]
    >>> bool((cosines / np.linalg.norm(components, axis=1)).max(axis=0).min() > 0.999)
    True
    """

    traits = Traits(random="with options")
    _method = "min_vol"

    loss: Loss = "least-squares"
    constraint: Constraint = "nonnegative"
    penalty: Positive | None = None
    init: Init = "spa"
    max_iter: Count = 3000
    tol: NotNegative = 1e-6
    random_state: Seed = None

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        if self.loss == "poisson" and self.constraint == "simplex":
            raise InvalidInput(
                "needs the least-squares loss",
                argument="constraint",
                value="simplex",
                remedy="use loss='least-squares' or {argument}='nonnegative'",
            )
        return self._call(min_vol, blocks, self._number_wanted(blocks.n_rows), rng=rng)

    @property
    def _weights_are_least_squares(self) -> bool:
        return self.loss == "least-squares"

    def _encoder(self, blocks: Blocks, components: NDArray[Any]) -> Callable[[Block], NDArray[Any]]:
        if self.loss == "poisson":
            return weights_encoder(components, blocks.dtype)
        return super()._encoder(blocks, components)

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify(fit)
