"""Where MERIT starts, and the number of anchors without the truth."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import MERIT
from provenmf.data import as_blocks
from provenmf.datasets.separable import dirichlet_mixtures, middle_points
from provenmf.errors import InvalidInput
from provenmf.linalg.hull import nearest_points
from provenmf.methods.merit import settings, start


def gaussian_middle_points(snr, seed):
    sample = middle_points(10, 50, random_state=seed)
    noise = np.random.default_rng(seed + 1).standard_normal(sample.data.shape)
    sigma = np.sqrt(np.mean(sample.data**2) / 10 ** (snr / 10))
    return replace(sample, data=sample.data + sigma * noise)


def plainly_grown(X, number):
    """Every distance measured again for every corner."""
    corners = [int(np.argmax((X**2).sum(axis=1)))]
    while len(corners) < number:
        corners.append(int(np.argmax(nearest_points(X, X[corners])[0])))
    return corners


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_lazy_distances_grow_the_plain_hull(storage):
    X = dirichlet_mixtures(1500, 12, 8, snr=8, random_state=0).data
    found = start.grow_hull(as_blocks(storage(X), block_rows=400), 12)
    assert found.tolist() == plainly_grown(X, 12)
    exact = dirichlet_mixtures(200, 10, 5, random_state=0)
    assert set(start.grow_hull(as_blocks(exact.data), 20)) == set(exact.anchors)
    assert start.grow_hull(as_blocks(np.ones((4, 3))), 3).tolist() == [0]


def test_extreme_rows_are_those_of_all_directions():
    X = np.random.default_rng(0).standard_normal((500, 3)) + 100
    rng = np.random.default_rng(1)
    directions = rng.standard_normal((3, settings.SETTINGS.directions)).astype(np.float32)
    along = (X - X.mean(axis=0)) @ directions
    winners = np.concatenate([along.argmax(axis=0), along.argmin(axis=0)])
    found = start.extreme_counts(as_blocks(X, block_rows=120), np.random.default_rng(1))
    np.testing.assert_array_equal(found, np.bincount(winners, minlength=500))


@pytest.mark.parametrize(
    "sample",
    [
        middle_points(10, 50, snr=12, random_state=0),
        middle_points(10, 50, snr=40, random_state=0),
        gaussian_middle_points(15, 0),
        dirichlet_mixtures(200, 80, 40, snr=10, random_state=0),
    ],
    ids=["Fig. 2, 12 dB", "Fig. 2, 40 dB", "Gaussian, 15 dB", "Table I"],
)
def test_number_on_the_papers_kinds_of_data(sample):
    model = MERIT(random_state=0, certify=False).fit(sample.data)
    assert set(model.anchors_) == set(sample.anchors)
    assert any("Number of anchors:" in note for note in model.factorization_.notes)


@pytest.mark.parametrize("lam", ["auto", "paper"])
def test_noise_without_anchors_is_refused_with_the_evidence(lam):
    X = np.random.default_rng(0).random((60, 20))
    with pytest.raises(InvalidInput, match=r"n_components=None cannot be found.* times \(2 are"):
        MERIT(lam=lam, random_state=0).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_one_anchor(dtype):
    assert MERIT(certify=False).fit(np.full((5, 3), 1.8448, dtype)).n_components_ == 1
