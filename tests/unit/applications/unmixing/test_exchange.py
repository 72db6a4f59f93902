"""Endmembers that are extreme by their shape alone give way to those that explain the pixels."""

import numpy as np
from scipy.optimize import nnls

from provenmf.applications import unmix
from provenmf.applications.unmixing.points import WORTH, exchanged

QUICK = {"certify": False, "evidence": False}


def shaded_scene(seed=0):
    """Four materials, and a few dark pixels of a shape that no other pixel has."""
    rng = np.random.default_rng(seed)
    bands = np.linspace(0, 1, 40)
    places = np.array([0.1, 0.4, 0.6, 0.9])
    pure = np.exp(-(((bands - places[:, None]) / 0.3) ** 2)) * 3.0
    shares = np.vstack([np.eye(4)[rng.integers(0, 4, 200)], rng.dirichlet(np.ones(4), 1360)])
    shade = 0.4 * np.exp(-(((bands - 0.25) / 0.03) ** 2))
    pixels = np.vstack([shares @ pure, np.tile(shade, (40, 1))])
    order = rng.permutation(1600)
    return np.maximum(pixels + 0.01 * rng.standard_normal(pixels.shape), 0)[order], pure


def error_of(rows, sizes, chosen):
    """Weights that sum to one by nonnegative least squares with a heavy row of ones."""
    heavy = 1e4
    system = np.vstack([rows[chosen].T, heavy * np.ones(len(chosen))])
    return sum(
        size * nnls(system, np.append(row, heavy))[1] ** 2
        for row, size in zip(rows, sizes, strict=True)
    )


def test_exchanges_lower_the_error_until_none_is_worth_it():
    rng = np.random.default_rng(3)
    rows = np.vstack([rng.random((5, 6)) * [[4], [4], [4], [0.2], [0.3]], rng.random((25, 6))])
    sizes = rng.integers(1, 20, len(rows))
    shapes = rows / rows.sum(axis=1, keepdims=True)
    start = np.array([3, 4, 0])
    found = exchanged(rows, sizes, shapes, start)
    least = error_of(rows, sizes, found)
    assert least < (1 - WORTH) * error_of(rows, sizes, start)
    pool = np.union1d(np.argsort(-np.linalg.norm(shapes, axis=1))[:1], start)
    for place in range(3):
        for other in np.setdiff1d(pool, found):
            trial = found.copy()
            trial[place] = other
            assert error_of(rows, sizes, trial) > (1 - WORTH) * least * (1 - 1e-6)


def test_a_shaded_corner_is_not_a_material():
    pixels, pure = shaded_scene()
    options = {"shape": (40, 40), "vertices": False, **QUICK}
    found = unmix(pixels, 4, true_endmembers=pure, **options)
    assert found.agreement.angles.max() < 0.1
    assert any(
        "groups of pixels that explain the image better replaced" in note for note in found.notes
    )
    place = found.anchor_pixels[0]
    assert np.linalg.norm(pixels[place] - found.endmembers[0]) < 0.1 * np.linalg.norm(pixels[place])
    by_brightness = unmix(pixels, 4, scale=False, **options)
    assert not any("exchanged" in note for note in by_brightness.notes)
