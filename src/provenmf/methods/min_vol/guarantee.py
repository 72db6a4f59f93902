"""What makes components of least volume unique: weights that are sufficiently scattered.

Let P = WC be the product of the factors found, with sums s of the components and S = diag(s). If
the rows of WS are sufficiently scattered (`certificate/scattered.py`), then of all C' with
P = W'C', W' >= 0 and components of sum s, of whatever sign, C has the least det(CC'), and every
other one with this volume is C in another order (Fu, Ma, Huang & Sidiropoulos 2015; Leplat, Gillis
& Ang 2020, Theorem 1). Proof: C' = AC; with A scaled by S both ways, Ae = e, so that the columns of
A^-1 are in the dual of the cone of WS, where ||b|| <= e'b, and |det A^-1| <= prod ||b|| <=
prod e'b <= 1 with equality for permutations only. On the simplex the rows of W and W' have equal
sums instead, and S = I.

That P is near to the data is measured; that the true components have the least volume among
factorizations of P is the model.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from provenmf.certificate.measurement import Fit
from provenmf.certificate.scattered import MOST_COMPONENTS, is_scattered, looks_scattered
from provenmf.certificate.singular_values import has_independent_rows
from provenmf.methods.weights import Constraint
from provenmf.results import Certificate, Check

NAME, THEOREM = "weights sufficiently scattered", "Leplat et al. 2020, Th. 1"
HOLDS = (
    "of all factorizations of the same product with components of the same sums, this one has the "
    "least volume, and no other has it"
)
IN_WORDS = (
    "Given the fitted product, no other components have as small a volume: the weights are "
    "sufficiently scattered."
)
MOST_ROWS = 100_000
SECONDS = 1.0  # that an exact proof may take


def certify(fit: Fit, constraint: Constraint) -> Certificate:
    """Check that the weights are sufficiently scattered, in exact arithmetic."""
    return Certificate(fit.method, checks=(scattered(fit, constraint),))


def scattered(fit: Fit, constraint: Constraint) -> Check:
    """Return *holds* if it is proved, *fails* if a facet is not touched often enough."""
    k = fit.n_components
    if fit.blocks.n_rows > MOST_ROWS or fit.blocks.on_workers:
        return Check(NAME, THEOREM, "unknown", note="not tried with this many rows")
    weights = np.asarray(fit.factorization.weights, dtype=np.float64)
    weights = weights[weights.any(axis=1)]
    zeros = np.count_nonzero(weights == 0, axis=0)
    if k > 1 and (len(weights) == 0 or zeros.min() < k - 1):
        fewest = int(np.argmin(zeros))
        note = f"weight {fewest + 1} is zero in {zeros[fewest]} rows, and {k - 1} are needed"
        return Check(NAME, THEOREM, "fails", float(zeros[fewest]), float(k - 1), note=note)
    if k > MOST_COMPONENTS or not fit.affords(SECONDS):
        note = f"proved for up to {MOST_COMPONENTS} components, with certify='full'"
        return Check(NAME, THEOREM, "unknown", note=note)
    components = np.asarray(fit.factorization.components, dtype=np.float64)
    scale = [Fraction(1)] * k
    if constraint == "nonnegative":
        scale = [sum((Fraction(float(c)) for c in row), Fraction(0)) for row in components]
    plain = np.array([float(value) for value in scale])
    if (
        plain.min() > 0
        and has_independent_rows(components, k)
        and (k < 3 or looks_scattered(weights * plain))
        and is_scattered(weights, scale)
    ):
        return Check(NAME, THEOREM, "holds", note=HOLDS, in_words=IN_WORDS)
    return Check(NAME, THEOREM, "unknown", note="not proved for these weights")
