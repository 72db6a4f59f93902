"""Cubes of ENVI and TIFF files."""

import importlib.util

import numpy as np
import pytest

from provenmf.errors import UnreadableFile
from provenmf.io import read_cube

pytest.importorskip("spectral", reason="Spectral Python reads ENVI files")
tifffile = pytest.importorskip("tifffile", reason="tifffile reads TIFF files")
CUBE = np.random.default_rng(0).random((4, 5, 3)).astype("<f4") + np.float32(0.1)
HEADER = """ENVI
samples = 5
lines = 4
bands = 3
header offset = 0
file type = ENVI Standard
data type = 4
interleave = bsq
byte order = 0
data ignore value = -9999
"""


@pytest.mark.parametrize("axes", ["last", "first"])
def test_geotiff_cubes_are_read_in_either_order(tmp_path, axes):
    cube = CUBE.copy()
    cube[0, 0, 1] = -1
    path, config, values = tmp_path / "scene.tif", "contig", cube
    if axes == "first":
        config, values = "separate", np.moveaxis(cube, -1, 0)
    told = {"photometric": "minisblack", "metadata": None}
    told["extratags"] = [(42113, "s", 0, b"-1", True)]  # the value for none, as GDAL writes it
    tifffile.imwrite(path, values, planarconfig=config, **told)
    found = read_cube(path)
    assert found.shape == (4, 5) and np.flatnonzero(~found.pixel_mask).tolist() == [0]
    np.testing.assert_allclose(found.pixels, cube.reshape(-1, 3)[1:], rtol=1e-6)


def test_a_compression_that_needs_another_package_is_named(tmp_path):
    """The file was called damaged."""
    tifffile.imwrite(tmp_path / "scene.tif", CUBE, photometric="minisblack")
    with tifffile.TiffFile(tmp_path / "scene.tif", mode="r+b") as file:
        file.pages[0].tags["Compression"].overwrite(5)
    if importlib.util.find_spec("imagecodecs") is None:
        with pytest.raises(UnreadableFile, match="compressed by LZW: install imagecodecs"):
            read_cube(tmp_path / "scene.tif")


def test_the_header_of_a_tiff_file_is_no_header_of_raw_numbers(tmp_path):
    """It was read as raw bytes and made a full report of garbage."""
    told = tmp_path / "scene.hdr"
    told.write_text(HEADER.replace("ENVI Standard", "TIFF"))
    with pytest.raises(UnreadableFile, match="of type 'TIFF': give that file"):
        read_cube(told)
    told.write_text(HEADER)  # a header that lies
    tifffile.imwrite(tmp_path / "scene.img", CUBE)
    with pytest.raises(UnreadableFile, match=r"scene\.img is a TIFF image"):
        read_cube(told)


def test_bad_bands_and_the_value_for_none_are_masked(tmp_path):
    cube = np.moveaxis(CUBE, -1, 0).copy()
    cube[:, 2, 3] = -9999
    (tmp_path / "scene.hdr").write_text(HEADER + "bbl = {1, 0, 1}\n")
    cube.tofile(tmp_path / "scene.img")
    found = read_cube(tmp_path / "scene.hdr")
    assert found.band_mask.tolist() == [True, False, True] and found.pixel_mask.sum() == 19
