"""Endmembers beyond the pixels where none is pure."""

import numpy as np
import pytest

from provenmf.applications import unmix
from provenmf.datasets.cubes import mixed_cube
from provenmf.metrics.unmixing import compare_endmembers

NOTE = "most likely simplex"


def without_pure_pixels(k=3, snr=30.0, seed=0):
    return mixed_cube(40, 40, 40, k, snr=snr, pure_share=0.0, most=0.75, random_state=seed)


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("snr", [20.0, 40.0])
def test_corners_beyond_the_pixels_are_found(k, snr):
    made = without_pure_pixels(k, snr, seed=1)
    found = unmix(made.cube, k, true_endmembers=made.endmembers, certify=False)
    assert any(NOTE in note for note in found.notes) and found.n_averaged is None
    anchors = made.cube.reshape(1600, -1)[found.anchor_pixels]
    single = compare_endmembers(anchors, made.endmembers).mean_angle
    assert found.agreement.mean_angle < single / 2
    np.testing.assert_allclose(found.abundances.sum(axis=1), 1)


@pytest.mark.parametrize("snr", [20.0, 40.0])
def test_pure_pixels_are_averaged_as_before(snr):
    found = unmix(mixed_cube(40, 40, 40, 4, snr=snr, random_state=1).cube, 4, certify=False)
    assert found.n_averaged is not None and not any(NOTE in note for note in found.notes)


def test_pixels_of_different_brightness_lie_in_no_plane():
    made = without_pure_pixels()
    light = np.random.default_rng(0).uniform(0.4, 1.0, (40, 40, 1))
    found = unmix(light * made.cube, 3, certify=False)
    assert not any(NOTE in note for note in found.notes)


def test_odd_pixels_are_no_reason():
    made = mixed_cube(50, 50, 40, 3, random_state=2)
    pixels = made.cube.reshape(2500, -1).copy()
    pixels[::62] *= np.random.default_rng(0).uniform(0.3, 1.0, (41, 1))
    found = unmix(pixels.reshape(50, 50, 40), 3, certify=False)
    assert not any(NOTE in note for note in found.notes)


def test_error_bars_are_those_of_the_corners():
    made = without_pure_pixels()
    found = unmix(made.cube, 3, certify=False, n_resamples=10)
    assert found.error_bars.unstable == ()
    assert np.median(found.error_bars.standard_errors) < 0.01
