"""First-order optimality of a pair of nonnegative factors: what HALS and ANLS can promise.

They come with no bound on the error: nonnegative factorization has many local minima. How nearly a
result satisfies the first-order conditions of min 1/2 ||X - WC||_F^2 over W, C >= 0 is measured
here, from the data and the result alone; convergence to such a point is proved for the plain
methods only, not with extrapolation.
"""

from __future__ import annotations

from provenmf.certificate.measurement import Fit
from provenmf.certificate.optimality import projected_residual, weights_residual
from provenmf.data import LocalRows
from provenmf.linalg.penalties import Penalties, Penalty
from provenmf.results import Certificate, Check
from provenmf.results.states import KnownState

STATIONARY = 1e-4
NAME, THEOREM = "first-order conditions", "KKT conditions"
NO_PENALTY, NOT_ON_IT = Penalties(), Penalty()


def certify(fit: Fit, penalties: Penalties = NO_PENALTY) -> Certificate:
    """Whether the factors satisfy the first-order conditions, to a relative 1e-4.

    Those of the penalised objective where there are penalties; components that were known and not
    changed need satisfy none.
    """
    if fit.norm == 0:
        return Certificate(fit.method)
    penalised = penalties != NO_PENALTY
    if penalised and not fit.as_given:
        note = "not known for penalised fits of data of extreme size"
        return Certificate(fit.method, (Check(NAME, THEOREM, "unknown", note=note),))
    n, d = fit.blocks.shape
    of_components = components_residual(fit, penalties.on_components(n)) / fit.norm
    of_weights = weights_residual(fit)
    if penalised:
        penalty = penalties.on_weights(d)
        gram, cross = penalty.with_gram(fit.components_gram), fit.cross.map(penalty.with_cross)
        of_weights = projected_residual(fit.weight_rows, gram, cross)
    return verdict(fit, of_components, of_weights / fit.norm, penalised=penalised)


def verdict(fit: Fit, of_components: float, of_weights: float, *, penalised: bool) -> Certificate:
    """The check and what it rests on, from both residuals over ||X||_F."""
    residual = max(of_components, of_weights)
    check = Check(
        NAME,
        THEOREM,
        "holds" if residual <= STATIONARY else "fails",
        value=residual,
        threshold=STATIONARY,
        note="a stationary point need not be the best factorization"
        + ("; of the objective with the penalties that the result names" if penalised else ""),
    )
    measures = {"components_optimality_residual": of_components}
    return Certificate(fit.method, checks=(check,), measures=measures)


def components_residual(fit: Fit, penalty: Penalty = NOT_ON_IT) -> float:
    """How far the components are from optimal for these weights, in the units of ||X||_F."""
    known, factor = known_components(fit), fit.components.T
    if known == fit.n_components:
        return 0.0
    gram, cross = fit.weights_gram, fit.weights_data.T
    free = cross[:, known:] - factor[:, :known] @ gram[:known, known:]
    normal = penalty.normal_equations(gram[known:, known:], free)
    rows = LocalRows.of(factor[:, known:])
    return projected_residual(rows, normal[0], LocalRows.of(normal[1]))


def known_components(fit: Fit) -> int:
    """How many components, the first ones, were not to be changed."""
    state = fit.factorization.state
    return min(state.known, fit.n_components) if isinstance(state, KnownState) else 0
