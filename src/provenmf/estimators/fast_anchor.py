"""FastAnchorWords as a scikit-learn estimator."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from provenmf.blocks import Blocks
from provenmf.estimators.anchors import AnchorFactorizer
from provenmf.estimators.parameters import AT_LEAST_ONE, CONSTRAINT
from provenmf.estimators.traits import Traits
from provenmf.guarantees import separable
from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate, Solution
from provenmf.solvers.interruption import OnInterrupt
from provenmf.solvers.run import Callback
from provenmf.solvers.separable.fast_anchor import fast_anchor
from provenmf.solvers.weights import Constraint


class FastAnchor(AnchorFactorizer):
    """FastAnchor (Arora et al. 2013): take the row farthest from the affine span of those chosen.

    Model: every row is a convex combination of a few rows of the data. Apart from the choice of
    the first anchor, the result does not change when all rows are shifted by the same vector. Data
    may be negative.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the distance.
    refine : bool, default=True
        Do a second round that searches for each anchor again, given the others.
    scale_rows : bool, default=False
        Look for anchors among the rows scaled to a sum of one (for counts, such as co-occurrences).
    n_projections : int or None, default=None
        Look for anchors after projection onto this many random directions.
    constraint : {"simplex", "nonnegative"}, default="simplex"
        Constraint on the weights.
    random_state : int, RandomState instance or None, default=None
        For the random directions.
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
    SPA : the same with the linear span.
    MERIT : all anchors at once.

    References
    ----------
    Arora, S. et al., "A practical algorithm for topic modeling with provable guarantees", ICML
    2013.

    Examples
    --------
    Corners of a triangle and its middle; where the origin lies does not matter.

    >>> import numpy as np
    >>> from provenmf import FastAnchor
    >>> X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4 / 3, 1.0]])
    >>> sorted(FastAnchor(n_components=3).fit(X - 1.0).anchors_.tolist())
    [0, 1, 2]
    """

    _method = "fast_anchor"
    traits = Traits(negative_data=True, finds_number=True, anchors=True)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "refine": ["boolean"],
        "scale_rows": ["boolean"],
        "n_projections": [AT_LEAST_ONE, None],
        "constraint": [CONSTRAINT],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        refine: bool = True,
        scale_rows: bool = False,
        n_projections: int | None = None,
        constraint: Constraint = "simplex",
        random_state: int | np.random.RandomState | None = None,
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.refine = refine
        self.scale_rows = scale_rows
        self.n_projections = n_projections
        self.constraint = constraint
        self.random_state = random_state
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return fast_anchor(
            blocks,
            self._number_wanted(blocks.n_rows),
            refine=self.refine,
            scale_rows=self.scale_rows,
            n_projections=self.n_projections,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_fast_anchor(fit, scale_rows=self.scale_rows)
