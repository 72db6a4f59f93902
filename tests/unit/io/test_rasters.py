"""Cubes of ENVI and TIFF files, and maps that other programs read back."""

import numpy as np
import pytest

from provenmf.applications import unmix
from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.images import read_cube
from provenmf.io.rasters import geographic_tags, write_maps

pytest.importorskip("spectral", reason="Spectral Python reads ENVI files")
tifffile = pytest.importorskip("tifffile", reason="tifffile reads and writes TIFF files")
UTM = "UTM, 1, 1, 500000, 4600000, 30, 30, 33, South, WGS-84"


@pytest.fixture
def maps():
    values = np.random.default_rng(0).random((3, 4, 5)).astype(np.float32)
    values[1, 0, 0] = np.nan
    return values


def envi_header(shape, map_info=""):
    bands, lines, samples = shape
    header = f"ENVI\nsamples = {samples}\nlines = {lines}\nbands = {bands}\nheader offset = 0\n"
    header += "file type = ENVI Standard\ndata type = 4\ninterleave = bsq\nbyte order = 0\n"
    header += "data ignore value = nan\n"
    return header + (f"map info = {{{map_info}}}\n" if map_info else "")


@pytest.mark.parametrize("k", [1, 3])
def test_tiff_files_are_read_back_by_tifffile(tmp_path, maps, k):
    path = write_maps(tmp_path / "maps.tif", maps[:k], ["a", "b & c", "d"][:k], UTM)
    with tifffile.TiffFile(path) as file:
        found = file.asarray()
        np.testing.assert_array_equal(found.reshape(maps[:k].shape), maps[:k])
        tags = file.pages[0].tags
        assert tags[33550].value == (30.0, 30.0, 0.0)
        assert tags[33922].value == (0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0)
        assert tags[34735].value[-1] == 32733  # WGS 84 / UTM zone 33S
    found = read_cube(path)
    assert found.pixel_mask.sum() == (20 if k == 1 else 19)  # NaN is no value
    assert geographic_tags(found.map_info) == geographic_tags(UTM)


@pytest.mark.parametrize(
    ("map_info", "code"),
    [
        (UTM, 32733),
        ("UTM, 1, 1, 5e5, 4.6e6, 30, 30, 10, North, WGS-84, units=Meters", 32610),
        ("Geographic Lat/Lon, 1, 1, 12.5, 41.9, 0.001, 0.001, WGS-84", 4326),
        ("Arbitrary, 1, 1, 0, 0, 1, 1, 0, North", None),
        ("UTM, 1, 1, 5e5, 4.6e6, 30, 30, 10, North, North America 1927", None),
        ("UTM, 1, 1, 5e5, 4.6e6, 30, 30, 99999, North, WGS-84", None),
        ("UTM, 1, 1, 5e5, 4.6e6, 30, 30, ², North, WGS-84", None),
        ("", None),
    ],
)
def test_only_known_systems_are_written(map_info, code):
    tags = geographic_tags(map_info)
    assert (tags[-1][3][-1] if tags else None) == code


def cube_of(maps):
    return np.moveaxis(np.nan_to_num(maps, nan=0.5), 0, -1) + 0.1


@pytest.mark.parametrize("axes", ["last", "first"])
def test_geotiff_cubes_are_read_in_either_order(tmp_path, maps, axes):
    cube = cube_of(maps)
    path = tmp_path / "scene.tif"
    options = {"photometric": "minisblack", "metadata": None}
    if axes == "last":
        tifffile.imwrite(path, cube, planarconfig="contig", **options)
    else:
        tifffile.imwrite(path, np.moveaxis(cube, -1, 0), planarconfig="separate", **options)
    found = read_cube(path)
    assert found.shape == (4, 5)
    np.testing.assert_allclose(found.pixels, cube.reshape(-1, 3), rtol=1e-6)


def test_the_header_of_a_tiff_file_is_no_header_of_raw_numbers(tmp_path, maps):
    """It was read as raw bytes and made a full report of garbage."""
    cube = cube_of(maps)
    image = write_maps(tmp_path / "scene.tif", np.moveaxis(cube, -1, 0), "abc")
    header = envi_header(maps.shape) + "wavelength = {400, 500, 600}\n"
    told = tmp_path / "scene.hdr"
    told.write_text(header.replace("ENVI Standard", "TIFF"))
    with pytest.raises(UnreadableFile, match="of type 'TIFF': give that file"):
        read_cube(told)
    told.write_text(header)  # a header that lies
    image.rename(tmp_path / "scene.img")
    with pytest.raises(UnreadableFile, match=r"scene\.img is a TIFF image"):
        read_cube(told)


def test_bad_bands_and_the_value_for_none_are_masked(tmp_path, maps):
    cube = np.moveaxis(cube_of(maps), -1, 0).astype("<f4")
    cube[:, 2, 3] = -9999
    header = envi_header(cube.shape).replace("= nan", "= -9999")
    (tmp_path / "scene.hdr").write_text(header + "bbl = {1, 0, 1}\n")
    cube.tofile(tmp_path / "scene.img")
    found = read_cube(tmp_path / "scene.hdr")
    assert found.band_mask.tolist() == [True, False, True] and found.pixel_mask.sum() == 19


def test_odd_names_are_written_and_other_endings_refused(tmp_path, maps):
    """Half a surrogate pair, as damaged texts have, ended in a UnicodeEncodeError."""
    assert write_maps(tmp_path / "maps.tif", maps, ["a", "\ud800", "c"]).exists()
    with pytest.raises(InvalidInput, match=r"end it in \.tif"):
        write_maps(tmp_path / "maps.png", maps, "abc")


def test_the_place_of_a_cube_reaches_its_maps(tmp_path):
    pure = np.array([[1.0, 0.2, 0.1], [0.1, 0.3, 1.0]])
    mixed = np.random.default_rng(0).dirichlet(np.ones(2), 36) @ pure
    cube = np.moveaxis(mixed.reshape(6, 6, 3), -1, 0)
    (tmp_path / "scene.hdr").write_text(envi_header(cube.shape, UTM))
    cube.astype("<f4").tofile(tmp_path / "scene.img")
    answer = unmix(read_cube(tmp_path / "scene.hdr"), 2, certify=False)
    assert answer.map_info.split(", ") == UTM.split(", ")
    found = read_cube(answer.save_maps(tmp_path / "maps.tif"))
    assert geographic_tags(found.map_info) == geographic_tags(UTM)
