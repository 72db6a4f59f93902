"""Noise of the bands, the number of materials, and endmembers averaged within the noise."""

import numpy as np
import pytest

from provenmf import load
from provenmf.applications import unmix
from provenmf.applications.unmixing.noise import band_noise
from provenmf.applications.unmixing.points import count_materials
from provenmf.datasets.cubes import mixed_cube
from provenmf.errors import InvalidInput
from provenmf.methods.certify import certify

QUICK = {"certify": False, "evidence": False}


def varying_scene(seed=0):
    """Three materials whose spectra vary from pixel to pixel, in ever weaker directions."""
    rng = np.random.default_rng(seed)
    made = mixed_cube(40, 40, 60, 3, snr=50.0, random_state=seed)
    waves = np.cos(np.pi * np.outer(np.arange(1, 50), np.linspace(0, 1, 60)))
    sizes = 0.1 * 0.85 ** np.arange(49)
    shapes = (rng.standard_normal((1600, 49)) * sizes) @ waves
    return np.maximum(made.cube * (1 + shapes.reshape(40, 40, 60)), 0)


def test_noise_is_what_the_other_bands_leave():
    """The inverse Gram matrix gives the residuals of the regressions themselves."""
    pixels = np.abs(mixed_cube(20, 20, 12, 3, snr=20.0, random_state=0).cube.reshape(400, 12))
    found = band_noise(pixels).deviations
    for band in range(12):
        others = np.delete(pixels, band, axis=1)
        left = pixels[:, band] - others @ np.linalg.lstsq(others, pixels[:, band], rcond=None)[0]
        assert found[band] == pytest.approx(np.sqrt((left**2).sum() / (400 - 11)))


def test_noise_of_each_band_is_found():
    made = mixed_cube(50, 50, 40, 3, snr=25.0, random_state=2)
    found = band_noise(np.maximum(made.cube.reshape(2500, 40), 0))
    assert np.median(np.abs(found.deviations / made.noise - 1)) < 0.05
    assert found.left_by(3) == pytest.approx(1, abs=0.15)
    assert found.explains(3) and not found.explains(4) and found.left_by(2) > 2


@pytest.mark.parametrize("case", ["exact mixture", "exact, twice", "too few pixels", "zero band"])
def test_where_nothing_is_known_of_the_noise(case):
    made = mixed_cube(20, 20, 30, 3, snr=np.inf if "exact" in case else 30, random_state=0)
    pixels = made.cube.reshape(400, 30).copy()
    if case == "too few pixels":
        pixels = pixels[:50]
    elif case == "exact, twice":
        pixels = np.hstack([pixels, 2 * pixels])
    elif case == "zero band":
        pixels[:, 3] = 0
    assert band_noise(pixels) is None


@pytest.mark.parametrize("how", ["copied", "sum of two"])
def test_a_band_that_follows_from_others_brings_no_noise_of_its_own(how):
    made = mixed_cube(50, 50, 40, 3, snr=25.0, random_state=2)
    pixels = np.maximum(made.cube.reshape(2500, 40), 0)
    extra = 3 * pixels[:, 7] if how == "copied" else pixels[:, 7] + pixels[:, 12]
    alone, both = band_noise(pixels), band_noise(np.column_stack([pixels, extra]))
    passed_on = 9 * made.noise[7] ** 2 if how == "copied" else (made.noise[[7, 12]] ** 2).sum()
    assert both.deviations[-1] == pytest.approx(np.sqrt(passed_on), rel=0.05)
    assert both.count == alone.count == 3 and both.explains(3)
    rows = pixels[:5] @ np.column_stack([np.eye(40), np.eye(40)[7]]) if how == "copied" else None
    if rows is not None:
        rows[:, -1] *= 3
        back = both.in_bands(both.coordinates(rows, 40)) * both.deviations
        np.testing.assert_allclose(back, rows, atol=1e-8)
    cube = np.concatenate([made.cube, made.cube[:, :, :1]], axis=2)
    found = unmix(cube, **QUICK)
    assert len(found.endmembers) == 3 and found.settings.project
    np.testing.assert_allclose(found.endmembers[:, -1], found.endmembers[:, 0])


@pytest.mark.parametrize("how", ["all twice", "multiple, rounded", "mean of two, rounded"])
@pytest.mark.parametrize(("snr", "seed"), [(22.0, 5), (38.0, 6)])
def test_bands_that_follow_but_for_rounding_are_no_materials(how, snr, seed):
    """A cube stored twice was taken for 40 materials, a rounded multiple or mean for one or two."""
    cube = mixed_cube(40, 40, 40, 3, snr=snr, random_state=seed).cube
    if how == "all twice":
        cube = np.concatenate([cube, cube], axis=2)
    else:
        of = 1.1 * cube[..., :1] if "multiple" in how else cube[..., :2].mean(-1, keepdims=True)
        cube = np.round(4000 * np.concatenate([cube, of], axis=2))
    found = unmix(cube, **QUICK)
    assert len(found.endmembers) == 3 and found.settings.project


def test_a_band_without_noise():
    made = mixed_cube(40, 40, 30, 3, random_state=1)
    cube = made.cube.copy()
    cube[:, :, 4] = (made.abundances @ made.endmembers)[:, 4].reshape(40, 40)
    found = unmix(cube, true_endmembers=made.endmembers, **QUICK)
    assert len(found.endmembers) == 3 and found.agreement.mean_angle < 0.01


@pytest.mark.parametrize("snr", [20.0, 40.0])
@pytest.mark.parametrize("k", [2, 4])
def test_materials_are_counted(snr, k):
    result = unmix(mixed_cube(40, 40, 50, k, snr=snr, random_state=k).cube, **QUICK)
    assert len(result.endmembers) == k
    assert any(f"from the noise: {k} directions stand out," in note for note in result.notes)


def test_materials_of_a_scene_that_varies_are_not_counted():
    cube = varying_scene()
    pixels = cube.reshape(1600, 60)
    number, note = count_materials(pixels, band_noise(pixels))
    assert number is None and "spectra vary within materials" in note
    with pytest.raises(InvalidInput, match="do not determine the number"):
        unmix(cube, **QUICK)


@pytest.mark.parametrize("snr", [20.0, 30.0, 40.0])
def test_averaging_brings_endmembers_and_abundances_closer_to_the_truth(snr):
    made = mixed_cube(40, 40, 60, 4, snr=snr, random_state=1)
    truth = {"true_endmembers": made.endmembers, "true_abundances": made.abundances}
    new, old = (
        unmix(made.cube, 4, vertices=vertices, **QUICK, **truth).agreement
        for vertices in ("auto", False)
    )
    assert new.mean_angle < 0.6 * old.mean_angle
    assert new.abundance_rmse < 0.8 * old.abundance_rmse


def test_a_scene_that_varies_keeps_its_groups():
    cube = varying_scene()
    found, old = (unmix(cube, 3, vertices=v, **QUICK) for v in ("auto", False))
    assert found.n_averaged is None and found.noise is None
    np.testing.assert_array_equal(found.endmembers, old.endmembers)


def test_dark_material_at_its_own_brightness():
    made = mixed_cube(40, 40, 50, 3, snr=np.inf, random_state=4)
    dark = made.endmembers * np.array([[1.0], [1.0], [0.1]])
    noise = 0.005 * np.random.default_rng(0).standard_normal((1600, 50))
    cube = (made.abundances @ dark + noise).reshape(40, 40, 50)
    found = unmix(cube, 3, true_endmembers=dark, **QUICK)
    assert found.settings.project and found.agreement.mean_angle < 0.02
    ordered = found.endmembers[found.agreement.order]
    np.testing.assert_allclose(ordered.sum(axis=1), dark.sum(axis=1), rtol=0.03)


def test_saved_certified_and_applied_to_new_pixels(tmp_path):
    made = mixed_cube(30, 30, 40, 3, random_state=5)
    result = unmix(made.cube, 3)
    assert result.n_averaged.min() > 1 and len(result.noise) == 40
    result.save(tmp_path / "r.npz")
    assert load(tmp_path / "r.npz") == result
    again = certify(made.cube, result)
    for name, value in result.certificate.measures.items():
        np.testing.assert_allclose(again.measures[name], value, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(result.transform(made.cube), result.abundances, atol=1e-9)


def test_an_odd_pixel_is_said_to_stand_alone():
    made = mixed_cube(30, 30, 40, 3, snr=40.0, random_state=6)
    cube = made.cube.copy()
    cube[10, 10] = 3 * np.linspace(0, 1, 40)
    assert unmix(cube, 3, **QUICK).n_averaged is None  # groups leave it out
    assert any("has one pixel only" in note for note in unmix(cube, 4, **QUICK).notes)


def test_directions_of_spectra_that_vary_are_not_counted_as_materials():
    rng = np.random.default_rng(0)
    made = mixed_cube(40, 40, 60, 3, snr=np.inf, random_state=0)
    waves = np.cos(
        2 * np.pi * np.outer([0, 1, 1, 2, 2], np.linspace(0, 1, 60)) + [[0], [0], [1.6], [0], [1.6]]
    )
    pixels = np.zeros((1600, 60))
    for abundance, spectrum in zip(made.abundances.T, made.endmembers):
        vary = 1 + 0.02 * rng.standard_normal((1600, 5)) @ waves
        pixels += abundance[:, None] * spectrum * vary
    pixels += 0.001 * pixels.mean() * rng.standard_normal(pixels.shape)
    noise = band_noise(pixels)
    found = unmix(pixels.reshape(40, 40, 60), **QUICK)
    assert noise.count >= 6 and len(found.endmembers) == 3
    assert any("spectra vary within materials" in note for note in found.notes)
