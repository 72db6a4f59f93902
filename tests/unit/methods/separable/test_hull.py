"""A hull that grows: against the plain loop, degenerate data."""

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.methods.separable import hull as hull_growth
from provenmf.methods.separable.hull import grow_hull, squared_distances


def plainly_grown(X, n_corners):
    """Every distance measured again for every corner."""
    corners = [int(np.argmax(np.linalg.norm(X - X.mean(axis=0), axis=1)))]
    while len(corners) < n_corners:
        corners.append(int(np.argmax(squared_distances(as_blocks(X), X[corners]))))
    return corners


@pytest.mark.parametrize("batch", [3, 512])
def test_lazy_distances_choose_the_same_corners(batch, monkeypatch):
    monkeypatch.setattr(hull_growth, "FIRST_BATCH", batch)
    monkeypatch.setattr(hull_growth, "FETCHED", 2 * batch)
    X = dirichlet_mixtures(300, 12, 8, snr=8, random_state=0).data
    assert grow_hull(as_blocks(X), 12).tolist() == plainly_grown(X, 12)
    assert grow_hull(as_blocks(sp.csr_array(X)), 12).tolist() == plainly_grown(X, 12)


@pytest.mark.parametrize("last", [0, 4, 64])
def test_a_pass_finds_what_fetched_rows_find(monkeypatch, last):
    """However few rows are fetched before one pass measures all that may be farther."""
    monkeypatch.setattr(hull_growth, "FIRST_BATCH", 4)
    monkeypatch.setattr(hull_growth, "FETCHED", 8)
    monkeypatch.setattr(hull_growth, "LAST_BATCH", last)
    X = np.random.default_rng(1).random((300, 5))
    for data in (X, sp.csr_array(X)):
        assert grow_hull(as_blocks(data, block_rows=70), 12).tolist() == plainly_grown(X, 12)


def test_finds_exact_anchors_and_no_more():
    sample = dirichlet_mixtures(200, 10, 5, random_state=0)
    assert set(grow_hull(as_blocks(sample.data), 20)) == set(sample.anchors)


def test_does_not_depend_on_the_origin():
    X = dirichlet_mixtures(200, 10, 6, snr=10, random_state=1).data
    np.testing.assert_array_equal(grow_hull(as_blocks(X), 6), grow_hull(as_blocks(X - 7.0), 6))


def test_equal_rows_have_one_corner():
    assert grow_hull(as_blocks(np.ones((4, 3))), 3).tolist() == [0]
