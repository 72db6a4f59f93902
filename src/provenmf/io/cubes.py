"""Read a hyperspectral cube: npz, npy, MATLAB, ENVI."""

from __future__ import annotations

import glob
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile, counted
from provenmf.io.arrays import numbers, read_npy, read_npz
from provenmf.io.files import existing, optional, parsing
from provenmf.io.matrices import choose_array, read_mat
from provenmf.linalg.storage import check_scale, largest_of

# Names under which the files in circulation keep the cube and the size of its image.
CUBE_KEYS = ("Y", "V", "cube", "X", "data")
ROW_KEYS = ("nrow", "nRow", "lines", "H")
COLUMN_KEYS = ("ncol", "nCol", "cols", "W")
WAVELENGTH_KEYS = ("wavelengths", "wavelength", "bands_nm", "wvl")


@dataclass(frozen=True, eq=False)
class Cube:
    """Pixels as rows of spectra.

    pixels : (n_pixels, n_bands) of the usable pixels and bands, nonnegative.
    shape : rows and columns of the image; pixels run row by row.
    pixel_mask, band_mask : which pixels of the image and bands of the file are in `pixels`.
    wavelengths : of the usable bands, if the file says.
    map_info : where the image lies on the Earth, as an ENVI header says it.
    """

    pixels: NDArray[np.float64]
    shape: tuple[int, int]
    pixel_mask: NDArray[np.bool_]
    band_mask: NDArray[np.bool_]
    wavelengths: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()
    map_info: str = ""


def read_cube(
    path: str | Path, *, key: str | None = None, shape: tuple[int, int] | None = None
) -> Cube:
    """Read a cube.

    Parameters
    ----------
    path : `.npy`, `.npz`, `.mat`, or the `.hdr` file of an ENVI cube. An array is either
        (rows, columns, bands) or a matrix of pixels and bands in either order.
    key : name of the array in a file that holds several.
    shape : rows and columns of the image; needed for a matrix unless the file holds them or the
        image is square.
    """
    path = existing(path)
    ending = path.suffix.lower()
    if ending == ".hdr":
        return _from_envi(path)
    if ending == ".npy":
        return as_cube(read_npy(path), shape=shape, where=str(path))
    if ending not in (".npz", ".mat"):
        raise UnreadableFile(f"{path} is not a cube: use .npz, .npy, .mat or an ENVI .hdr file")
    arrays = read_npz(path) if ending == ".npz" else read_mat(path)
    if key is None:
        key = next((name for name in CUBE_KEYS if name in arrays), None)
    array = choose_array(arrays, key, path, dimensions=(2, 3))
    rows, columns = _size(arrays, ROW_KEYS), _size(arrays, COLUMN_KEYS)
    if shape is None and rows and columns:
        shape = rows, columns
    return as_cube(array, shape=shape, wavelengths=_wavelengths(arrays, array), where=str(path))


def _wavelengths(arrays: dict[str, Any], cube: Any) -> NDArray[np.float64] | None:
    """One number for each band, that the file may hold under one of the names."""
    sides = cube.shape[2:] if cube.ndim == 3 else cube.shape
    for name in WAVELENGTH_KEYS:
        values = np.asarray(arrays.get(name, ()))
        if values.dtype.kind in "fiu" and values.size in sides and values.size == max(values.shape):
            return np.asarray(values, dtype=np.float64).ravel()
    return None


def _size(arrays: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """A number that the file may hold under one of the names."""
    for name in names:
        if name in arrays and np.size(arrays[name]) == 1:
            return int(np.asarray(arrays[name]).item())
    return None


def as_cube(
    array: object,
    *,
    shape: tuple[int, int] | None = None,
    wavelengths: object = None,
    where: str = "cube",
) -> Cube:
    """See an array as a cube; bad bands and pixels are masked, and `notes` say so."""
    if isinstance(array, Cube):
        return array
    values = numbers(array, where)
    notes: list[str] = []
    if values.ndim == 3:
        shape = values.shape[0], values.shape[1]
        values = values.reshape(-1, values.shape[2])
    elif values.ndim == 2:
        values, shape = _pixels_first(values, shape, where, notes)
    else:
        raise InvalidInput(f"{where} has shape {values.shape}: rows x columns x bands are needed")
    values = values.astype(np.float64)
    band_mask, pixel_mask = _usable(values, where, notes)
    pixels = values[pixel_mask][:, band_mask]
    check_scale(largest_of(pixels), where)
    negative = int(np.count_nonzero(pixels < 0))
    if negative:
        notes.append(f"negative entries set to zero: {negative}")
        pixels = np.maximum(pixels, 0.0)
    if wavelengths is not None:
        lengths = np.asarray(wavelengths, dtype=np.float64)
        wavelengths = lengths[band_mask] if lengths.size == band_mask.size else None
    return Cube(pixels, shape, pixel_mask, band_mask, wavelengths, tuple(notes))


def _pixels_first(
    values: NDArray[Any], shape: tuple[int, int] | None, where: str, notes: list[str]
) -> tuple[NDArray[Any], tuple[int, int]]:
    """Turn the matrix so that pixels are rows, and settle the size of the image."""
    if shape is None:
        n_pixels = max(values.shape)
        side = round(n_pixels**0.5)
        if side * side != n_pixels:
            raise InvalidInput(
                f"{where} is a matrix of {values.shape} and does not say the size of its image",
                argument="shape",
                remedy="give {argument}: rows and columns",
            )
        shape = side, side
        notes.append(f"the image was taken to be {side} x {side}; give its shape if it is not")
    n_pixels = shape[0] * shape[1]
    if values.shape[0] == n_pixels:
        return values, shape
    if values.shape[1] == n_pixels:
        return values.T, shape
    raise InvalidInput(
        f"{where} has shape {values.shape}, which does not fit an image of "
        f"{shape[0]} x {shape[1]} pixels",
        argument="shape",
        remedy="give the right {argument}: rows and columns",
    )


def _usable(
    values: NDArray[np.float64], where: str, notes: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mask bands that are dead (constant or mostly missing), then pixels with missing values."""
    finite = np.isfinite(values)
    low = np.min(values, axis=0, where=finite, initial=np.inf)
    high = np.max(values, axis=0, where=finite, initial=-np.inf)
    band_mask = (high > low) & (finite.mean(axis=0) > 0.5)
    if not band_mask.any():
        raise InvalidInput(
            f"{where} has no band with a signal: each is constant or missing; check the file"
        )
    pixel_mask = np.asarray(finite[:, band_mask].all(axis=1))
    if not pixel_mask.any():
        raise InvalidInput(f"{where} has no pixel without missing values: fill them first")
    if not band_mask.all():
        dead = np.flatnonzero(~band_mask)
        notes.append(f"{counted(len(dead), 'dead band')} masked: {_short_list(dead)}")
    if not pixel_mask.all():
        masked = int(np.count_nonzero(~pixel_mask))
        notes.append(f"{counted(masked, 'pixel')} with missing values masked")
    return band_mask, pixel_mask


def _short_list(numbers: NDArray[np.generic], length: int = 8) -> str:
    shown = ", ".join(str(number) for number in numbers[:length])
    return shown + (", …" if len(numbers) > length else "")


def _from_envi(path: Path) -> Cube:
    envi = optional("spectral.io.envi", "reading an ENVI cube", "files")
    neighbours = [existing(file) for file in path.parent.glob(f"{glob.escape(path.stem)}*")]
    stored = sum(file.stat().st_size for file in neighbours)
    with parsing(path, "ENVI header"):
        image = envi.open(str(path))
        declared = image.nrows * image.ncols * image.nbands * np.dtype(image.dtype).itemsize
        if not 0 < declared <= stored:
            raise UnreadableFile(
                f"{path} declares {declared} bytes but the files beside it have {stored}: "
                "give the data that belong to it"
            )
        array = np.asarray(image.load())
        centers = image.bands.centers
        if centers is not None and len(centers) != array.shape[2]:
            raise UnreadableFile(f"{path} has {len(centers)} wavelengths for its bands")
        told = image.metadata.get("map info", ())
        map_info = told if isinstance(told, str) else ", ".join(map(str, told))
    cube = as_cube(array, wavelengths=centers, where=str(path))
    return replace(cube, map_info=map_info.strip())
