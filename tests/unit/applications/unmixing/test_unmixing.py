import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from provenmf import load
from provenmf.applications import unmix
from provenmf.applications.unmixing.noise import Spectra
from provenmf.applications.unmixing.notes import averaging_note
from provenmf.applications.unmixing.points import group_rows
from provenmf.datasets.cubes import mixed_cube
from provenmf.errors import InvalidInput

QUICK = {"certify": False, "evidence": False}


@pytest.fixture(scope="module")
def scene():
    """A 20 x 30 image of three materials with pure corners and a little noise."""
    rng = np.random.default_rng(0)
    endmembers = rng.uniform(0.1, 1.0, (3, 40))
    abundances = rng.dirichlet(0.5 * np.ones(3), 600)
    abundances[:30] = np.repeat(np.eye(3), 10, axis=0)
    pixels = abundances @ endmembers + 0.002 * rng.standard_normal((600, 40))
    return pixels.reshape(20, 30, 40), endmembers, abundances


@pytest.mark.parametrize("group", [True, False])
def test_endmembers_and_abundances_are_found(scene, group):
    cube, endmembers, abundances = scene
    truth = {"true_endmembers": endmembers, "true_abundances": abundances}
    result = unmix(cube, 3, method="spa", group=group, **truth, **QUICK)
    assert result.agreement.mean_angle < 0.02
    assert result.agreement.abundance_rmse < 0.02
    np.testing.assert_allclose(result.abundances.sum(axis=1), 1)
    assert result.maps().shape == (3, 20, 30)


def test_grouping_keeps_an_odd_pixel_from_becoming_an_endmember(scene):
    cube, endmembers, _ = scene
    odd = cube.copy()
    odd[10, 10] = 5 * np.linspace(0, 1, 40)
    alone = unmix(odd, 3, method="spa", group=False, true_endmembers=endmembers, **QUICK)
    grouped = unmix(odd, 3, method="spa", group=True, true_endmembers=endmembers, **QUICK)
    assert alone.agreement.mean_angle > 0.1
    assert grouped.agreement.mean_angle < 0.02


def test_masked_pixels_and_bands(scene, tmp_path):
    cube, endmembers, abundances = scene
    broken = cube.copy()
    broken[3, 4, 7] = np.nan
    broken[:, :, 5] = 0
    result = unmix(broken, 3, true_endmembers=endmembers, true_abundances=abundances)
    assert result.agreement.mean_angle < 0.02
    assert np.isnan(result.maps()[:, 3, 4]).all()
    assert np.isfinite(result.maps()).sum() == 3 * 599
    assert "1 dead band masked, counted from 1: 6" in result.notes
    result.save(tmp_path / "r.npz")
    loaded = load(tmp_path / "r.npz")
    assert loaded == result and loaded.kind == "unmixing" and loaded.endmembers.shape == (3, 39)
    assert loaded.image_shape == (20, 30)
    spectra = broken.reshape(600, 40)[:, loaded.band_mask]
    near = np.abs(spectra[loaded.anchor_pixels] - loaded.endmembers).max()
    assert near < 0.05


@pytest.mark.parametrize(
    ("number", "options", "match"),
    [
        (0, {}, "n_endmembers=0 must be .* 600 pixels"),
        (3, {"true_endmembers": np.ones((40, 3))}, "true_endmembers has shape"),
        (3, {"vertices": "yes"}, "vertices"),
        (3, {"vertices": True, "method": "hals"}, "chooses pixels"),
    ],
)
def test_arguments_that_cannot_be_are_refused(scene, number, options, match):
    with pytest.raises(InvalidInput, match=match):
        unmix(scene[0], number, **options)
    with pytest.raises(InvalidInput, match="noise of the bands"):
        unmix(scene[0][:5, :5], 3, vertices=True)
    with pytest.raises(InvalidInput, match="true_abundances has shape"):
        unmix(scene[0], 3, true_endmembers=scene[1], true_abundances=scene[2].T, **QUICK)


def test_groups_are_near_their_leader_and_means_are_means():
    rng = np.random.default_rng(1)
    centres = rng.uniform(1, 2, (4, 6))
    rows = np.repeat(centres, 5, axis=0) + 1e-4 * rng.standard_normal((20, 6))
    groups = group_rows(rows, 2)
    assert groups.sizes.tolist() == [5, 5, 5, 5]
    assert groups.first.tolist() == [0, 5, 10, 15]
    np.testing.assert_allclose(groups.means, rows.reshape(4, 5, 6).mean(axis=1))
    with pytest.raises(InvalidInput, match="all pixels are zero"):
        group_rows(np.zeros((4, 3)), 2)


def test_groups_become_smaller_where_too_few_would_be_left():
    rows = np.random.default_rng(2).uniform(size=(100, 20))
    assert len(group_rows(rows, 3).means) >= 6
    assert len(group_rows(np.ones((30, 4)), 3).means) == 1  # identical rows stay one group
    assert len(unmix(rows.reshape(10, 10, 20), 3).endmembers) == 3


def test_spectra_that_cannot_be_have_a_note():
    rng = np.random.default_rng(0)
    pixels = rng.dirichlet(np.full(4, 0.3), 400) @ rng.random((4, 30))
    noisy = np.maximum(pixels + 0.02 * rng.standard_normal(pixels.shape), 0).reshape(20, 20, 30)
    found = unmix(noisy, 4, method="purification", random_state=0, **QUICK)
    assert found.endmembers.min() < 0
    assert any("spectra have negative values, down to -" in note for note in found.notes)
    assert not any("negative" in note for note in unmix(noisy, 4, **QUICK).notes)


def test_more_bands_than_pixels_need_no_matrix_of_bands():
    """The Gram matrix of the bands would have 25 times as many entries as the cube."""
    rng = np.random.default_rng(0)
    spectra = rng.random((3, 1000))
    pixels = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 37)]) @ spectra
    tracemalloc.start()
    found = unmix(pixels, 3, shape=(8, 5), **QUICK)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1000 * 1000 * 8
    assert found.endmembers.shape == (3, 1000)


def test_endmembers_of_single_pixels_are_not_called_means_of_none():
    for counts, words in (([0, 0], "each endmember is a single pixel"), ([4, 0], "of 4, 1 pixels")):
        spectra = Spectra(np.ones((2, 3)), n_averaged=np.array(counts))
        assert words in averaging_note(spectra, 9, 1.0)


def test_disagreement_of_corners_and_groups_is_said():
    made = mixed_cube(30, 30, 40, 4, snr=30, pure_share=0.0, most=0.75, random_state=0)
    notes = unmix(made.cube, 4, **QUICK).notes
    assert any("groups of similar pixels would give other spectra" in note for note in notes)
    clear = mixed_cube(30, 30, 40, 4, snr=40, pure_share=0.1, random_state=0)
    notes = unmix(clear.cube, 4, **QUICK).notes
    assert not any("would give other spectra" in note for note in notes)


def test_masks_that_do_not_fit_are_refused():
    pixels = np.random.default_rng(0).dirichlet(np.ones(2), 12) @ np.eye(2, 5)
    found = unmix(pixels, 2, shape=(3, 4), evidence=False)
    with pytest.raises(InvalidInput, match="band_mask has"):
        replace(found, band_mask=~found.band_mask)
    with pytest.raises(InvalidInput, match="pixel_mask has"):
        replace(found, pixel_mask=~found.pixel_mask)
