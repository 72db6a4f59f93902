"""Purification (Li, Liang & Risteski 2016), Algorithm 1: decode with a ReLU, update the features.

| paper | here |
|---|---|
| Y (m × N), data in columns | data (n, d), rows |
| A (m × n), features in columns | components (k, d) = Aᵀ |
| A† (n × m), A†A = I, least ‖A†‖_∞ | inverse (k, d), inverse @ components.T = I |
| x = φ_α(A†y) = max(A†y − α, 0), Eq. (2) | weights = max(data @ inverse.T − threshold, 0) |
| Ê[(y − y′)(x − x′)ᵀ] over pairs | 2 Cov(y, x), divided by n |
| α, r, η | threshold, scaling, step_size |

One iteration makes one pass: two means and one product, summed over blocks of rows.

The paper only says that good r and α exist. Our choices, without the truth:

* r undoes the variance of the weights: with perfect decoding 2 Cov(y, x) = 2 Var(x) A*. We match
  the mean of the diagonal of A†·(r 2 Cov(y, x)) to one in the first iteration and keep r. With r
  fixed, a feature's scale has a stable fixed point σ² = r 2Var(x) (for α = 0): rare features end
  up short, and so decode at the same second moment as the others.
* α is twice the level of the decoding noise (see `kernels.py`), but at most half of a typical
  weight, so that something is left. Both are taken from the pass before.
* η = 1/2. The proof takes η = 1/60 (ℓ/6, ℓ = 1/10). Without ReLU, E moves to (1 − η)E − ηEᵀ:
  at one half its symmetric part vanishes in one step; much beyond, the scales σ oscillate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.errors import DegenerateData, InvalidInput, warn_user
from provenmf.linalg.left_inverse import (
    LeftInverse,
    PseudoInverse,
    dependent_features,
    left_inverse,
    mixing_of,
    symmetric_norm,
)
from provenmf.linalg.norms import largest_row_sum
from provenmf.methods.purification.kernels import (
    ROUNDING,
    Moments,
    balancing_scales,
    pair_moments,
)
from provenmf.methods.run import Callback, Run
from provenmf.results import Solution, StopReason
from provenmf.results.states import PurificationState

Automatic = Literal["auto"]
# Features of unit length whose smallest singular value falls below this end the iteration.
NEARLY_DEPENDENT = 1e-6


@dataclass(frozen=True, eq=False)
class State:
    """Features between two iterations, with what their decoding needs."""

    components: NDArray[np.float64]
    inverse: LeftInverse
    threshold: float
    scaling: float


@dataclass(frozen=True)
class Rule:
    """Parameters of an iteration: the left inverse, and the paper's α, r and η."""

    pseudo_inverse: PseudoInverse = "min-inf"
    alpha: float | Automatic = "auto"
    r: float | Automatic = "auto"
    step_size: float = 0.5

    def first(self, blocks: Blocks, start: NDArray[np.floating]) -> State:
        """Return the start with its left inverse; one pass for the noise level if α is "auto"."""
        if blocks.n_rows < 2:
            raise InvalidInput(
                f"n_samples={blocks.n_rows}: X must have at least two different rows"
            )
        components = np.array(start, dtype=np.float64)
        inverse = left_inverse(components, self.pseudo_inverse)
        if self.alpha == "auto":
            threshold = pair_moments(blocks, inverse.rows, 0.0).threshold
        else:
            threshold = self.alpha
        return State(components, inverse, threshold, scaling=np.nan)

    def after(self, blocks: Blocks, state: State) -> tuple[State | None, Moments]:
        """Make one iteration of Algorithm 1; no state if the new features are nearly dependent."""
        moments = pair_moments(blocks, state.inverse.rows, state.threshold)
        scaling = state.scaling if self.r == "auto" else self.r
        if np.isnan(scaling):
            scaling = scaling_that_keeps_the_diagonal(state.inverse.rows, moments)
        eta = self.step_size
        components = (1.0 - eta) * state.components + eta * scaling * moments.update
        if dependent_features(components, tolerance=NEARLY_DEPENDENT):
            return None, moments
        inverse = left_inverse(components, self.pseudo_inverse, basis=state.inverse.basis)
        threshold = moments.threshold if self.alpha == "auto" else self.alpha
        return State(components, inverse, threshold, scaling), moments


def purification(
    blocks: Blocks,
    start: NDArray[np.floating],
    rule: Rule | None = None,
    *,
    balance: bool = False,
    max_iter: int = 100,
    tol: float = 1e-6,
    truth: NDArray[np.floating] | None = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """Run Algorithm 1, purification, from the features `start` (k, d).

    Parameters
    ----------
    balance : first rescale the features so that the decoded second moments agree within a
        factor of two (Section 6); the components returned are at their own scale again.
    tol : stop when no feature moves by more than this part of its absolute sum.
    truth : (k, d) true features; the trace then has ‖E‖_s, ‖N‖_1 and the proof's potential.

    Returns
    -------
    Solution; its PurificationState has `threshold` (k,) and `scaling` of the last iteration.
    """
    rule = rule or Rule()
    scales = np.ones(len(start))
    state = rule.first(blocks, start)
    if balance:
        scales = balancing_scales(
            blocks, state.inverse.rows, state.threshold, automatic_threshold=rule.alpha == "auto"
        )
        state = rule.first(blocks, start * scales[:, None])
    run = Run(max_iter, callback=callback, verbose=verbose, name="purification")
    if run.saved is not None:
        state = State(**run.saved | {"inverse": LeftInverse(**run.saved["inverse"])})
    run.keeps(lambda: vars(state))
    for _ in run:
        following, moments = rule.after(blocks, state)
        if following is None:
            run.stop(StopReason.DEPENDENT)
            _warn_of_dependence(state.components)
            break
        movement = relative_movement(following.components, state.components)
        run.record(
            threshold=state.threshold,
            scaling=following.scaling,
            inverse_norm=state.inverse.infinity_norm,
            movement=movement,
            mixing=symmetric_norm(mixing_of(following.components, state.components).off_diagonal),
            silent=int(np.count_nonzero(moments.squares == 0)),
            simplex_rounds=following.inverse.rounds,
            **distance_from_truth(following.components / scales[:, None], truth),
        )
        state = following
        if movement <= tol:
            run.stop(StopReason.CONVERGED)
    return Solution(
        (state.components / scales[:, None]).astype(blocks.dtype, copy=False),
        trace=run.trace,
        stop_reason=run.stop_reason,
        state=PurificationState(
            threshold=state.threshold * scales,
            scaling=float(state.scaling),
        ),
    )


def scaling_that_keeps_the_diagonal(inverse: NDArray[np.float64], moments: Moments) -> float:
    """Return r such that the diagonal of A†·(r·update) is one on average."""
    diagonal = float(np.einsum("ij,ij->i", inverse, moments.update).mean())
    terms = float(np.einsum("ij,ij->i", np.abs(inverse), moments.terms).mean())
    if not diagonal > ROUNDING * terms:
        raise InvalidInput(
            f"the decoded weights do not vary with the data (their covariance gives {diagonal:.3g})"
            ": rows must differ, alpha must leave some weights, and the start must resemble them"
        )
    return 1.0 / diagonal


def relative_movement(new: NDArray[np.float64], old: NDArray[np.float64]) -> float:
    """Return the largest ‖new_i − old_i‖₁/‖old_i‖₁ over the features."""
    return largest_row_sum((new - old) / np.abs(old).sum(axis=1, keepdims=True))


def distance_from_truth(
    components: NDArray[np.float64], truth: NDArray[np.floating] | None
) -> dict[str, float]:
    """Return ‖E‖_s, the potential, ‖N‖_1 relative to Σ and the smallest Σ_ii, from the truth."""
    if truth is None:
        return {}
    found = mixing_of(components, truth)
    relative = found.relative()
    return {
        "truth_mixing": symmetric_norm(relative.off_diagonal),
        "truth_potential": coupled_potential(relative.off_diagonal),
        "truth_outside": largest_row_sum(relative.outside),
        "truth_least_diagonal": float(found.diagonal.min()),
    }


def coupled_potential(mixing: NDArray[np.float64]) -> float:
    """Return a + βb of the proof (Section 5.2): a = ‖E₊‖_s, b = ‖E₋‖_s, β = 7.8.

    The proof has a ← (1 − 3η/25)a + 7ηb and b ← (1 − 24η/25)b + ηa/100, up to the noise; a + βb
    then falls by 1 − η/25 in each iteration if 7·25/23 ≤ β ≤ 8.
    """
    return symmetric_norm(np.maximum(mixing, 0)) + 7.8 * symmetric_norm(np.maximum(-mixing, 0))


def _warn_of_dependence(components: NDArray[np.float64]) -> None:
    closest = dependent_features(components, tolerance=1e3 * NEARLY_DEPENDENT)
    names = ", ".join(str(feature) for feature in closest)
    named = f" (components {names})" if closest else ""
    warn_user(
        DegenerateData(
            f"the features became linearly dependent{named}; those of the iteration before are "
            "kept. The weights may be far from independent, or {argument} too large",
            argument="n_components",
        )
    )
