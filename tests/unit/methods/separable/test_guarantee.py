"""Measured distances against quadratic programs; conditions that hold, fail, and are sound."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

import provenmf.methods.separable.margins as module
from provenmf import MERIT, SPA, XRAY, FastAnchor, FastGradient
from provenmf.certificate.measurement import Fit
from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods.separable.guarantee import certify_spa, robustness, spa_noise_allowed
from provenmf.results import Factorization

HEAVY = 1e4  # weight of the sum-to-one equation in the plain least squares below


def plain_distance(row, corners, convex):
    """Distance to the cone or, by a heavy extra equation, to the hull of the corners."""
    matrix, right = corners.T, row
    if convex:
        matrix = np.vstack([matrix, np.full(len(corners), HEAVY)])
        right = np.append(row, HEAVY)
    return np.linalg.norm(row - nnls(matrix, right)[0] @ corners)


@pytest.mark.parametrize("scale_rows", [False, True])
@pytest.mark.parametrize("model", ["hull", "hull and 0", "cone"])
def test_distances(model, scale_rows):
    rng = np.random.default_rng(0)
    data = rng.random((15, 6))
    components = rng.random((3, 6))
    if scale_rows:
        components /= components.sum(axis=1, keepdims=True)
    corners = np.vstack([components, np.zeros(6)]) if model == "hull and 0" else components
    rows = data / data.sum(axis=1, keepdims=True) if scale_rows else data
    expected = [plain_distance(row, corners, model != "cone") for row in rows]
    for storage in (np.asarray, sp.csr_array):
        blocks = as_blocks(storage(data), block_rows=4)
        fit = Fit(blocks, Factorization("x", np.zeros((15, 3)), components), least_squares=False)
        found = fit.nearest_to(components, model, scale_rows=scale_rows)[0]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def check(fitted, name):
    return next(c for c in fitted.certificate_.checks if name in c.name)


@pytest.mark.parametrize("estimator", [SPA(4), FastAnchor(4)], ids=["SPA", "FastAnchor"])
def test_tolerance_holds_without_noise_and_fails_in_noise(estimator):
    clean = dirichlet_mixtures(60, 12, 4, random_state=0).data
    noisy = dirichlet_mixtures(60, 12, 4, snr=5, random_state=0).data
    assert check(estimator.fit(clean), "tolerance").status == "holds"
    assert estimator.certificate_.measures["separability_residual"] < 1e-7
    assert check(estimator.fit(noisy), "tolerance").status == "fails"


@pytest.mark.parametrize("estimator", [SPA(3), FastAnchor(3)], ids=["SPA", "FastAnchor"])
def test_where_the_condition_holds_other_noise_of_that_size_changes_nothing(estimator):
    rng = np.random.default_rng(1)
    weights = np.vstack([np.eye(3), 0.2 / 3 + 0.8 * rng.dirichlet(np.ones(3), 40)])
    components = np.eye(3, 6) + 0.1 * rng.random((3, 6))
    allowed = (
        spa_noise_allowed(components)
        if isinstance(estimator, SPA)
        else robustness(components / 1.2) ** 3 / 60
    )
    directions = rng.standard_normal((43, 6))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for share in (0.2, 0.4):
        data = weights @ components + share * allowed * directions
        estimator.fit(data)
        assert set(estimator.anchors_.tolist()) == {0, 1, 2}
        assert check(estimator, "tolerance").status == "holds"


def test_dependent_components_fail():
    with pytest.warns(UserWarning):
        fitted = SPA(2).fit(np.ones((4, 3)))
    assert check(fitted, "independent").status == "holds"  # one component is left
    sample = dirichlet_mixtures(20, 3, 5, random_state=0)
    assert spa_noise_allowed(sample.components) == 0


@pytest.mark.parametrize("estimator", [XRAY(3), FastGradient(3, random_state=0)])
def test_cone(estimator):
    rng = np.random.default_rng(3)
    data = dirichlet_mixtures(30, 8, 3, random_state=3).data * rng.uniform(0.5, 2, (30, 1))
    assert check(estimator.fit(data), "cone").status == "holds"
    data += 0.1 * rng.random(data.shape)
    assert check(estimator.fit(data), "cone").status == "fails"


def margins_of(certificate):
    (found,) = [v for n, v in certificate.measures.items() if n.endswith("anchor_margin")]
    return np.array(found)


METHODS = {
    "SPA": SPA(4),
    "SPA scaled": SPA(4, scale_rows=True),
    "FastAnchor": FastAnchor(4),
    "XRAY": XRAY(4),
    "FastGradient": FastGradient(4, random_state=0),
    "MERIT": MERIT(4, random_state=0),
}


@pytest.mark.parametrize("name", METHODS)
def test_margins_hold_without_noise_and_fail_for_wrong_anchors(name):
    estimator, scaled = METHODS[name], name in ("SPA scaled", "XRAY", "FastGradient")
    sample = dirichlet_mixtures(60, 12, 4, random_state=5)
    fitted = estimator.fit(sample.data)
    assert check(fitted, "survive").status == "holds"
    assert len(margins_of(fitted.certificate_)) == 4
    prefix = "scaled_" if scaled else ""
    assert fitted.certificate_.bounds[f"{prefix}anchor_noise"] > 0
    assert ("divided by their sums" in check(fitted, "survive").note) == scaled

    wrong = np.append(sample.anchors[:3], np.setdiff1d(np.arange(60), sample.anchors)[0])
    spoilt = replace(
        fitted.factorization_, components=sample.data[wrong], anchors=wrong, certificate=None
    )
    certificate = estimator._certify(Fit(as_blocks(sample.data), spoilt, estimator._constraint))
    assert certificate.checks[0].status == "fails"
    assert margins_of(certificate)[3] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", ["SPA", "SPA scaled", "FastAnchor", "MERIT"])
@pytest.mark.parametrize("seed", range(2))
def test_margins_are_sound_under_bounded_noise(name, seed):
    """A row whose margin exceeds twice the true noise is a true anchor, whatever was chosen."""
    rng = np.random.default_rng(seed)
    clean = dirichlet_mixtures(40, 10, 4, random_state=rng)
    clean_data = clean.data / clean.data.sum(axis=1, keepdims=True)
    directions = rng.standard_normal(clean_data.shape)
    directions -= directions.mean(axis=1, keepdims=True)  # sums stay one
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for delta in (0.002, 0.01, 0.03):
        fitted = METHODS[name].fit(clean_data + delta * directions)
        margins = margins_of(fitted.certificate_)
        certified = fitted.anchors_[margins > 2 * delta]
        assert set(certified.tolist()) <= set(clean.anchors.tolist())
        if delta == 0.002:
            assert len(certified) > 0


def test_margins_are_not_measured_with_very_many_columns(monkeypatch):
    monkeypatch.setattr(module, "SETTINGS", module.Settings(columns=5))
    fitted = SPA(2).fit(dirichlet_mixtures(20, 6, 2, random_state=0).data)
    assert check(fitted, "survive").status == "unknown"


def test_rows_with_negative_sums_have_no_margin_in_a_cone():
    rng = np.random.default_rng(0)
    fitted = FastGradient(3, random_state=0, max_iter=50).fit(rng.standard_normal((20, 5)))
    assert check(fitted, "survive").status == "unknown"


def test_a_component_without_a_positive_sum_is_not_called_dependent():
    """Rows divided by their sums leave zeros of it, which say nothing about the components."""
    rows = np.array([[1.0, 0.0], [1.0, -2.0], [0.5, -0.5]])
    record = Factorization("spa", np.eye(3)[:, :2], rows[:2], anchors=np.arange(2))
    said = certify_spa(Fit(as_blocks(rows), record), scale_rows=True)
    assert next(c.status for c in said.checks if c.name.endswith("independent")) == "holds"


def test_robustness_is_the_least_distance_to_the_other_face():
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]])
    assert robustness(triangle) == pytest.approx(12 / np.hypot(3, 3))
    assert robustness(np.array([[3.0, 4.0]])) == pytest.approx(5)
