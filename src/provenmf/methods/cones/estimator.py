"""Cone NMF as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.data import Block, Blocks
from provenmf.methods.base import Factorizer
from provenmf.methods.cones import guarantee
from provenmf.methods.cones.solver import cones, nearest_component_encoder
from provenmf.methods.traits import Interval, Traits
from provenmf.results import Certificate, Solution
from provenmf.results.states import ConeState


@dataclass(eq=False, repr=False, kw_only=True)
class ConeNMF(Factorizer):
    """Cone NMF (Liu & Tan 2017): cluster the directions of the rows, one component per cluster.

    Model: rows lie in a few circular cones that are far apart compared with their size. Then the
    clusters are found exactly and the relative error is bounded. `certificate_` encloses the
    clusters in cones and says whether this is proved for the data.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of cones; None or "auto" takes the largest drop of the farthest-first angles.
    first : int or None, default=None
        Row number of the first centroid; None takes the longest row.
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
    `transform` alike. The paper's "Alg2+Als" continues with alternating least squares:
    ``HALS(k, init=(cones.transform(X), cones.components_))``.

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
    traits = Traits(finds_number=True, random="never", advised=0)

    first: Annotated[int, Interval(Integral, 0, None, closed="left")] | None = None

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return self._call(cones, blocks, self._number_wanted(blocks.n_rows))

    @property
    def _weights_are_least_squares(self) -> bool:
        return False

    def _encoder(self, blocks: Blocks, components: NDArray[Any]) -> Callable[[Block], NDArray[Any]]:
        return nearest_component_encoder(components, blocks.dtype)

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify(fit)

    def _remember(self, blocks: Blocks, solution: Solution) -> None:
        super()._remember(blocks, solution)
        assert isinstance(solution.state, ConeState)  # of this method's solver
        self.centroids_ = solution.state.centroids
