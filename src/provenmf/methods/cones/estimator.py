"""Cone NMF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks
from provenmf.methods.alternating.refine import Refine, refine
from provenmf.methods.base import Factorizer
from provenmf.methods.cones import guarantee
from provenmf.methods.cones.solver import First, cones, nearest_component_encoder
from provenmf.methods.interruption import Interruption, OnInterrupt
from provenmf.methods.parameters import AT_LEAST_ONE, NOT_NEGATIVE, Interval, StrOptions
from provenmf.methods.poisson import guarantee as poisson
from provenmf.methods.poisson.rows import weights_encoder
from provenmf.methods.run import Callback
from provenmf.methods.traits import Traits
from provenmf.results import Certificate, Solution
from provenmf.results.states import ConeState


class ConeNMF(Factorizer):
    """Cone NMF (Liu & Tan 2017): cluster the directions of the rows, one component per cluster.

    Model: rows lie in a few circular cones that are far apart compared with their size. Then the
    clusters are found exactly and the relative error is bounded. `certificate_` encloses the
    clusters in cones and says whether this is proved for the data.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of cones; None or "auto" takes the largest drop of the farthest-first angles.
    first : {"longest", "random"} or int, default="longest"
        The first centroid: the longest row, a random row, or the row with this number.
    max_components : int, default=100
        Largest number to consider if n_components is None.
    refine : {"hals", "anls", "mu", "kl"} or None, default=None
        Continue with an alternating solver, which lets rows mix components and lowers the error.
        The certificate is about the clusters either way; its bounds hold for the refined factors
        too. "mu" uses scikit-learn and needs the data in memory. "kl" lowers the Kullback-Leibler
        divergence instead, as `PoissonNMF` does, and the certificate is that of `PoissonNMF`.
    max_iter : int, default=500
        Maximum number of iterations of the refinement; no effect without one.
    tol : float, default=0.0001
        When the refinement ends; see `HALS`.
    random_state : int, RandomState instance or None, default=None
        For first="random".
    certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    labels_ : array (n,)
        Cluster of each row; -1 for rows of zeros, which have no direction.
    centroids_ : array (k, d)
        Unit vectors: the rows of the data around which the clusters were formed.
    anchors_ : array (k,)
        Row numbers of the centroids, in order of choice.
    components_ : array (k, d)
        Unit vectors. There are fewer than n_components if the rows have fewer directions.
    n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    HALS : rows that mix components, started from the cones.
    SPA : anchors instead of clusters.

    Notes
    -----
    A row has one nonzero weight, its projection on the nearest component, in `fit_transform` and
    `transform` alike. After a refinement the weights are nonnegative least squares.

    References
    ----------
    Liu, Z. and Tan, V. Y. F., "Rank-one NMF-based initialization for NMF and relative error bounds
    under a geometric assumption", IEEE Transactions on Signal Processing, 2017.

    Examples
    --------
    Two bundles of directions; the bound is proved for this very data.

    >>> import numpy as np
    >>> from provenmf import ConeNMF
    >>> model = ConeNMF().fit(np.array([[9.0, 1.0], [5.0, 0.5], [0.2, 3.0], [0.5, 8.0]]))
    >>> model.labels_.tolist()
    [0, 0, 1, 1]
    >>> bool(model.certificate_.bounds["relative_error"] < 0.05)
    True
    """

    _method = "cones"
    traits = Traits(finds_number=True, advised=0)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **Factorizer._parameter_constraints,
        "first": [StrOptions({"longest", "random"}), Interval(Integral, 0, None, closed="left")],
        "max_components": [Interval(Integral, 2, None, closed="left")],
        "refine": [StrOptions({"hals", "anls", "mu", "kl"}), None],
        "tol": [NOT_NEGATIVE],
        "max_iter": [AT_LEAST_ONE],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        first: First = "longest",
        max_components: int = 100,
        refine: Refine | None = None,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.first = first
        self.max_components = max_components
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    def _gathered_bytes(self, blocks: Blocks) -> float:
        return 16.0 * blocks.stored_entries if self.refine in ("mu", "kl") else 0.0

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        wanted = self._number_wanted(blocks.n_rows)
        report: dict[str, Any] = {"callback": self.callback, "verbose": self.verbose}
        solution = cones(
            blocks,
            wanted,
            first=self.first,
            max_components=self.max_components,
            rng=rng,
            **report,
        )
        if self.refine is None or not solution.components.any():
            return solution
        return refine(blocks, solution, self.refine, max_iter=self.max_iter, tol=self.tol, **report)

    @property
    def _weights_are_least_squares(self) -> bool:
        return self.refine not in (None, "kl")

    def _encoder(self, blocks: Blocks, components: NDArray[Any]) -> Callable[[Block], NDArray[Any]]:
        if self.refine is None:
            return nearest_component_encoder(components, blocks.dtype)
        if self.refine == "kl":
            return weights_encoder(components, blocks.dtype)
        return super()._encoder(blocks, components)

    def _certify(self, fit: Fit) -> Certificate:
        if self.refine == "kl":
            return poisson.certify(fit)
        return guarantee.certify(fit)

    def _remember(
        self, blocks: Blocks, solution: Solution, pressed: Interruption | None = None
    ) -> None:
        super()._remember(blocks, solution, pressed)
        self.centroids_ = ConeState.of(solution).centroids
