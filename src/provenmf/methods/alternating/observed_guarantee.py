"""What is known about a factorization of data with missing entries.

All sums are over the observed entries: the error, the norm, the first-order conditions of
1/2 sum over observed (i, j) of (x_ij - w_i c_j)^2. What the missing entries are is not known, so
neither is the error there. Singular values bound the error from below only where a part of the data
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
from provenmf.certificate.optimality import nonnegativity
from provenmf.certificate.singular_values import RankBound, gram_is_formed, least_relative_error
from provenmf.data import as_blocks
from provenmf.data.door import fingerprint_of
from provenmf.data.memory import ObservedBlocks
from provenmf.linalg.norms import row_lengths, squared_frobenius_norm
from provenmf.linalg.observed import residual_entries
from provenmf.linalg.penalties import Penalties, Penalty
from provenmf.linalg.scaling import inverse_where_positive
from provenmf.linalg.spectral import gram_of_columns
from provenmf.methods.alternating import guarantee as stationarity
from provenmf.results import Certificate, Check, Measure


class ObservedFit(Fit):
    """A fit measured on the observed entries."""

    given: ObservedBlocks

    @computed_once
    def left(self) -> sp.csr_array:
        """X - WC at the observed entries."""
        features = np.ascontiguousarray(self.components.T)
        return residual_entries(self.observed, np.ascontiguousarray(self.weights), features)

    @property
    def observed(self) -> sp.csr_array:
        """The observed entries in double precision, divided by `unit`."""
        return self.given.entries.astype(np.float64) * (1.0 / self.unit)

    @property
    def residuals(self) -> Floats:
        """Length of what is left of each row."""
        return row_lengths(self.left)

    @property
    def entries(self) -> int:
        """How many entries are observed."""
        return int(self.given.entries.nnz)

    @property
    def fingerprint(self) -> str:
        """What the data are recognized by: the observed entries and their places."""
        return fingerprint_of(self.given)

    @computed_once
    def rank_bound(self) -> RankBound:
        """From the rows without a missing entry, if there are more of them than components."""
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
        share = math.sqrt(squared / self.squared_norm) * (1 - 1e-12)
        return RankBound(least.relative_error * share)


def certify(fit: ObservedFit, penalties: Penalties) -> Certificate:
    """Error and first-order conditions over the observed entries, and whether parts are unique."""
    missing = Check(
        "entries that are missing",
        "definition",
        "unknown",
        value=1 - fit.given.share,
        note="share of the entries; what is said about the error is about the observed ones",
        in_words=f"{1 - fit.given.share:.2%} of the entries are missing, and how large the error "
        "is there is not known.",
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
    """As `stationarity.certify`, over the observed entries."""
    n, d = fit.given.shape
    if penalties != Penalties() and not fit.as_given:
        name, note = "first-order conditions", "not known for penalised fits of extreme size"
        check = Check(name, stationarity.THEOREM, "unknown", note=note)
        return Certificate(fit.method, (check,))
    of_weights = _moved(
        fit.weights, fit.components, -(fit.left @ fit.components.T), penalties.on_weights(d)
    )
    known = stationarity.known_components(fit)
    of_components = _moved(
        fit.components.T[:, known:],
        fit.weights.T[known:],
        -(fit.left.T @ fit.weights[:, known:]),
        penalties.on_components(n),
    )
    return stationarity.verdict(
        fit,
        of_components / fit.norm,
        of_weights / fit.norm,
        penalised=penalties != Penalties(),
    )


def _moved(factor: Floats, other: Floats, gradient: Floats, penalty: Penalty) -> float:
    """How far one step of projected gradient descent moves a factor, in the units of the data.

    The rows of the other factor are brought to unit length as in `optimality.projected_residual`;
    the curvature of all entries bounds that of the observed ones.
    """
    if factor.shape[1] == 0:
        return 0.0
    gram = other @ other.T + penalty.l2 * np.eye(len(other))
    sizes = np.sqrt(np.maximum(np.diag(gram), 0.0))
    inverse = inverse_where_positive(sizes)
    largest = float(np.linalg.eigvalsh(gram * np.outer(inverse, inverse))[-1])
    if largest <= 0:
        return 0.0
    slope = (gradient + penalty.l1 + penalty.l2 * factor) * inverse
    scaled = factor * sizes
    moved = scaled - np.maximum(scaled - slope / largest, 0.0)
    return math.sqrt(largest) * float(np.linalg.norm(moved))
