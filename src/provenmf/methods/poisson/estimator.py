"""Poisson NMF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks
from provenmf.methods.alternating.starts import Init
from provenmf.methods.base import Factorizer
from provenmf.methods.poisson import guarantee
from provenmf.methods.poisson.counts import held, weights_encoder
from provenmf.methods.poisson.solver import poisson_nmf
from provenmf.methods.traits import Count, NotNegative, Seed, Traits
from provenmf.results import Certificate, Solution


@dataclass(eq=False, repr=False, kw_only=True)
class PoissonNMF(Factorizer):
    """Factorization of counts: nonnegative factors of maximum Poisson likelihood.

    Minimises the Kullback-Leibler divergence D(X || WC) = sum x log(x / wc) - x + wc, as
    scikit-learn's NMF does with beta_loss="kullback-leibler", by coordinate-wise Newton steps with
    extrapolation (Hsieh & Dhillon 2011; Hien & Gillis 2021) instead of multiplicative updates.
    For counts such as words, mutations or reads, whose variance grows with their mean.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of components; None takes what the start finds (init "cones" or "spa", or an array).
    init : str, array (k, d) or pair of arrays (n, k), (k, d), default="cones"
        Initialization: "cones", "spa", "merit", "random-rows", "random", "nndsvd",
        "nndsvda", given components, or given weights and components.
    n_init : int, default=1
        Number of starts. The divergence has local minima: `init` and random starts are tried for
        100 iterations each, and the one with the smallest divergence is continued. One start if
        `init` is an array, or if the data are neither in memory nor small.
    max_iter : int, default=2000
        Maximum number of iterations; one iteration updates weights and components.
    tol : float, default=1e-6
        Stop when five iterations lower the divergence by less than this fraction of it.
    random_state, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator. The divergences of `trace_` never increase.

    See Also
    --------
    HALS : least squares instead of likelihood.

    References
    ----------
    Hien & Gillis, "Algorithms for nonnegative matrix factorization with the Kullback-Leibler
    divergence", Journal of Scientific Computing, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import PoissonNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(0.5, 4, (60, 3)) @ rng.gamma(0.5, 4, (3, 20)))
    >>> model = PoissonNMF(n_components=3, random_state=0).fit(X)
    >>> bool(model.certificate_.measures["deviance_explained"] > 0.8)
    True
    """

    traits = Traits(random="always")
    _method = "poisson"

    init: Init = "cones"
    n_init: Count = 1
    max_iter: Count = 2000
    tol: NotNegative = 1e-6
    random_state: Seed = None

    def _gathered_bytes(self, blocks: Blocks) -> float:
        return 16.0 * blocks.stored_entries if held(blocks) else 0.0  # by rows and by columns

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return self._call(poisson_nmf, blocks, self._number_wanted(blocks.n_rows), rng=rng)

    @property
    def _weights_are_least_squares(self) -> bool:
        return False

    def _encoder(self, blocks: Blocks, components: NDArray[Any]) -> Callable[[Block], NDArray[Any]]:
        return weights_encoder(components, blocks.dtype)

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify(fit)
