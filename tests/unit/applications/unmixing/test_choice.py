"""The choice of endmembers: means of pixels, or corners beyond them where none is pure."""

import numpy as np
import pytest

from provenmf.applications import unmix
from provenmf.applications.unmixing.choice import Plane
from provenmf.datasets.cubes import mixed_cube, smooth_spectra
from provenmf.metrics.recovery import compare_endmembers

QUICK = {"certify": False, "evidence": False}

NOTE = "most likely simplex"


def without_pure_pixels(k=3, snr=30.0, seed=0):
    return mixed_cube(40, 40, 40, k, snr=snr, pure_share=0.0, most=0.75, random_state=seed)


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("snr", [20.0, 40.0])
def test_corners_beyond_the_pixels_are_found(k, snr):
    made = without_pure_pixels(k, snr, seed=1)
    found = unmix(made.cube, k, true_endmembers=made.endmembers, **QUICK)
    assert any(NOTE in note for note in found.notes) and found.n_averaged is None
    anchors = made.cube.reshape(1600, -1)[found.anchor_pixels]
    single = compare_endmembers(anchors, made.endmembers).mean_angle
    assert found.agreement.mean_angle < single / 2
    np.testing.assert_allclose(found.abundances.sum(axis=1), 1)


@pytest.mark.parametrize(("k", "least"), [(3, 0.5), (3, 0.9), (5, 0.7)])
def test_pixels_of_different_brightness_without_pure_ones(k, least):
    """Noise is larger along the rays to zero; once it counted in all directions of the plane."""
    made = without_pure_pixels(k, snr=35.0)
    light = np.random.default_rng(0).uniform(least, 1.0, (40, 40, 1))
    found = unmix(light * made.cube, k, true_endmembers=made.endmembers, **QUICK)
    assert any(NOTE in note for note in found.notes) and found.agreement.mean_angle < 0.02


def test_pixels_of_different_brightness_with_pure_ones_are_averaged():
    made = mixed_cube(40, 40, 40, 3, random_state=1)
    light = np.random.default_rng(0).uniform(0.5, 1.0, (40, 40, 1))
    found = unmix(light * made.cube, 3, **QUICK)
    assert found.n_averaged is not None


@pytest.mark.parametrize("how", ["darker", "anything", "brighter or darker"])
def test_odd_pixels_do_not_mislead(how):
    """Pixels off the plane once made the likelihood choose corners ten times as far away."""
    made = mixed_cube(50, 50, 40, 3, random_state=3)
    pixels, rng = made.cube.reshape(2500, -1).copy(), np.random.default_rng(0)
    odd = pixels[::10]
    pixels[::10] = {
        "darker": odd * rng.uniform(0.3, 1.0, (250, 1)),
        "anything": np.where(np.arange(250)[:, None] % 8, odd, rng.random(odd.shape)),
        "brighter or darker": odd * rng.uniform(0.8, 1.2, (250, 1)),
    }[how]
    cube = pixels.reshape(50, 50, 40)
    found = unmix(cube, 3, true_endmembers=made.endmembers, **QUICK)
    assert found.agreement.mean_angle < (0.03 if how == "anything" else 0.003)


@pytest.mark.parametrize("seed", [1, 3])
def test_odd_pixels_do_not_become_materials(seed):
    """Eight pixels of other materials in 1600: some are purest, but do not predict the others."""
    made = mixed_cube(40, 40, 60, 5, snr=25.0, pure_share=0.005, random_state=seed)
    pixels, rng = made.cube.reshape(1600, -1).copy(), np.random.default_rng(seed)
    odd = rng.random((8, 1)) * smooth_spectra(8, 60, rng)
    pixels[rng.choice(1600, 8, replace=False)] = odd
    cube = pixels.reshape(40, 40, 60)
    found = unmix(cube, 5, true_endmembers=made.endmembers, **QUICK)
    assert found.agreement.mean_angle < 0.03
    assert found.agreement.mean_angle < (
        unmix(cube, 5, vertices=True, true_endmembers=made.endmembers, **QUICK).agreement.mean_angle
    )


@pytest.mark.parametrize("seed", [2, 3])
def test_pure_pixels_beside_mixtures_that_are_far_from_all_facets(seed):
    """A simplex of the mixtures alone is likelier, but leaves the pure pixels outside."""
    rng = np.random.default_rng(seed)
    truth = mixed_cube(5, 20, 60, 4, random_state=seed).endmembers
    abundances = rng.dirichlet(np.full(4, 3.0), 2500)
    abundances[:20] = np.eye(4)[np.arange(20) % 4]
    signal = abundances @ truth
    signal += np.sqrt((signal**2).mean() / 1000) * rng.standard_normal(signal.shape)
    found = unmix(signal.reshape(50, 50, 60), 4, true_endmembers=truth, **QUICK)
    assert found.agreement.mean_angle < 0.01


def test_where_spectra_vary_the_other_way_is_compared():
    """The materials leave more than noise, so groups are taken; few pixels are pure."""
    made = mixed_cube(40, 40, 40, 4, snr=40.0, pure_share=0.003, random_state=0)
    rng = np.random.default_rng(0)
    waves = np.cos(np.pi * np.arange(4)[:, None] * np.linspace(0, 1, 40))
    varying = made.cube * (1 + 0.05 * rng.standard_normal((40, 40, 4)) @ waves)
    found = unmix(varying, 4, true_endmembers=made.endmembers, **QUICK)
    assert found.group_sizes is not None
    assert any("compare with vertices=True" in note for note in found.notes)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_is_dark_has_no_place_in_the_plane_of_mean_brightness():
    plane = Plane(np.array([1.0, 1.0]), np.array([[1.0, -1.0]]), np.eye(1), flat=False)
    found = plane.points(np.array([[0.0, 0.0], [3.0, 1.0], [-1.0, 0.0]]))
    np.testing.assert_allclose(found, [[np.nan], [0.5], [np.nan]])
