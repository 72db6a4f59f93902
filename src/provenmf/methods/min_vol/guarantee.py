"""Certify components of least volume: unique if the weights are sufficiently scattered.

Rows w >= 0 of weights are sufficiently scattered if their cone contains all x with
e'x >= sqrt(k-1) ||x||, and its dual touches the boundary of that cone's dual at the axes only. Let
P = WC be the product found, and P = VB with V >= 0 and B of unit sums and whatever sign. Then
det(BB') >= det(CC'), with equality for C in another order only (Fu, Ma, Huang & Sidiropoulos 2015;
Leplat, Gillis & Ang 2020, Theorem 1). Proof: B = AC with Ae = e; columns b of the inverse of A
satisfy Wb >= 0, so that ||b|| <= e'b, and |det A^-1| <= prod ||b|| <= prod e'b <= 1. On the simplex
the rows of W and V have equal sums instead.

Two things are decided here. The cone touches each face x_j = 0 in points with x_i > 0, for every
other i, and in at least k - 1 of them: where it does not, the condition fails. Rows with a single
weight, one for each component, make the cone the whole orthant: then it holds. Between the two it
is unknown. That P is near to the data is measured; that the true components have the least volume
is the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.certificate.measurement import Fit
from provenmf.certificate.singular_values import has_independent_rows
from provenmf.results import Certificate, Check

Floats = NDArray[np.float64]

NAME, THEOREM = "weights sufficiently scattered", "Leplat et al. 2020, Th. 1"
HOLDS = (
    "every component has a row with no other: of all factorizations of the same product into "
    "components of unit sum, or weights of the same sums, this one has the least volume"
)


def certify(fit: Fit) -> Certificate:
    """Check whether the weights are sufficiently scattered, as far as zeros decide it."""
    return Certificate(fit.method, checks=(scattered(fit),))


def scattered(fit: Fit) -> Check:
    """Return *holds* for pure rows, *fails* where a face has too few zeros, else *unknown*."""
    k = fit.n_components

    def of_rows(weights: Floats) -> Floats:
        used = weights[weights.any(axis=1)]
        positive = (used > 0).astype(np.float64)
        pure = positive[positive.sum(axis=1) == 1].sum(axis=0)
        zeros = 1.0 - positive
        return np.vstack([positive.T @ zeros, zeros.sum(axis=0), pure])

    found = fit.given_rows.sum(of_rows)
    pairs, zeros, pure = found[:k], found[k], found[k + 1]
    if (pure > 0).all() and has_independent_rows(fit.components, k):
        return Check(NAME, THEOREM, "holds", note=HOLDS)
    apart = pairs + np.diag(np.full(k, np.inf))  # rows with i but not j
    i, j = np.unravel_index(int(np.argmin(apart)), apart.shape)
    if k > 1 and apart[i, j] == 0:
        note = f"no row has component {i + 1} without component {j + 1}"
        return Check(NAME, THEOREM, "fails", 0.0, 1.0, note=note, direction=">=")
    if zeros.min() < k - 1:
        note = f"too few rows are without component {int(np.argmin(zeros)) + 1}"
        return Check(
            NAME, THEOREM, "fails", float(zeros.min()), float(k - 1), note=note, direction=">="
        )
    note = "zeros do not exclude it, and not every component has a row of its own that proves it"
    return Check(NAME, THEOREM, "unknown", note=note)
