"""XRAY as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from provenmf.blocks import Blocks, RowArray
from provenmf.blocks.parts import Parts
from provenmf.estimators.anchors import AnchorFactorizer
from provenmf.estimators.parameters import StrOptions
from provenmf.estimators.traits import Traits
from provenmf.guarantees import separable
from provenmf.guarantees.fit import Fit
from provenmf.records import Certificate, Solution
from provenmf.solvers.interruption import OnInterrupt
from provenmf.solvers.run import Callback
from provenmf.solvers.separable.xray import Variant, xray


class XRAY(AnchorFactorizer):
    """Extreme rays of the cone of the data (Kumar, Sindhwani & Kambadur 2013).

    Model: every row is a nonnegative combination, of any size, of a few rows of the data.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors; None stops at the largest drop of the residual.
    variant : {"max", "rand", "dist", "greedy"}, default="max"
        How the row that is explained next is chosen. "max" and "rand" are linear in the rows;
        "dist" and "greedy" compare all pairs of rows.
    random_state : int, RandomState instance or None, default=None
        For "rand".
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
    SPA : faster, for weights that sum to at most one.

    References
    ----------
    Kumar, A., Sindhwani, V. and Kambadur, P., "Fast conical hull algorithms for near-separable
    non-negative matrix factorization", ICML 2013.

    Examples
    --------
    Rows of any length that combine the first two.

    >>> import numpy as np
    >>> from provenmf import XRAY
    >>> X = np.array([[4.0, 0.0], [0.0, 3.0], [20.0, 15.0], [0.2, 0.1]])
    >>> sorted(XRAY(n_components=2).fit(X).anchors_.tolist())
    [0, 1]
    """

    _method = "xray"
    traits = Traits(finds_number=True, anchors=True)
    _parameter_constraints: ClassVar[dict[str, object]] = {
        **AnchorFactorizer._parameter_constraints,
        "variant": [StrOptions({"rand", "max", "dist", "greedy"})],
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        variant: Variant = "max",
        random_state: int | np.random.RandomState | None = None,
        vertices: bool = False,
        row_errors: ArrayLike | None = None,
        certify: bool = True,
        verbose: int = 0,
        callback: Callback | None = None,
        on_interrupt: OnInterrupt = "raise",
    ) -> None:
        self.n_components = n_components
        self.variant = variant
        self.random_state = random_state
        self.vertices = vertices
        self.row_errors = row_errors
        self.certify = certify
        self.verbose = verbose
        self.callback = callback
        self.on_interrupt = on_interrupt

    @property
    def _looks_at_scaled_rows(self) -> bool:
        return True

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        return xray(
            blocks,
            self._number_wanted(blocks.n_rows),
            variant=self.variant,
            rng=rng,
            callback=self.callback,
            verbose=self.verbose,
        )

    def _final_weights(self, blocks: Blocks, solution: Solution) -> RowArray:
        known: RowArray | None = solution.weights
        if known is None:
            return super()._final_weights(blocks, solution)
        # The last projection solved the same problem.
        dtype = blocks.dtype
        if isinstance(known, Parts):
            return known.mapped(lambda weights: weights.astype(dtype, copy=False))
        return known.astype(dtype, copy=False)

    def _certify(self, fit: Fit) -> Certificate:
        return separable.certify_cone(fit)


class SignedXRAY(XRAY):
    """XRAY for rows whose entries may be negative but not their sums, by which it divides.

    Words after a projection and a turn of the axes are like that (`applications.topics`).
    """

    traits = replace(XRAY.traits, negative_data=True)
