"""Starts: right shapes, the same as scikit-learn's own, usable by scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from provenmf import HALS
from provenmf.data import as_blocks
from provenmf.methods.alternating import starts
from provenmf.methods.alternating.starts import start_components, start_factors


def data():
    rng = np.random.default_rng(0)
    return rng.random((40, 4)) @ rng.random((4, 25)) * (rng.random((40, 25)) < 0.7)


class FixedSeed:
    """A generator whose first integer is the seed given to scikit-learn."""

    def integers(self, high):
        return 7


def test_nndsvda_equals_scikit_learns():
    X = data()
    weights, components = start_factors(as_blocks(X), 4, "nndsvda", FixedSeed())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # three steps are enough to compare
        ours = NMF(4, init="custom", max_iter=3).fit_transform(X, W=weights, H=components)
        theirs = NMF(4, init="nndsvda", max_iter=3, random_state=7).fit_transform(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_equal_singular_values_are_not_left_to_single_precision():
    identity = np.eye(15, 6)
    single, double = (
        start_factors(as_blocks(identity.astype(dtype)), 6, "nndsvda", np.random.default_rng(23))
        for dtype in (np.float32, np.float64)
    )
    for narrow, wide in zip(single, double):
        np.testing.assert_allclose(narrow, wide, atol=1e-6)


def test_fewer_directions_than_components_are_filled_up():
    X = np.repeat(np.eye(3), 5, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # cone NMF's own warning would say what is not so here
        components = start_components(as_blocks(X), 5, "cones", np.random.default_rng(0))
    assert components.shape == (5, 3) and components.any(axis=1).all()


@pytest.mark.parametrize("init", ["nndsvd", "nndsvda"])
def test_more_components_than_singular_vectors(init):
    """Seven rows of two columns have two singular pairs; the third component is a row."""
    X = np.random.default_rng(0).random((7, 2))
    weights, components = start_factors(as_blocks(X), 3, init, np.random.default_rng(0))
    assert weights.shape == (7, 3) and components.any(axis=1).all()
    assert (components[2] == X).all(axis=1).any()
    assert HALS(3, init=init, random_state=0).fit(X).n_components_ == 3


def test_a_sample_of_large_data_gathers_a_bounded_number_of_entries(monkeypatch):
    blocks = as_blocks(np.ones((1000, 100)))
    assert starts.sample_size(blocks, 4) == (200, 40)  # a fifth, at least 10 per component
    for entries, rows in ((12_000, 120), (100, 40)):
        monkeypatch.setattr(starts, "SETTINGS", starts.Settings(entries=entries))
        assert starts.sample_size(blocks, 4) == (rows, 40)
