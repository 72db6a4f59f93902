"""First-order optimality of a pair of nonnegative factors: what HALS and ANLS can promise.

They come with no bound on the error: nonnegative factorization has many local minima. How nearly a
result satisfies the first-order conditions of min 1/2 ||X - WC||_F^2 over W, C >= 0 is measured
here, from the data and the result alone; convergence to such a point is proved for the plain
methods only, not with extrapolation.
"""

from __future__ import annotations

from provenmf.guarantees.fit import Fit
from provenmf.guarantees.optimality import projected_residual, weights_residual
from provenmf.records import Certificate, Check

STATIONARY = 1e-4


def certify(fit: Fit) -> Certificate:
    """Whether the factors satisfy the first-order conditions, to a relative 1e-4."""
    if fit.norm == 0:
        return Certificate(fit.method)
    of_components = components_residual(fit) / fit.norm
    residual = max(of_components, weights_residual(fit) / fit.norm)
    check = Check(
        "first-order conditions",
        "KKT conditions",
        "holds" if residual <= STATIONARY else "fails",
        value=residual,
        threshold=STATIONARY,
        note="a stationary point need not be the best factorization",
    )
    measures = {"components_optimality_residual": of_components}
    return Certificate(fit.method, checks=(check,), measures=measures)


def components_residual(fit: Fit) -> float:
    """How far the components are from optimal for these weights, in the units of ||X||_F."""
    return projected_residual(fit.components.T, fit.weights_gram, fit.weights_data.T)
