"""MERIT as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from provenmf.budget import blas_limited_to
from provenmf.certificate.measurement import Fit
from provenmf.data import Blocks
from provenmf.linalg.nnls import Constraint
from provenmf.methods.merit import guarantee
from provenmf.methods.merit.solver import Step, merit
from provenmf.methods.separable.anchors import AnchorFactorizer
from provenmf.methods.traits import Count, NotNegative, Positive, Seed, Traits
from provenmf.results import Certificate, Solution


@dataclass(eq=False, repr=False, kw_only=True)
class MERIT(AnchorFactorizer):
    """Separable factorization by convex optimization in linear memory (Nguyen, Fu & Wu 2021).

    Model: a few rows of the data are anchors, and every row is a mixture of them, with nonnegative
    weights that sum to one, plus noise. All anchors are found at once, by writing every row as a
    mixture of all rows. Data may be negative, for example after a projection. The anchors are still
    found; the factors are then those of a simplex-structured factorization rather than of NMF.

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Number of anchors. None finds it together with the penalty, by a path of penalties: the
        anchors must stand out at the penalty that follows from the noise which they leave. Where
        no number fits, the fit is refused with the evidence.
    step : {"pairwise", "open-loop"}, default="pairwise"
        "open-loop" is the paper's Algorithm 1 over all rows. "pairwise" moves single rows with an
        exact line search: after open-loop steps up to 1000 rows; beyond, from anchors found
        greedily and over some 400 extreme rows, which is faster and right where the paper's is not.
    lam : float, "auto", "paper" or "authors", default="auto"
        Weight of the penalty beside half the squared error. "auto" is 1.35 times the mean squared
        distance of a row to the hull of greedily found anchors; "paper" is
        ||X - C0 X||_F / n_components; "authors" half of that, as the authors' program acts. 0 is
        MERIT(0), which always takes open-loop steps.
    mu : float, default=1e-05
        Smoothing of the penalty's maximum.
    init : {"spa"} or None, default=None
        Start from SPA's mixtures instead of from zero, as the paper does on real data, with step
        number round(1 / RMSE).
    max_iter : int or None, default=None
        Steps and sweeps; None is 100 for open-loop, 1000 for pairwise, which seldom needs 400.
    tol : float, default=0.001
        Stop at a duality gap below this fraction of the objective, and end pairwise sweeps once
        one lowers the objective by less.
    constraint : {"simplex", "nonnegative"}, default="simplex"
        Constraint on the weights.
    random_state : int, RandomState instance or None, default=None
        Of the random directions that choose the extreme rows beyond 1000 rows.
    vertices, row_errors, certify, verbose, callback, on_interrupt
        As in every estimator.

    Attributes
    ----------
    anchors_ : array (k,)
        Rows of the data that became the components or lie at them, the clearest first.
    components_, n_components_, n_iter_, reconstruction_err_, trace_, certificate_, factorization_
        As in every estimator.

    See Also
    --------
    SPA : finds anchors one at a time, much faster.
    FastGradient : also solves a convex problem, with n x n memory.

    References
    ----------
    Nguyen, T., Fu, X. and Wu, R., "Memory-efficient convex optimization for self-dictionary
    separable nonnegative matrix factorization: a Frank-Wolfe approach", IEEE Transactions on
    Signal Processing, 2022.

    Examples
    --------
    Noise that hides the anchors from successive projection.

    >>> from provenmf import MERIT
    >>> from provenmf.datasets.separable import middle_points
    >>> sample = middle_points(n_components=10, n_columns=50, snr=15, random_state=0)
    >>> model = MERIT(n_components=10, random_state=0).fit(sample.data)
    >>> sorted(model.anchors_.tolist()) == sorted(sample.anchors.tolist())
    True
    """

    _method = "merit"
    traits = Traits(
        negative_data=True,
        finds_number=True,
        anchors=True,
        random="always",
        compares_rows=True,
        advised=2,
    )

    step: Step = "pairwise"
    lam: NotNegative | Literal["auto", "paper", "authors"] = "auto"
    mu: Positive = 1e-5
    init: Literal["spa"] | None = None
    max_iter: Count | None = None
    tol: NotNegative = 1e-3
    constraint: Constraint = "simplex"
    random_state: Seed = None

    def _gathered_bytes(self, blocks: Blocks) -> float:
        return 16.0 * blocks.stored_entries if self.step == "open-loop" else 0.0  # all are vertices

    def _anchors_of(self, blocks: Blocks, rng: np.random.Generator) -> Solution:
        with blas_limited_to(1):  # its own threads share the rows
            return self._call(merit, blocks, self._number_wanted(blocks.n_rows), rng=rng)

    def _certify(self, fit: Fit) -> Certificate:
        return guarantee.certify(fit)
