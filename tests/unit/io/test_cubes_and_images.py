import numpy as np
import pytest
import scipy.io

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io import read_cube, read_images
from provenmf.io.images import as_cube, as_images


@pytest.fixture
def cube():
    return np.random.default_rng(0).uniform(0.1, 1.0, (4, 6, 5))


def test_every_format_gives_the_same_cube(tmp_path, cube):
    envi = pytest.importorskip("spectral.io.envi")
    matrix = cube.reshape(24, 5)
    np.save(tmp_path / "c.npy", cube)
    np.savez(tmp_path / "c.npz", Y=matrix.T, E=np.ones((5, 2)), nrow=4, ncol=6)
    scipy.io.savemat(tmp_path / "c.mat", {"V": matrix, "nRow": 4, "nCol": 6})
    envi.save_image(
        str(tmp_path / "c.hdr"),
        cube.astype(np.float64),
        dtype=np.float64,
        metadata={"wavelength": [str(w) for w in range(400, 405)]},
    )
    for name in ("c.npy", "c.npz", "c.mat", "c.hdr", "c.img"):
        read = read_cube(tmp_path / name)
        assert read.shape == (4, 6)
        np.testing.assert_allclose(read.pixels, matrix, rtol=1e-6)
        assert read.notes == ()
    assert read_cube(tmp_path / "c.hdr").wavelengths.tolist() == [400, 401, 402, 403, 404]


def test_dead_bands_and_missing_pixels_are_masked_and_said(cube):
    cube[:, :, 1] = 0
    cube[:, :, 3] = np.nan
    cube[2, 3, 0] = np.nan
    cube[0, 0, 4] = -0.5
    before = cube.copy()
    read = as_cube(cube, wavelengths=np.arange(5))
    assert read.band_mask.tolist() == [True, False, True, False, True]
    assert np.flatnonzero(~read.pixel_mask).tolist() == [2 * 6 + 3]
    assert read.pixels.shape == (23, 3) and read.pixels.min() == 0
    assert read.wavelengths.tolist() == [0, 2, 4]
    assert read.notes == (
        "2 dead bands masked, counted from 1: 2, 4",
        "1 pixel with missing values masked",
        "negative entries set to zero: 1",
    )
    np.testing.assert_array_equal(cube, before)


def test_size_of_the_image():
    square = np.random.default_rng(0).uniform(size=(5, 49))
    read = as_cube(square)
    assert read.shape == (7, 7) and read.pixels.shape == (49, 5)
    assert "7 x 7" in read.notes[0]
    with pytest.raises(InvalidInput, match="give shape"):
        as_cube(np.ones((5, 48)))
    with pytest.raises(InvalidInput, match="does not fit an image of 4 x 5"):
        as_cube(np.ones((5, 48)), shape=(4, 5))


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.zeros((3, 3, 4)), "no band with a signal"),
        (np.full((3, 3, 4), np.nan), "no band with a signal"),
        (np.ones(4), "rows x columns x bands"),
        (np.array([["a"]]), "numbers are needed"),
    ],
)
def test_cubes_without_content(bad, message):
    with pytest.raises(InvalidInput, match=message):
        as_cube(bad)


@pytest.mark.parametrize(
    ("name", "message"),
    [("c.hdr", "ENVI"), ("c.tif", r"c\.tif is damaged"), ("c.doc", "holds no cube")],
)
def test_foreign_cube_files(tmp_path, name, message):
    (tmp_path / name).write_text("hello")
    with pytest.raises(UnreadableFile, match=message):
        read_cube(tmp_path / name)


def save_picture(path, array):
    from PIL import Image

    Image.fromarray(array).save(path)


def test_folder_of_pictures(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)
    for number, picture in enumerate(pictures):
        save_picture(tmp_path / f"{number}.png", picture)
    (tmp_path / "readme.txt").write_text("not a picture")
    read = read_images(tmp_path)
    assert read.shape == (4, 5) and list(read.names) == ["0.png", "1.png", "2.png"]
    np.testing.assert_allclose(read.pixels, pictures.reshape(3, 20) / 255)
    np.savez(tmp_path / "all.npz", images=pictures)
    np.testing.assert_array_equal(read_images(tmp_path / "all.npz").pixels, read.pixels)


def test_pictures_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(InvalidInput, match="has no pictures"):
        read_images(tmp_path)
    save_picture(tmp_path / "a.png", np.zeros((4, 5), dtype=np.uint8))
    save_picture(tmp_path / "b.png", np.zeros((4, 6), dtype=np.uint8))
    with pytest.raises(InvalidInput, match=r"b\.png is 4 x 6 but a\.png is 4 x 5: resize"):
        read_images(tmp_path)
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(UnreadableFile, match=r"a\.png is not a readable picture"):
        read_images(tmp_path)


def test_range_of_pixels():
    read = as_images(np.array([[0.0, 10, 20, 40]]))
    assert read.pixels.tolist() == [[0, 0.25, 0.5, 1]]
    assert read.notes == ("pixels were divided by their largest value 40",)
    for bad, message in [
        (np.array([[0.0, np.nan, 1, 1]]), "1 images with missing pixels"),
        (np.array([[0.0, -1, 1, 1]]), "negative pixels"),
        (np.ones((2, 5)), "an image of 2 x 2"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            as_images(bad)


def test_bands_may_come_first(cube, tmp_path):
    turned = np.moveaxis(cube, -1, 0)  # 5 bands of 4 x 6 pixels
    found = as_cube(turned, shape=(4, 6))
    np.testing.assert_array_equal(found.pixels, cube.reshape(-1, 5))
    np.savez(tmp_path / "c.npz", cube=turned, wavelengths=np.arange(5.0))
    assert read_cube(tmp_path / "c.npz").shape == (4, 6)
    with pytest.raises(InvalidInput, match="may come first or last"):
        as_cube(np.random.default_rng(0).random((9, 4, 4)))
    with pytest.raises(InvalidInput, match="does not fit an image of 9 x 9"):
        as_cube(cube, shape=(9, 9))


def test_a_mask_chooses_pixels(cube, tmp_path):
    mask = np.zeros((4, 6))
    mask[1:3] = 1
    np.save(tmp_path / "cube.npy", cube)
    np.save(tmp_path / "mask.npy", mask)
    found = read_cube(tmp_path / "cube.npy", mask=tmp_path / "mask.npy")
    np.testing.assert_array_equal(found.pixels, cube[1:3].reshape(-1, 5))
    assert found.notes[-1] == "12 pixels outside the mask left out"
    with pytest.raises(InvalidInput, match="give 4 x 6 numbers"):
        as_cube(cube, mask=mask[:2])


@pytest.mark.parametrize(
    ("value", "what"),
    [({"a": 1.0}, "a struct"), (1j * np.ones((3, 4)), "complex"), ("text", "text")],
)
def test_what_matlab_holds_besides_numbers_is_refused_by_name(value, what, tmp_path):
    scipy.io.savemat(tmp_path / "c.mat", {"Y": value, "other": [["a", "b"]]})
    with pytest.raises(InvalidInput, match=rf"Y.*{what}"):
        read_cube(tmp_path / "c.mat")
    with pytest.raises(InvalidInput, match=rf"'Y' holds {what}"):
        read_cube(tmp_path / "c.mat", key="Y")


def test_bands_that_seem_to_come_first_are_asked_for():
    """A cube of 40 bands x 25 x 30 was read as 40 x 25 pixels of 30 bands, without a word."""
    rng = np.random.default_rng(0)
    mixed = rng.dirichlet(np.full(3, 0.3), 750) @ rng.random((3, 40))
    cube = mixed.reshape(25, 30, 40) + 0.01 * rng.random((25, 30, 40))
    with pytest.raises(InvalidInput, match="bands may come first or last: give shape"):
        as_cube(np.moveaxis(cube, 2, 0))
    turned = as_cube(np.moveaxis(cube, 2, 0), shape=(25, 30))
    np.testing.assert_array_equal(turned.pixels, as_cube(cube).pixels)
