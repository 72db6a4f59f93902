"""Cone NMF as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks import Blocks
from provenmf.estimators.base import Factorizer, check_n_components
from provenmf.estimators.parameters import Interval, StrOptions
from provenmf.guarantees import cones as guarantee
from provenmf.records import Certificate, Factorization, Solution
from provenmf.solvers.cones import First, cones, nearest_component_weights
from provenmf.solvers.run import Callback


class ConeNMF(Factorizer):
    """Cone NMF (Liu & Tan 2017): cluster the rows' directions, one component for each cluster.

    Model: rows lie in a few circular cones, far apart compared with their size. Then the clusters
    are found exactly and the relative error is bounded; `certificate_` encloses the clusters in
    cones and says whether that is proved for this data.

    Parameters
    ----------
    n_components : int, None or "auto"
        How many cones; None or "auto" takes the largest drop of the farthest-first angles.
    first : {"longest", "random"} or int
        The first centroid: the longest row, a random row, or the row with this number.
    max_components : int
        How far to look if n_components is None.
    tol, max_iter
        Relative residual at which the leading singular vector of a cluster is accepted, and how
        many passes over the data may be made for all of them.
    random_state, certify, verbose, callback
        As in every estimator; `random_state` matters for first="random" only.

    Attributes
    ----------
    labels_ : cluster of each row; −1 for rows of zeros, which have no direction.
    centroids_ : (k, d) unit vectors, the data rows around which the clusters were gathered.
    anchors_ : row numbers of the centroids, in the order of their choice.
    components_ : (k, d) unit vectors. There are fewer than n_components if the rows have fewer
        directions.
    n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    Notes
    -----
    A row has one nonzero weight, its projection on the nearest component, in `fit_transform` and
    `transform` alike.
    """

    _method = "cones"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Factorizer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "first": [StrOptions({"longest", "random"}), Interval(Integral, 0, None, closed="left")],
        "max_components": [Interval(Integral, 2, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        first: First = "longest",
        max_components: int = 100,
        tol: float = 1e-9,
        max_iter: int = 200,
        random_state: Any = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.first = first
        self.max_components = max_components
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.certify = certify
        self.verbose = verbose
        self.callback = callback

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        wanted = self.n_components if isinstance(self.n_components, Integral) else None
        if wanted is not None:
            check_n_components(wanted, blocks.n_rows, "rows")
        return cones(
            blocks,
            wanted,
            first=self.first,
            max_components=self.max_components,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _encode(self, blocks: Blocks, components: NDArray[Any]) -> NDArray[Any]:
        return nearest_component_weights(blocks, components)

    def _certify(self, blocks: Blocks, factorization: Factorization) -> Certificate:
        return guarantee.certify(blocks, factorization)

    def _remember(self, blocks: Blocks, solution: Solution) -> None:
        super()._remember(blocks, solution)
        self.centroids_ = solution.extras["centroids"]
