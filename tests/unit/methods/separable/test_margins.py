"""What margins prove, against the ways in which they once proved too much."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import MERIT, SPA, XRAY, FastAnchor, FastGradient
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.methods.separable.margins import (
    Explanation,
    anchor_margins,
    corner_distances,
)

METHODS = {
    "SPA": lambda k: SPA(k),
    "SPA scaled": lambda k: SPA(k, scale_rows=True),
    "FastAnchor": lambda k: FastAnchor(k),
    "XRAY": lambda k: XRAY(k),
    "FastGradient": lambda k: FastGradient(k, random_state=0, max_iter=50),
    "MERIT": lambda k: MERIT(k, random_state=0),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def certified(method, X, k):
    """What the method itself certifies."""
    model = method(k).set_params(certify=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    return model._certify(Fit(as_blocks(X), model.factorization_, model._constraint))


def margin_check(certificate):
    return next(c for c in certificate.checks if c.name == "anchors survive the residual")


def noise_bound(certificate):
    return next((v for n, v in certificate.bounds.items() if n.endswith("noise")), None)


def row_lengths(X):
    return np.linalg.norm(X, axis=1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("method", [METHODS["FastAnchor"], METHODS["MERIT"], METHODS["SPA"]])
def test_a_long_row_does_not_make_all_others_equal(method, storage):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((40, 3)), [[1e8, 0, 0]]])
    certificate = certified(method, storage(X), 2)
    assert margin_check(certificate).status == "fails"
    assert (noise_bound(certificate) or 0.0) < 1


def test_a_short_row_outside_the_cone_is_seen_beside_long_ones():
    e1, e2, e3 = np.eye(3)
    X = np.array([1e9 * e1, 1e9 * e2, 5e8 * (e1 + e2), e3, 7 * e3, 50 * e3])
    for method in (METHODS["XRAY"], METHODS["FastGradient"]):
        certificate = certified(method, X, 2)
        found = next(
            c for c in certificate.checks if c.name == "rows within 1e-7 of the anchors' cone"
        )
        assert found.status == "fails" and found.value == pytest.approx(1)


def test_theorem_1_of_merit_asks_every_row_and_not_the_longest():
    rows = np.array([[1e9, 0.0], [0.0, 1.0], [0.3, 0.6]])
    certificate = certified(METHODS["MERIT"], rows, 2)
    found = next(c for c in certificate.checks if c.name.startswith("no noise"))
    assert found.status == "fails"


def test_of_two_equal_rows_one_may_leave_the_corner():
    """Nothing is said of an anchor alone when a copy of it was left out."""
    rng = np.random.default_rng(1)
    X = np.vstack([3 * np.eye(3), [[3.0, 0, 0]], 3 * rng.dirichlet(np.ones(3), 6)])
    certificate = certified(METHODS["SPA"], X, 3)
    assert "anchor_noise" not in certificate.bounds
    name = "anchor_group_noise"
    survived = certificate.bounds[name]
    assert certificate.measures["rows_near_anchors"] == 1
    assert certificate.measures["anchor_radius"] == 0
    assert "or a copy of it (there are 1)" in margin_check(certificate).note
    # The counterexample to the statement without the copy: moved by less, row 0 is a mixture.
    moved = X.copy()
    moved[0] += 0.99 * survived * np.array([-2.0, 1.0, 1.0]) / np.sqrt(6)
    alone = anchor_margins(as_blocks(moved), np.array([0]), row_lengths(moved), radius=0.0)
    assert alone.upper[0] < 1e-9


@pytest.mark.parametrize("sizes", [np.ones(5), np.array([1.0, 3.0, 4.0, 2.0, 0.5])])
def test_the_radius_is_that_of_the_rows_left_out(sizes):
    """Also where rows of other sizes are multiplied by factors first."""
    X = np.array([[0.0], [0.3], [0.31], [4.0], [9.0]]) * sizes[:, None]
    given = as_blocks(X), np.array([1]), row_lengths(X)
    found = anchor_margins(*given, radius=0.5, factors=1 / sizes)
    assert (found.left_out, found.radius) == (2, pytest.approx(0.3))
    assert found.lower[0] == pytest.approx(3.7, rel=0.02)
    alone = anchor_margins(*given, radius=0.0, factors=1 / sizes)
    assert alone.left_out == 0 and alone.upper[0] < 1e-12


@pytest.mark.parametrize("method", [METHODS[m] for m in ("XRAY", "SPA", "SPA scaled")])
def test_weights_as_large_as_1e40_change_no_anchor(method):
    """The measurement of a fit may move the size of weights into components; corners stay rows."""
    X = np.vstack([np.eye(3), [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]])
    plain = certified(method, X, 3)
    large = X * np.array([[1e-35], [1e-35], [1e-35], [1e5], [1e5]])
    found = certified(method, large, 3)
    if method is METHODS["SPA"]:
        assert margin_check(found).status == "fails"
        return
    name = "scaled_anchor_margin"
    np.testing.assert_allclose(sorted(found.measures[name]), sorted(plain.measures[name]))


@every_method
@pytest.mark.parametrize("X", [np.ones((6, 3)), np.array([[1.0, 2.0]]), np.zeros((4, 2))])
def test_nothing_is_infinite_where_all_rows_are_equal(method, X):
    certificate = certified(method, X, 1)
    numbers = [n for c in certificate.checks for n in (c.value, c.threshold) if n is not None]
    numbers += [*certificate.bounds.values(), *np.hstack([0.0, *certificate.measures.values()])]
    assert np.isfinite(numbers).all()
    assert margin_check(certificate).status != "holds" or noise_bound(certificate) > 0


def test_a_radius_that_swallows_everything_proves_nothing():
    X = np.random.default_rng(3).random((20, 3))
    model = MERIT(2, random_state=0, certify=False).fit(X)
    state = replace(model.factorization_.state, group_radius=1e6, duality_gap=0.0)
    fit = Fit(as_blocks(X), replace(model.factorization_, state=state), "simplex")
    assert model._certify(fit) == model._certify(Fit(as_blocks(X), model.factorization_, "simplex"))


def test_a_margin_below_the_noise_of_this_rank_is_vacuous():
    X = np.random.default_rng(5).random((60, 8))
    for method in (METHODS["SPA"], METHODS["XRAY"], METHODS["MERIT"]):
        certificate = certified(method, X, 2)
        assert noise_bound(certificate) is None
        assert "vacuous" in margin_check(certificate).note
        assert "Proved" not in certificate.verdict


@every_method
def test_components_that_are_not_the_named_rows_prove_nothing(method):
    X = np.random.default_rng(6).dirichlet(np.full(4, 0.3), 30)
    model = method(3).set_params(certify=False).fit(X)
    record = model.factorization_
    elsewhere = np.setdiff1d(np.arange(30), record.anchors)[:3]
    for forged in (
        replace(record, anchors=elsewhere),
        replace(record, anchors=record.anchors[:2]),
        replace(record, anchors=record.anchors + 30),
        replace(record, anchors=record.anchors - 30),
        replace(record, anchors=record.anchors * 1.0),
        replace(record, components=record.components * 1.001),
    ):
        certificate = model._certify(Fit(as_blocks(X), forged, model._constraint))
        assert [c.status for c in certificate.checks] == ["fails"] and not certificate.bounds
    other_data = model._certify(Fit(as_blocks(X[::-1].copy()), record, model._constraint))
    assert other_data.checks[0].status == "fails"


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_distances_are_rounded_up(storage):
    """Rows exactly explained: what is measured is rounding, and it is not called zero."""
    X = np.vstack([np.eye(3), np.random.default_rng(7).dirichlet(np.ones(3), 30)])
    record = SPA(3).fit(X).factorization_
    points = Explanation(Fit(as_blocks(storage(X)), record), "hull and 0")
    assert (points.distances[points.anchors] == 0).all()
    others = np.delete(points.distances, points.anchors)
    assert (others > 0).all() and others.max() < 1e-10


def test_anchors_survive_the_own_noise_of_each_row_one_by_one():
    """One row far off leaves no common noise to survive, but says nothing of the other anchors."""
    rng = np.random.default_rng(0)
    corners = 3 * np.eye(3, 6)
    rows = np.vstack([corners, rng.dirichlet(np.ones(3), 60) @ corners])
    rows += 0.01 * rng.random(rows.shape)
    rows[-1] = [0.5, 0.5, 0.5, 1, 1, 1]  # far from what the anchors explain
    certificate = SPA(3, certify="full").fit(rows).certificate_
    assert certificate.bounds["located_corners"] >= 2


@pytest.mark.parametrize(
    ("method", "k"),
    [(METHODS[m], 4) for m in ("SPA", "FastAnchor", "MERIT")] + [(METHODS["SPA"], 2)],
)
def test_corners_lie_within_their_distances_of_the_anchors(method, k):
    """Noise that hides which row is pure; its size is given here, so that the proof is about it."""
    located = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        corners = 2 * np.eye(k, 7) + 0.3 * rng.random((k, 7))
        weights = np.vstack([np.eye(k).repeat(5, axis=0), rng.dirichlet(np.full(k, 0.3), 60)])
        noise = 0.05 * rng.standard_normal((len(weights), 7))
        X = weights @ corners + noise
        model = method(k).set_params(certify=False).fit(X)
        model_of_rows = "hull and 0" if isinstance(model, SPA) else "hull"
        points = Explanation(Fit(as_blocks(X), model.factorization_), model_of_rows)
        distances = corner_distances(points, row_lengths(noise) / points.unit) * points.unit
        nearest = np.linalg.norm(X[model.anchors_, None] - corners, axis=2).min(axis=1)
        assert (nearest <= distances).all()
        located += np.isfinite(distances).sum()
    assert located >= 3 * k
