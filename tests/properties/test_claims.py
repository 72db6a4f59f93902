"""Statements about anchors and cones on hostile data and forged results, in exact arithmetic.

Nonnegative least squares of scipy proposes mixtures and hyperplanes; what they prove is computed
with fractions, so that no rounding stands between a statement and its refutation.
"""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from provenmf import MERIT, SPA, XRAY, ConeNMF, FastAnchor
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput

METHODS = {
    "SPA": lambda k: SPA(k),
    "SPA scaled": lambda k: SPA(k, scale_rows=True),
    "FastAnchor": lambda k: FastAnchor(k),
    "XRAY": lambda k: XRAY(k),
    "MERIT": lambda k: MERIT(k, random_state=0, max_iter=60),
}
HEAVY = 1e4  # weight of the sum-to-one equation


def hostile(seed):
    """Few rows with copies, near copies, outliers, mixtures, integers, zeros; and their storage."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 10)), int(rng.integers(2, 5))
    X = rng.random((n, d)) if rng.random() < 0.7 else rng.integers(0, 4, (n, d)).astype(float)
    if rng.random() < 0.4:
        X *= 10.0 ** rng.integers(-9, 10, (n, 1))
    if rng.random() < 0.4:
        X[0] = X[-1] * (1 + rng.choice([0, 1e-15, 1e-9, 1e-3]))
    if rng.random() < 0.4:
        X[1] = rng.dirichlet(np.ones(n - 1)) @ X[np.arange(n) != 1]
    if rng.random() < 0.2:
        X[2] = 0
    X *= rng.choice([1.0, 1.0, 1e-40, 1e25])
    X[0, 0] = max(X[0, 0], X.max() * 1e-3, 1e-40)  # not all zero
    if rng.random() < 0.3 and 1e-30 < X.max() < 1e30:
        X = X.astype(np.float32)
    return X, (sp.csr_array(X) if rng.random() < 0.3 else X), int(rng.integers(1, 4))


def fitted(method, X, k):
    """The fitted model and its method's own certificate; data that it refuses are passed over."""
    model = method(min(k, *X.shape)).set_params(certify=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X)
        except InvalidInput:
            assume(False)
    return model, certificate_of(model, model.factorization_, X)


def certificate_of(model, record, X):
    return model._certify(Fit(as_blocks(X), record, model._constraint))


def forged(record, X, seed):
    """The record with one of its arrays changed, now and then consistently with the data."""
    rng = np.random.default_rng(seed)
    n, k = record.weights.shape
    weights = record.weights * rng.choice([0.5, 1, 2], record.weights.shape).astype(X.dtype)
    changes = [{"weights": weights}, {"components": record.components[::-1].copy()}]
    if record.anchors is not None:
        rows = rng.choice(n, len(record.anchors), replace=False)
        changes += [{"anchors": rows}, {"anchors": rows, "components": X[rows]}]
    if record.labels is not None:
        changes += [{"labels": rng.integers(-1, k, n)}, {"labels": np.full(n, -1)}]
    change = changes[int(rng.integers(len(changes)))]
    return replace(record, **change)


def exactly(row):
    return [Fraction(float(entry)) for entry in row]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def proposed_weights(target, corners, convex):
    """Weights of a mixture near the target, as fractions; they sum to one if `convex`."""
    scale = max(float(max(map(abs, row), default=0)) for row in [target, *corners]) or 1.0
    matrix = np.array([[float(x) for x in row] for row in corners]).T / scale
    right = np.array([float(x) for x in target]) / scale
    if convex:
        matrix = np.vstack([matrix, np.full(len(corners), HEAVY)])
        right = np.append(right, HEAVY)
    try:
        weights = exactly(nnls(matrix, right, maxiter=2000)[0])
    except RuntimeError:  # it gave up: propose one corner
        weights = exactly(np.eye(len(corners))[0])
    if not convex:
        return weights
    total = sum(weights)
    return [w / total for w in weights] if total > 0 else exactly(np.eye(len(corners))[0])


def away(target, corners, convex=True):
    """target − a point of the hull or cone of the corners, nearly the shortest such difference."""
    weights = proposed_weights(target, corners, convex)
    columns = zip(*corners)
    return [x - dot(weights, column) for x, column in zip(target, columns)]


def distance_exceeds(target, corners, bound):
    """Whether a hyperplane proves that the target is farther than `bound` from the hull."""
    w = away(target, corners)
    if not any(w):
        return False
    separation = dot(target, w) - max(dot(corner, w) for corner in corners)
    return separation > 0 and separation**2 > Fraction(bound) ** 2 * dot(w, w)


def points_of(X, scaled):
    rows = [exactly(row) for row in X]
    if not scaled:
        return rows
    return [[x / sum(row) for x in row] if sum(row) > 0 else None for row in rows]


def margins_are_true(record, certificate, X, with_origin):
    """Rows outside the stated radius have no mixture nearer to the anchor than its margin."""
    name = next((n for n in certificate.measures if n.endswith("anchor_margin")), None)
    if name is None:
        return
    scaled = name.startswith("scaled_")
    prefix = "scaled_" if scaled else ""
    radius = Fraction(certificate.measures[f"{prefix}anchor_radius"])
    left_out = certificate.measures["rows_near_anchors"]
    points = points_of(X, scaled)
    margins = certificate.measures[name]
    near = 0
    for anchor, margin in zip(record.anchors, margins):
        target = points[anchor]
        others = [p for i, p in enumerate(points) if i != anchor and p is not None]
        apart = [[a - b for a, b in zip(p, target)] for p in others]
        far = [p for p, e in zip(others, apart) if dot(e, e) > radius**2 or not left_out]
        near += len(others) - len(far)
        if with_origin:
            far.append([Fraction(0)] * X.shape[1])
        if far:
            e = away(target, far)
            assert Fraction(margin) ** 2 <= dot(e, e)
    for bound_name, bound in certificate.bounds.items():
        if bound_name.endswith("noise"):
            assert 2 * bound <= min(margins) * (1 + 1e-15) and bound > 0
            assert ("group" in bound_name) == (left_out > 0)
            assert ("scaled" in bound_name) == scaled
    if left_out:
        assert near > 0


def numbers_are_finite(certificate):
    found = [n for c in certificate.checks for n in (c.value, c.threshold) if n is not None]
    found += list(certificate.bounds.values())
    found += [v for m in certificate.measures.values() for v in np.atleast_1d(m)]
    assert np.isfinite(np.array(found, dtype=float)).all()


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_proved_of_anchors_is_true(name, seed):
    X, stored, k = hostile(seed)
    model, certificate = fitted(METHODS[name], stored, k)
    anchors_are_true(name, model.factorization_, certificate, X)
    other = forged(model.factorization_, X, seed)
    anchors_are_true(name, other, certificate_of(model, other, stored), X)


def anchors_are_true(name, record, certificate, X):
    """Every statement of one certificate about anchors."""
    numbers_are_finite(certificate)
    margins_are_true(record, certificate, X, with_origin=name.startswith("SPA"))
    corners = [exactly(row) for row in record.components]
    if "largest_hull_distance" in certificate.bounds:
        bound = certificate.bounds["largest_hull_distance"]
        assert not any(distance_exceeds(exactly(row), corners, bound) for row in X)
    for check in certificate.checks:
        if check.name == "rows within 1e-7 of the anchors' cone" and check.status == "holds":
            for row in map(exactly, X):
                e = away(row, corners, convex=False)
                assert dot(e, e) <= Fraction(1.01e-7) ** 2 * dot(row, row)
        if check.name == "anchors survive the residual" and check.status == "holds":
            assert check.value < check.threshold


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_proved_of_cones_is_true(seed):
    X, stored, k = hostile(seed)
    model, certificate = fitted(lambda k: ConeNMF(k), stored, k)
    cones_are_true(model.factorization_, certificate, X)
    other = forged(model.factorization_, X, seed)
    cones_are_true(other, certificate_of(model, other, stored), X)


def cones_are_true(record, certificate, X):
    """Every bound of one certificate on the error of a factorization."""
    numbers_are_finite(certificate)
    left = whole = Fraction(0)
    components = [exactly(row) for row in record.components]
    for row, weights in zip(map(exactly, X), map(exactly, record.weights)):
        e = [x - dot(weights, column) for x, column in zip(row, zip(*components))]
        left, whole = left + dot(e, e), whole + dot(row, row)
    for name, bound in certificate.bounds.items():
        assert left <= Fraction(bound) ** 2 * whole, name


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_start_finds_the_clusters_that_are_said_to_be_found_from_any(seed):
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-7, 0)
    X = np.abs(np.eye(3)[rng.integers(0, 3, 6)] + spread * rng.random((6, 3)))
    X = np.column_stack([np.ones(6), spread * rng.random((6, 2))]) if seed % 2 else X
    X = X.astype(np.float32) if seed % 3 == 0 else X
    partitions, claimed = set(), False
    for first in range(6):
        model, certificate = fitted(lambda k, first=first: ConeNMF(k, first=first), X, 3)
        groups = [np.flatnonzero(model.labels_ == label) for label in np.unique(model.labels_)]
        partitions.add(frozenset(frozenset(group.tolist()) for group in groups))
        claimed |= any(
            c.name.startswith("same clusters") and c.status == "holds" for c in certificate.checks
        )
    assert len(partitions) == 1 or not claimed
