"""Certify components of least volume: unique if the weights are sufficiently scattered.

Rows w >= 0 of weights are sufficiently scattered if their cone contains all x with
e'x >= sqrt(k-1) ||x||, and its dual touches the boundary of that cone's dual at the axes only. Let
P = WC be the product found, and P = VB with V >= 0 and B of unit sums and whatever sign. Then
det(BB') >= det(CC'), with equality for C in another order only (Fu, Ma, Huang & Sidiropoulos 2015;
Leplat, Gillis & Ang 2020, Theorem 1). Proof: B = AC with Ae = e; columns b of the inverse of A
satisfy Wb >= 0, so that ||b|| <= e'b, and |det A^-1| <= prod ||b|| <= prod e'b <= 1. On the simplex
the rows of W and V have equal sums instead.

Two things are decided here; between them it is unknown, since deciding it is NP-hard (Gillis & Luce
2024). Rows with a single weight, one for each component, make the cone the whole orthant: then it
holds. And it fails unless, for each j, the rows without component j have e - e_j in their cone, and
are k - 1 at least (their necessary condition; `refuted`). That P is near to the data is measured;
that the true components have the least volume is the model.

Gillis & Luce 2024: "Checking the sufficiently scattered condition using a global non-convex
optimization software".
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from provenmf.certificate.measurement import Fit
from provenmf.certificate.singular_values import has_independent_rows
from provenmf.data import Rows
from provenmf.results import Certificate, Check

Floats = NDArray[np.float64]

NAME, THEOREM = "weights sufficiently scattered", "Leplat et al. 2020, Th. 1"
HOLDS = (
    "every component has a row with no other: of all factorizations of the same product into "
    "components of unit sum, or weights of the same sums, this one has the least volume"
)


ON_IT = 1e-10  # squared distance of a point from a cone below which it may lie in it
MOST_PASSES = 100  # over the rows; about k of them find the answer


def certify(fit: Fit) -> Certificate:
    """Check, as far as polynomial time allows, whether the weights are sufficiently scattered."""
    return Certificate(fit.method, checks=(scattered(fit),))


def scattered(fit: Fit) -> Check:
    """Return *holds* for pure rows, *fails* if the necessary condition does, else *unknown*."""
    k = fit.n_components

    def of_rows(weights: Floats) -> Floats:
        positive = weights[weights.any(axis=1)] > 0
        pure = positive[positive.sum(axis=1) == 1].sum(axis=0)
        return np.vstack([(~positive).sum(axis=0), pure])

    zeros, pure = fit.given_rows.sum(of_rows)
    if (pure > 0).all() and has_independent_rows(fit.components, k):
        return Check(NAME, THEOREM, "holds", note=HOLDS)
    if zeros.min() < k - 1:
        note = f"too few rows are without component {int(np.argmin(zeros)) + 1}"
        return Check(
            NAME, THEOREM, "fails", float(zeros.min()), float(k - 1), note=note, direction=">="
        )
    if found := refuted(fit.given_rows, k):
        component, distance = found
        note = (
            f"equal weights of all components but {component + 1} are not in the cone of the rows "
            "without it"
        )
        return Check(NAME, "Gillis & Luce 2024", "fails", distance, 0.0, note=note)
    note = (
        "the necessary condition of Gillis & Luce (2024) does not refute it, and not every "
        "component has a pure row that proves it"
    )
    return Check(NAME, THEOREM, "unknown", note=note)


def refuted(rows: Rows, k: int) -> tuple[int, float] | None:
    """Return a component j for which e - e_j is not in the cone of rows without j; its distance.

    The point p = e - e_j has e'p = sqrt(k-1) ||p||, so the cone of sufficiently scattered rows
    contains it; as p_j = 0, it is made of rows without j. Nonnegative least squares on a few of
    them leave a residual -y with p'y = -||y||^2, and the row with the least w'y / e'w = -t joins
    them if t > 0. If t (k-1) < ||y||^2, no row is negative on y + t e but p is: it is outside.
    """
    points = np.ones((k, k)) - np.eye(k)
    chosen: list[list[Floats]] = [[] for _ in range(k)]
    for _ in range(MOST_PASSES if k > 1 else 0):
        left = np.array([_residual(np.array(c), p) for c, p in zip(chosen, points)])
        distances = (left**2).sum(axis=1)
        found = list(rows.each(partial(_lowest, directions=-left)))
        values, nearest = (np.array(part) for part in zip(*found))
        blocks = np.argmin(values, axis=0)
        least = values[blocks, np.arange(k)]
        outside = np.maximum(-least, 0.0) * (k - 1) < 0.5 * distances
        outside &= distances > ON_IT
        if outside.any():
            j = int(np.argmax(np.where(outside, distances, 0.0)))
            return j, float(np.sqrt(distances[j]))
        if (distances <= ON_IT).all():
            break
        for j in np.flatnonzero(distances > ON_IT).tolist():
            chosen[j].append(nearest[blocks[j], j])
    return None


def _residual(chosen: Floats, point: Floats) -> Floats:
    """Return the point less the nearest one in the cone of the chosen rows."""
    return point - nnls(chosen.T, point)[0] @ chosen if len(chosen) else point


def _lowest(weights: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """Return for each j the least w'y_j / e'w of rows without j, and that row of unit sum."""
    used = weights[weights.any(axis=1)].astype(np.float64)
    unit = used / used.max(axis=1, keepdims=True)
    unit /= unit.sum(axis=1, keepdims=True)
    values = np.where(used > 0, np.inf, unit @ directions.T)
    values = np.vstack([values, np.full(len(directions), np.inf)])
    lowest = np.argmin(values, axis=0)
    unit = np.vstack([unit, np.zeros(len(directions))])
    return values.min(axis=0), unit[lowest]
