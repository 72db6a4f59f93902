"""Advice to fit unimodal components: only where columns or rows are in an order that has them."""

import numpy as np
import pytest

from provenmf import factorize
from provenmf.advice.peaks import peaks_note
from provenmf.data import as_blocks


def run(rng, bumps):
    """Return 40 mixtures of three profiles over 120 times, each of some Gaussian bumps, noisy."""
    times = np.linspace(0, 1, 120)
    centres = rng.uniform(0.1, 0.9, (bumps, 3, 1)) + np.array([[-0.2], [0.0], [0.2]]) * (bumps == 1)
    profiles = np.exp(-0.5 * ((times - np.clip(centres, 0, 1)) / 0.07) ** 2).sum(axis=0)
    clean = rng.random((40, 3)) @ profiles
    return np.maximum(clean + 0.005 * clean.max() * rng.standard_normal(clean.shape), 0)


@pytest.mark.parametrize("seed", range(3))
def test_single_peaks_are_advised_along_their_axis(seed):
    data = run(np.random.default_rng(seed), 1)
    assert "(3, unimodal=True).fit(X) " in peaks_note(as_blocks(data), 3)
    turned = np.ascontiguousarray(data.T)
    assert "(3, unimodal=True).fit(X.T) " in peaks_note(as_blocks(turned), 3)
    below = data - 0.004 * data.max()
    assert "unimodal=True, clip_negative=True" in peaks_note(as_blocks(below), 3)


@pytest.mark.parametrize("seed", range(3))
def test_several_peaks_and_columns_without_order_are_not(seed):
    rng = np.random.default_rng(seed)
    assert peaks_note(as_blocks(run(rng, 4)), 3) == ""
    shuffled = rng.permutation(rng.permutation(run(rng, 1)).T).T
    assert peaks_note(as_blocks(shuffled), 3) == ""


def test_factorize_says_it():
    data = run(np.random.default_rng(0), 1)
    assert "unimodal=True" in factorize(data, 3, random_state=0).notes[-1]
    assert not any("unimodal" in note for note in factorize(data, 3, unimodal=True).notes)
