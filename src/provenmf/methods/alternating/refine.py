"""Continue from cone NMF with a solver that lets rows mix components ("Alg2+Als" in Liu17).

Cone NMF gives every row one component. From there an alternating solver lowers
½‖X − weights @ components‖²_F over all nonnegative weights and components. "hals" and "anls" never
raise it, so whatever bound cone NMF had still holds; multiplicative updates cannot leave a zero, so
"mu" starts with the zeros raised to a hundredth of the mean. "kl" lowers the Kullback-Leibler
divergence instead, for counts (`solvers.poisson`).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Blocks
from provenmf.methods.cones.solver import nearest_component_weights
from provenmf.methods.run import Callback
from provenmf.results import Solution, StopReason, Trace

Refine = Literal["hals", "anls", "mu", "kl"]


def refine(
    blocks: Blocks,
    start: Solution,
    method: Refine,
    *,
    max_iter: int = 500,
    tol: float = 1e-4,
    callback: Callback | None = None,
    verbose: int = 0,
) -> Solution:
    """The start with refined components, and the refinement's trace and stop reason."""
    weights = nearest_component_weights(blocks, start.components)
    options: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
    if method == "mu":
        found = multiplicative_updates(blocks, weights, start.components, **options)
    else:
        from provenmf.methods.alternating.anls import anls
        from provenmf.methods.alternating.hals import hals
        from provenmf.methods.poisson.solver import poisson_nmf

        solver = {"hals": hals, "anls": anls, "kl": poisson_nmf}[method]
        pair = (weights, start.components)
        found = solver(blocks, init=pair, callback=callback, verbose=verbose, **options)
    return replace(
        start, components=found.components, trace=found.trace, stop_reason=found.stop_reason
    )


def multiplicative_updates(
    blocks: Blocks,
    weights: NDArray[np.floating],
    components: NDArray[np.floating],
    *,
    max_iter: int,
    tol: float,
) -> Solution:
    """scikit-learn's multiplicative updates from given factors."""
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    model = NMF(len(components), init="custom", solver="mu", max_iter=max_iter, tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the stop reason says so
        model.fit_transform(
            blocks.everything(), W=without_zeros(weights), H=without_zeros(components)
        )
    return Solution(
        model.components_,
        trace=Trace({"iterations": np.array([model.n_iter_])}),
        stop_reason=(StopReason.MAX_ITER if model.n_iter_ >= max_iter else StopReason.CONVERGED),
    )


def without_zeros(factor: NDArray[np.floating]) -> NDArray[np.floating]:
    """The factor with its zeros raised to a hundredth of its mean."""
    return np.where(factor > 0, factor, factor.mean() / 100).astype(factor.dtype)
