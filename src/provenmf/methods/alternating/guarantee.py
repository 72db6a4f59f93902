"""First-order optimality of a pair of nonnegative factors: what HALS and ANLS can promise.

They come with no bound on the error: nonnegative factorization has many local minima. How nearly a
result satisfies the first-order conditions of min 1/2 ||X - WC||_F^2 over W, C >= 0 is measured
here, from the data and the result alone; convergence to such a point is proved for the plain
methods only, not with extrapolation.

Missing entries: all sums are then over the observed entries: the error, the norm, the first-order
conditions of 1/2 sum over observed (i, j) of (x_ij - w_i c_j)^2. The error in missing entries is
not known. Singular values bound the error from below only where a part of the data
is complete: no product of rank k comes closer to the rows without a missing entry than their
singular values allow (Eckart & Young 1936), and errors in other rows only add to that.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from provenmf.budget import computed_once
from provenmf.certificate import uniqueness
from provenmf.certificate.measurement import Fit, Floats
from provenmf.certificate.optimality import nonnegativity, projected_residual, weights_residual
from provenmf.certificate.singular_values import RankBound, gram_is_formed, least_relative_error
from provenmf.data import LocalRows, as_blocks
from provenmf.data.door import fingerprint_of
from provenmf.data.memory import ObservedBlocks
from provenmf.linalg.nnls import Penalties, Penalty
from provenmf.linalg.norms import row_lengths, squared_frobenius_norm
from provenmf.linalg.observed import residual_entries
from provenmf.linalg.spectral import gram_of_columns
from provenmf.results import Certificate, Check, Measure
from provenmf.results.states import KnownState

STATIONARY = 1e-4
NAME, THEOREM = "first-order conditions", "KKT conditions"
NO_PENALTY, NOT_ON_IT = Penalties(), Penalty()


def certify(fit: Fit, penalties: Penalties = NO_PENALTY, *, unimodal: bool = False) -> Certificate:
    """Check the first-order conditions of the factors, to a relative 1e-4.

    Those of the penalised objective where there are penalties; components that were known and not
    changed need satisfy none.
    """
    if fit.norm == 0:
        return Certificate(fit.method)
    penalised = penalties != NO_PENALTY
    if unimodal or (penalised and (not fit.as_given or fit.constraint == "simplex")):
        note = "not known for penalised fits of data of extreme size or with closure"
        note = "not known for unimodal components" if unimodal else note
        return Certificate(fit.method, (Check(NAME, THEOREM, "unknown", note=note),))
    n, d = fit.blocks.shape
    known, penalty = known_components(fit), penalties.on_components(n)
    of_components = components_residual(fit, penalty) / fit.norm
    of_free = components_residual(fit, penalty, known) / fit.norm if known else of_components
    of_weights = weights_residual(fit)
    if penalised:
        penalty = penalties.on_weights(d)
        gram, cross = penalty.with_gram(fit.components_gram), fit.cross.map(penalty.with_cross)
        of_weights = projected_residual(fit.weight_rows, gram, cross)
    return verdict(fit, of_components, of_free, of_weights / fit.norm, penalised=penalised)


def verdict(
    fit: Fit, of_components: float, of_free: float, of_weights: float, *, penalised: bool
) -> Certificate:
    """Return the check and its measures, from residuals over ||X||_F.

    The measure is about all components, whatever the record says of those that were given; the
    check is about the free ones and says so.
    """
    residual = max(of_free, of_weights)
    known = known_components(fit)
    check = Check(
        NAME,
        THEOREM,
        "holds" if residual <= STATIONARY else "fails",
        value=residual,
        threshold=STATIONARY,
        note="a stationary point need not be the best factorization"
        + ("; of the objective with the penalties that the result names" if penalised else "")
        + (f"; the result says that {known} components were given and free of it" if known else ""),
    )
    measures = {"components_optimality_residual": of_components}
    return Certificate(fit.method, checks=(check,), measures=measures)


def components_residual(fit: Fit, penalty: Penalty = NOT_ON_IT, known: int = 0) -> float:
    """Measure how far the components are from optimal for these weights, in units of X.

    The first `known` of them are not moved.
    """
    factor = fit.components.T
    if known == fit.n_components:
        return 0.0
    gram, cross = fit.weights_gram, fit.weights_data.T
    free = cross[:, known:] - factor[:, :known] @ gram[:known, known:]
    normal = penalty.normal_equations(gram[known:, known:], free)
    rows = LocalRows.of(factor[:, known:])
    return projected_residual(rows, normal[0], LocalRows.of(normal[1]))


def known_components(fit: Fit) -> int:
    """Return the number of leading components that were fixed."""
    state = fit.factorization.state
    return min(state.known, fit.n_components) if isinstance(state, KnownState) else 0


class ObservedFit(Fit):
    """A fit measured on the observed entries."""

    given: ObservedBlocks

    @computed_once
    def left(self) -> sp.csr_array:
        """Return X - WC at the observed entries."""
        features = np.ascontiguousarray(self.components.T)
        return residual_entries(self.observed, np.ascontiguousarray(self.weights), features)

    @property
    def observed(self) -> sp.csr_array:
        """The observed entries in double precision, divided by `unit`."""
        return self.given.entries.astype(np.float64) * (1.0 / self.unit)

    @property
    def residuals(self) -> Floats:
        """Length of the residual of each row."""
        return row_lengths(self.left)

    @property
    def entries(self) -> int:
        """Number of observed entries."""
        return int(self.given.entries.nnz)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the observed entries and their places."""
        return fingerprint_of(self.given) if self._hashed else ""

    @computed_once
    def rank_bound(self) -> RankBound:
        """Compute the bound from the complete rows, if they outnumber the components."""
        complete = np.diff(self.given.entries.indptr) == self.given.n_columns
        k = self.n_components
        if np.count_nonzero(complete) <= k or self.given.n_columns <= k:
            return RankBound(None, "entries are missing in all but a few rows")
        rows = as_blocks(self.observed[complete].toarray())
        squared = float(rows.map_reduce(squared_frobenius_norm))
        gram = rows.map_reduce(gram_of_columns) if gram_is_formed(rows) else None
        least = least_relative_error(rows, k, squared, gram)
        if least.relative_error is None:
            return least
        share = math.sqrt(squared / self.norm**2) * (1 - 1e-12)
        return RankBound(least.relative_error * share)


def certify_observed(fit: ObservedFit, penalties: Penalties) -> Certificate:
    """Report error, first-order conditions and uniqueness over the observed entries."""
    missing = Check(
        "entries that are missing",
        "definition",
        "unknown",
        value=1 - fit.given.share,
        note="share of the entries; what is said about the error is about the observed ones",
        in_words=f"{100 * (1 - fit.given.share):.2f} % of the entries are missing, and how large "
        "the error is there is not known.",
    )
    if fit.norm == 0:
        return Certificate(fit.method, (missing,), measures={"error": fit.error * fit.unit})
    conditions = first_order(fit, penalties)
    measures: dict[str, Measure] = {"relative_error": fit.relative_error}
    bounds: dict[str, float] = {}
    checks = (missing, *nonnegativity(fit))
    least = fit.rank_bound.relative_error
    if least is None:
        name, note = "distance to the best rank-k error", fit.rank_bound.reason
        checks = (*checks, Check(name, "Eckart-Young", "unknown", note=note))
    else:
        bounds["relative_error_lower_bound"] = least
        bounds["relative_error_gap"] = max(fit.relative_error - least, 0.0) + fit.error_rounding
    own = Certificate(fit.method, checks, bounds, measures)
    return conditions.join(own).join(uniqueness.certify(fit))


def first_order(fit: ObservedFit, penalties: Penalties) -> Certificate:
    """Check the first-order conditions over the observed entries."""
    n, d = fit.given.shape
    if penalties != Penalties() and not fit.as_given:
        name, note = "first-order conditions", "not known for penalised fits of extreme size"
        check = Check(name, THEOREM, "unknown", note=note)
        return Certificate(fit.method, (check,))
    of_weights = _moved(
        fit.weights, fit.components, -(fit.left @ fit.components.T), penalties.on_weights(d)
    )

    def of_components(known: int) -> float:
        return _moved(
            fit.components.T[:, known:],
            fit.weights.T[known:],
            -(fit.left.T @ fit.weights[:, known:]),
            penalties.on_components(n),
        )

    return verdict(
        fit,
        of_components(0) / fit.norm,
        of_components(known_components(fit)) / fit.norm,
        of_weights / fit.norm,
        penalised=penalties != Penalties(),
    )


def _moved(factor: Floats, other: Floats, gradient: Floats, penalty: Penalty) -> float:
    """Measure how far a factor is from optimal by its gradient over the observed entries.

    The curvature of all entries bounds that of the observed ones.
    """
    if factor.shape[1] == 0:
        return 0.0
    gram = penalty.with_gram(other @ other.T)
    cross = factor @ gram - gradient - penalty.l1 - penalty.l2 * factor
    return projected_residual(LocalRows.of(factor), gram, LocalRows.of(cross))
