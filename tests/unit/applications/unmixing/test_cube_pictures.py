import numpy as np

from provenmf.applications.unmixing.search import (
    colour_bands,
    false_colours,
    relative_residuals,
)
from provenmf.io.images import as_cube


def test_bands_of_light_are_shown_where_wavelengths_are_known():
    values = np.random.default_rng(0).random((4, 5, 7))
    lengths = np.array([400, 450, 500, 550, 600, 650, 700.0])
    for unit in (1.0, 1e-3):
        assert colour_bands(as_cube(values, wavelengths=unit * lengths)) == (5, 3, 1)
    assert colour_bands(as_cube(values)) == (5, 3, 1)  # spread, the last third red
    infrared = as_cube(values, wavelengths=lengths + 1000)
    assert colour_bands(infrared) == (5, 3, 1)


def test_picture_is_stretched_and_masked_pixels_are_black():
    values = np.random.default_rng(1).random((400, 3, 6))
    values[0, 0] = np.nan
    cube = as_cube(values)
    picture = false_colours(cube, (0, 1, 2))
    assert picture.shape == (200, 2, 3) and picture.dtype == np.uint8
    assert (picture[0, 0] == 0).all() and picture.max() == 255


def test_residuals_are_shares_of_the_pixels_length():
    pixels = np.array([[3.0, 4.0], [0.0, 0.0]])
    found = relative_residuals(pixels, np.array([[1.0], [0.0]]), np.array([[3.0, 0.0]]))
    assert found.tolist() == [0.8, 0.0]
