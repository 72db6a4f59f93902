"""Successive projection as a scikit-learn estimator."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from provenmf.blocks import Blocks
from provenmf.estimators.anchors import AnchorFactorizer
from provenmf.estimators.parameters import CONSTRAINT
from provenmf.estimators.traits import Traits
from provenmf.guarantees import separable
from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate, Solution
from provenmf.solvers.interruption import OnInterrupt
from provenmf.solvers.run import Callback
from provenmf.solvers.separable.spa import spa
from provenmf.solvers.weights import Constraint


class SPA(AnchorFactorizer):
    """Successive projection (Gillis & Vavasis 2014): take the longest row, project it out, repeat.

    Model: a few rows of the data are anchors, and every row is a mixture of them, with nonnegative
    weights that sum to at most one. Data may be negative; the anchors are then still found, and the
    factors are those of a simplex-structured factorization rather than of NMF.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual (see the state's `drop`).
    scale_rows : bool, default=False
        Look for anchors among the rows scaled to a sum of one. For nonnegative data whose weights
        can be of any size, such as counts.
    constraint : {"nonnegative", "simplex"}, default="nonnegative"
        Constraint on the weights.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components or lie at them, in order of choice.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    XRAY : for weights of any size.
    FastAnchor : farthest from the affine span instead of the linear one.
    MERIT : all anchors at once, more robust against noise.

    References
    ----------
    Gillis, N. and Vavasis, S. A., "Fast and robust recursive algorithms for separable nonnegative
    matrix factorization", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2014.

    Examples
    --------
    The last two rows mix the first two.

    >>> import numpy as np
    >>> from provenmf import SPA
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 1.5], [1.0, 2.25]])
    >>> SPA(n_components=2).fit(X).anchors_.tolist()
    [0, 1]
    """

    _method = "spa"
    traits = Traits(negative_data=True, finds_number=True, anchors=True, random="never", advised=1)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "scale_rows": ["boolean"],
        "constraint": [CONSTRAINT],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        scale_rows: bool = False,
        constraint: Constraint = "nonnegative",
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.scale_rows = scale_rows
        self.constraint = constraint
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    @property
    def _sums_below_one(self) -> bool:
        return self.constraint == "nonnegative" and not self.scale_rows

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return spa(
            blocks,
            self._number_wanted(blocks.n_rows),
            scale_rows=self.scale_rows,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_spa(fit, scale_rows=self.scale_rows)
