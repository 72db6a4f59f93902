"""Means of the rows around anchors in place of the anchors."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import MERIT, SPA, XRAY, FastAnchor, certify, load
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.methods.separable.vertices import average_vertices, barycentric

METHODS = [SPA, MERIT, XRAY, FastAnchor]


def noisy_mixtures(noise=0.02, *, scaled=False, n=400, k=3, d=12, seed=0):
    """Nonnegative rows, a tenth of them pure, the true vertices, and the rows' sizes."""
    rng = np.random.default_rng(seed)
    vertices = rng.uniform(0.2, 1.0, (k, d))
    vertices[:, :k] = np.eye(k)
    vertices /= vertices.sum(axis=1, keepdims=True)
    weights = rng.dirichlet(np.ones(k), n)
    weights[: n // 10] = np.eye(k)[np.arange(n // 10) % k]
    sizes = rng.uniform(0.5, 2.0, n) if scaled else np.ones(n)
    rows = sizes[:, None] * (weights @ vertices) + noise / d * rng.standard_normal((n, d))
    return np.maximum(rows, 0.0), vertices, sizes


def distance(found, vertices):
    shapes = found / found.sum(axis=1, keepdims=True)
    return np.linalg.norm(shapes[:, None] - vertices[None], axis=2).min(axis=0).max()


@pytest.mark.parametrize("method", METHODS)
def test_vertices_are_closer_to_the_truth_and_anchors_stay_rows(method):
    rows, truth, _ = noisy_mixtures()
    plain = method(n_components=3).fit(rows)
    averaged = method(n_components=3, vertices=True).fit(rows)
    np.testing.assert_array_equal(averaged.anchors_, plain.anchors_)
    assert distance(averaged.components_, truth) < distance(plain.components_, truth) / 1.5
    np.testing.assert_allclose(averaged.transform(rows), averaged.factorization_.weights)
    assert "means of" in averaged.factorization_.notes[-1]


def test_vertices_are_means_of_their_members():
    rows, _, _ = noisy_mixtures()
    errors = 0.02 / 12 * np.random.default_rng(1).uniform(0.5, 2, 400)
    found = average_vertices(as_blocks(rows, block_rows=70), SPA(3).fit(rows).anchors_, errors)
    precise = found.members / errors[:, None] ** 2
    np.testing.assert_allclose(found.points, (precise / precise.sum(axis=0)).T @ rows)
    assert found.n_members.min() > 5


def test_barycentric_coordinates():
    vertices = np.random.default_rng(0).standard_normal((4, 6))
    weights = np.random.default_rng(1).dirichlet(np.ones(4), 10)
    matrix, offset = barycentric(vertices)
    np.testing.assert_allclose(weights @ vertices @ matrix + offset, weights, atol=1e-10)


@pytest.mark.parametrize(
    "model", [XRAY(3), SPA(3, scale_rows=True), FastAnchor(3, scale_rows=True)]
)
def test_rows_of_any_size(model):
    rows, truth, sizes = noisy_mixtures(scaled=True)
    anchors = model.fit(rows)
    before = distance(anchors.components_, truth)
    averaged = model.set_params(vertices=True).fit(rows)
    assert distance(averaged.components_, truth) < before
    lengths = averaged.components_.sum(axis=1)
    assert ((lengths > sizes.min()) & (lengths < sizes.max())).all()


def test_weights_that_sum_to_less_than_one():
    rows, truth, _ = noisy_mixtures(noise=0.01)
    shrunk = np.vstack([rows, 0.5 * rows[::3], 0.2 * rows[::4]])
    averaged = SPA(3, vertices=True).fit(shrunk)
    assert distance(averaged.components_, truth) < distance(shrunk[averaged.anchors_], truth)


@pytest.mark.parametrize("method", METHODS)
def test_the_certificate_speaks_of_the_anchors(method):
    rows, _, _ = noisy_mixtures()
    plain = method(3).fit(rows).certificate_
    averaged = method(3, vertices=True).fit(rows)
    certificate = averaged.certificate_
    first = certificate.checks[0]
    assert (first.name, first.status) == ("components are rows of the data", "fails")
    assert "about these rows alone" in certificate.verdict
    margins = [name for name in plain.measures if "margin" in name or "residual" in name]
    assert margins
    for name in margins:  # of the same rows, whatever the components are
        if name != "weights_optimality_residual":
            np.testing.assert_allclose(certificate.measures[name], plain.measures[name], rtol=1e-6)


def test_the_record_keeps_what_was_asked_for(tmp_path):
    rows, _, _ = noisy_mixtures()
    found = SPA(3, vertices=True, row_errors=np.full(400, 0.002)).fit(rows).factorization_
    found.save(tmp_path / "found.npz")
    again = certify(rows, load(tmp_path / "found.npz"))
    assert again.checks[:3] == found.certificate.checks[:3]


def test_errors_of_rows_decide():
    rows, truth, _ = noisy_mixtures(noise=0.005)
    errors = np.full(400, 0.005 / 12)
    errors[10:40] = 0.006  # most of the pure rows are spoilt, and known to be
    rows[10:40] += 0.006 * np.random.default_rng(1).standard_normal((30, 12))
    rows = np.maximum(rows, 0.0)
    known = SPA(3, vertices=True, row_errors=errors).fit(rows)
    alike = SPA(3, vertices=True, row_errors=np.full(400, 0.002)).fit(rows)
    assert distance(known.components_, truth) < distance(alike.components_, truth)
    assert distance(alike.components_, truth) < distance(rows[known.anchors_], truth)
    with pytest.raises(InvalidInput, match="one number"):
        SPA(3, vertices=True, row_errors=errors[:-1]).fit(rows)
    with pytest.raises(InvalidInput, match="one number"):
        SPA(3, vertices=True, row_errors=np.full(400, np.nan)).fit(rows)
    with pytest.raises(InvalidInput, match="no vertices are asked for"):
        SPA(3, row_errors=errors).fit(rows)


def hostile_rows(kind):
    rows, _, _ = noisy_mixtures(0.0 if kind == "no noise" else 0.02, n=300)
    if kind == "repeated":
        return np.random.default_rng(3).permutation(np.repeat(rows, 3, axis=0))
    if kind == "odd rows":
        rows[5:7], rows[7] = 0, 0.5 * np.eye(12)[5]
    elif kind == "any size":
        rows *= 10 ** np.random.default_rng(3).uniform(-6, 6, (300, 1))
    elif kind == "a long column":  # the noise of the others is below its rounding
        rows[:, 0] *= 1e8
    return rows.astype(np.float32) if kind == "single precision" else rows


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        *((SPA, kind) for kind in ("repeated", "any size", "a long column", "single precision")),
        *((method, "odd rows") for method in METHODS),
        (SPA, "no noise"),
    ],
)
def test_sparse_rows_disk_and_dask_have_the_same_vertices(method, kind, tmp_path):
    dask = pytest.importorskip("dask.array")
    rows = hostile_rows(kind)
    np.save(tmp_path / "rows.npy", rows)
    model = method(3, vertices=True, certify=False)
    here = model.fit(rows).factorization_
    assert np.isfinite(here.components).all()
    chunks = dask.from_array(rows, chunks=(77, -1))
    places = [tmp_path / "rows.npy", chunks, chunks.map_blocks(sp.csr_array)]
    for data in [sp.csr_array(rows), *places]:
        there = model.fit(data).factorization_
        np.testing.assert_array_equal(there.anchors, here.anchors)
        tolerance = (1e-5 if rows.dtype == np.float32 else 1e-9) * np.abs(here.components).max()
        np.testing.assert_allclose(there.components, here.components, rtol=0, atol=tolerance)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_noise_that_grows_with_the_rows(power):
    """Found from the rows: constant, as the root of their sums, or as the sums."""
    exact, truth, _ = noisy_mixtures(0.0)
    off = []
    for seed in range(5, 9):
        rng = np.random.default_rng(seed)
        sizes = 10 ** rng.uniform(-2, 2, (400, 1))
        noise = 0.002 * sizes**power * rng.standard_normal(exact.shape)
        rows = np.maximum(sizes * exact + noise, 0.0)
        rows = rows[(sizes[:, 0] > 1) | (power == 1)]
        found = XRAY(3, vertices=True, certify=False).fit(rows)
        off.append([distance(x, truth) for x in (found.components_, rows[found.anchors_])])
    averaged, single = np.mean(off, axis=0)
    assert averaged < single / 1.5


def test_where_noise_cannot_be_measured():
    with pytest.raises(InvalidInput, match="row_errors"):
        SPA(3, vertices=True).fit(np.random.default_rng(0).random((20, 3)))
    exact = SPA(2, vertices=True).fit(np.vstack([np.eye(2), np.full((3, 2), 0.5)]) @ np.eye(2, 5))
    np.testing.assert_allclose(exact.components_, np.eye(2, 5), atol=1e-9)
    one = SPA(1, vertices=True).fit(np.ones((4, 2)))
    assert one.components_.tolist() == [[1.0, 1.0]]
    assert one.certificate_.checks[0].name != "components are rows of the data"
