"""Purification as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks
from provenmf.linalg.left_inverse import PseudoInverse, left_inverse
from provenmf.methods.alternating.starts import Init, start_components
from provenmf.methods.base import Factorizer
from provenmf.methods.purification import guarantee
from provenmf.methods.purification.kernels import relu_decode
from provenmf.methods.purification.solver import Rule, purification
from provenmf.methods.traits import Count, Interval, NotNegative, Positive, Seed, Traits
from provenmf.results import Certificate, Solution
from provenmf.results.states import PurificationState


@dataclass(eq=False, repr=False, kw_only=True)
class Purification(Factorizer):
    """Purification (Li, Liang & Risteski 2016): decode with a ReLU, update the features.

    Model: a row is a sum of independent features with independent, sparse, nonnegative weights,
    plus noise. Only the largest entry of the noise is bounded: an adversary may choose it, and it
    may be as large as the signal. Features and data may be negative. The start must resemble the
    features.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of features; None leaves it to a start that finds the number (or to its array).
    init : str or array (k, d), default="spa"
        Initialization: "spa", "cones", "random-rows", any other start of `HALS`, or given features
        of any sign.
    pseudo_inverse : {"min-inf", "moore-penrose"}, default="min-inf"
        The left inverse used for decoding: the one with the smallest maximum row sum, which lets
        the least entrywise noise through, or the one with the smallest Frobenius norm.
    alpha : float or "auto", default="auto"
        The threshold α of the ReLU, in the units of the weights; "auto": twice the level of the
        decoding noise, which shows in decoded values below zero.
    r : float or "auto", default="auto"
        The scaling r of the update, about 1/(2 Var(x)); "auto": the mean scale of the features is
        kept in the first iteration, and r from then on.
    step_size : float in (0, 1), default=0.5
        The step size η. The proof takes 1/60.
    balance : bool, default=False
        Rescale the features first so that decoded second moments are within a factor of two.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-06
        Stop when no feature moves by more than this share of its size.
    random_state, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    threshold_ : array (k,)
        The last α, for each component at its scale.
    scaling_ : float
        The last r.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    AND : for correlated weights and a start that need not be near.

    Notes
    -----
    `transform` (and so `fit_transform`) gives the nonnegative least-squares weights, as all
    methods do: they reconstruct best and average out unbiased noise. `decode` gives the paper's
    max(A†y − α, 0): no entry is off by more than ‖A†‖_∞ max|ν| + α, for any noise ν.

    References
    ----------
    Li, Y., Liang, Y. and Risteski, A., "Recovery guarantee of non-negative matrix factorization
    via alternating updates", NIPS 2016.

    Examples
    --------
    Six features that come and go independently, under adversarial noise.

    >>> from provenmf import Purification
    >>> from provenmf.datasets.purification import sample_purification
    >>> from provenmf.metrics.matching import match_components
    >>> sample = sample_purification(
    ...     3000, 60, 6, overlap=0.4, noise="decoding", noise_level=0.002, random_state=0
    ... )
    >>> model = Purification(n_components=6, random_state=0).fit(sample.data)
    >>> bool(match_components(model.components_, sample.components).cosines.min() > 0.99)
    True
    """

    _method = "purification"
    traits = Traits(negative_data=True)

    init: Init = "spa"
    pseudo_inverse: PseudoInverse = "min-inf"
    alpha: NotNegative | Literal["auto"] = "auto"
    r: Positive | Literal["auto"] = "auto"
    step_size: Annotated[float, Interval(Real, 0, 1, closed="neither")] = 0.5
    balance: bool = False
    max_iter: Count = 100
    tol: NotNegative = 1e-6
    random_state: Seed = None

    def _solve(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        start = start_components(blocks, self._number_wanted(blocks.n_rows), self.init, rng)
        rule = Rule(self.pseudo_inverse, self.alpha, self.r, self.step_size)
        return self._call(purification, blocks, start, rule=rule)

    def decode(self, X: object) -> NDArray[np.floating]:
        """Return the paper's weights max(A†y − α, 0) of rows y: robust, but biased by α."""
        check_is_fitted(self)
        blocks = self._blocks(X, reset=False)
        inverse = left_inverse(self.components_, self.pseudo_inverse).rows
        return blocks.map_rows(
            lambda block: relu_decode(block, inverse, self.threshold_).astype(blocks.dtype)
        )

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify(fit)

    def _remember(self, blocks: Blocks, solution: Solution) -> None:
        super()._remember(blocks, solution)
        state = solution.state
        assert isinstance(state, PurificationState)  # of this method's solver
        self.threshold_ = state.threshold
        self.scaling_ = state.scaling
