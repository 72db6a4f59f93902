"""No least-squares problem is solved twice on the way to an answer."""

import numpy as np
import pytest

from provenmf import XRAY
from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.linalg import nnls
from provenmf.methods.merit.start import start_from_anchors


@pytest.fixture
def rows_solved(monkeypatch):
    """How many rows each call of the solver behind all constrained least squares had."""
    solved, original = [], nnls._solve

    def counting(gram, cross, *more):
        solved.append(len(cross))
        return original(gram, cross, *more)

    monkeypatch.setattr(nnls, "_solve", counting)
    return solved


def test_xray_solves_once_for_each_anchor_and_keeps_the_last(rows_solved):
    data = np.maximum(dirichlet_mixtures(200, 12, 5, snr=20, random_state=0).data, 0)
    model = XRAY(5, certify=False)
    weights = model.fit_transform(data)
    assert rows_solved == [200, *[1, 200] * 4]  # the one row: its residual is the next ray
    np.testing.assert_allclose(weights, model.transform(data), atol=1e-12)


def test_the_start_of_merit_keeps_its_mixtures(rows_solved):
    data = dirichlet_mixtures(200, 12, 5, snr=20, random_state=0).data
    start = start_from_anchors(as_blocks(data), 5)
    rows_solved.clear()
    weights = start.mixtures.array(lambda part: part[0])
    assert rows_solved == []
    residuals = data - weights @ data[start.anchors]
    np.testing.assert_allclose((residuals**2).sum(axis=1), start.squared_residuals, atol=1e-10)
    assert start.by(start.anchors[:3]).mixtures[0][0].shape == (200, 3) and rows_solved == [200]
