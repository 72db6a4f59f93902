"""Read images: hyperspectral cubes, and sets of pictures of one size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, counted, optional
from provenmf.io.files import check_unfolded, existing, parsing
from provenmf.io.matrices import choose_array, read_arrays
from provenmf.io.rasters import ENDINGS, read_raster
from provenmf.linalg.storage import check_scale, largest_of, numbers

# Names under which the files in circulation keep the cube and the size of its image.
CUBE_KEYS = ("Y", "V", "cube", "X", "data")
ROW_KEYS = ("nrow", "nRow", "lines", "H")
COLUMN_KEYS = ("ncol", "nCol", "cols", "W")
SHORTEST_SIDE = 8  # of an image whose spectra tell which axis holds the bands
WAVELENGTH_KEYS = ("wavelengths", "wavelength", "bands_nm", "wvl")


@dataclass(frozen=True, eq=False)
class Cube:
    """Pixels as rows of spectra.

    pixels : (n_pixels, n_bands) of the usable pixels and bands, nonnegative.
    shape : rows and columns of the image; pixels run row by row.
    pixel_mask, band_mask : which pixels of the image and bands of the file are in `pixels`.
    wavelengths : of the usable bands, if the file says.
    """

    pixels: NDArray[np.float64]
    shape: tuple[int, int]
    pixel_mask: NDArray[np.bool_]
    band_mask: NDArray[np.bool_]
    wavelengths: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()


def read_cube(
    path: str | Path,
    *,
    key: str | None = None,
    shape: tuple[int, int] | None = None,
    mask: str | Path | None = None,
) -> Cube:
    """Read a cube.

    Parameters
    ----------
    path : `.npy`, `.npz`, `.mat`, `.tif`, or the header (`.hdr`) or the data of an ENVI cube. An
        array is (rows, columns, bands), (bands, rows, columns), or a matrix of pixels and bands in
        either order.
    key : name of the array in a file that holds several.
    shape : rows and columns of the image; needed where the array does not tell them.
    mask : a file (npy, npz, mat, tif) with 1 for the pixels to use, 0 for others.
    """
    path = existing(path)
    used = None if mask is None else _read_mask(existing(mask))
    headers = (path.with_suffix(".hdr"), path.with_name(f"{path.name}.hdr"))
    if path.suffix.lower() not in (*ENDINGS, ".npz", ".npy", ".mat"):
        path = next((header for header in headers if header.exists()), path)  # the data of ENVI
    if path.suffix.lower() in ENDINGS:
        values, centers = read_raster(path)
        size = values.shape[:2]
        return as_cube(values, shape=size, wavelengths=centers, mask=used, where=str(path))
    arrays = read_arrays(path, "cube", *ENDINGS)
    array = _stack(arrays, CUBE_KEYS, key, path)
    size = _size(arrays, ROW_KEYS), _size(arrays, COLUMN_KEYS)
    if shape is None and size[0] and size[1]:
        shape = size[0], size[1]
    lengths = _wavelengths(arrays, array)
    return as_cube(array, shape=shape, wavelengths=lengths, mask=used, where=str(path))


def _stack(arrays: dict[str, Any], names: Sequence[str], key: str | None, path: Path) -> Any:
    """Return the array named by the key or by one of the usual names, or the only one."""
    if key is None:
        known = (name for name in ("", *names) if isinstance(arrays.get(name), np.ndarray))
        key = next(known, None)
    return choose_array(arrays, key, path, dimensions=(2, 3))


def _read_mask(path: Path) -> Any:
    if path.suffix.lower() in ENDINGS:
        return read_raster(path)[0][:, :, 0]
    return choose_array(read_arrays(path, "mask", *ENDINGS[1:]), None, path)


def _wavelengths(arrays: dict[str, Any], cube: Any) -> NDArray[np.float64] | None:
    """Return one number for each band, where the file holds them under one of the names."""
    for name in WAVELENGTH_KEYS:
        values = np.asarray(arrays.get(name, ()))
        if values.dtype.kind in "fiu" and values.size == max(values.shape) in cube.shape:
            return np.asarray(values, dtype=np.float64).ravel()
    return None


def _size(arrays: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """Return a number that the file may hold under one of the names."""
    for name in names:
        value = arrays.get(name)
        if isinstance(value, np.ndarray) and value.size == 1 and np.isfinite(value).all():
            return int(value.item())
    return None


def as_cube(
    array: object,
    *,
    shape: tuple[int, int] | None = None,
    wavelengths: object = None,
    mask: object = None,
    where: str = "cube",
) -> Cube:
    """Convert an array to a cube; mask bad bands and pixels, and record this in `notes`.

    Parameters
    ----------
    array : as `read_cube` finds it in a file; masked entries count as missing.
    shape : rows and columns of the image.
    wavelengths : of the bands.
    mask : (rows, columns), True or 1 for the pixels to use.
    where : the name of the array in messages.
    """
    if isinstance(array, Cube):
        return array
    values = numbers(array, where)
    notes: list[str] = []
    if values.size == 0:
        raise InvalidInput(f"{where} has shape {values.shape} and no pixel: check the file")
    if values.ndim == 3:
        n_bands = None if wavelengths is None else np.size(np.asarray(wavelengths))
        values = _bands_last(values, shape, n_bands, where, notes)
        shape = values.shape[0], values.shape[1]
        values = values.reshape(-1, values.shape[2])
    elif values.ndim == 2:
        values, shape = _pixels_first(values, shape, where, notes)
    else:
        raise InvalidInput(f"{where} has shape {values.shape}: rows x columns x bands are needed")
    values = values.astype(np.float64)
    outside = np.zeros(len(values), dtype=bool) if mask is None else ~_used(mask, shape, where)
    values[outside] = np.nan
    band_mask, pixel_mask = _usable(values, where, notes)
    if outside.any():
        notes.append(f"{counted(int(outside.sum()), 'pixel')} outside the mask left out")
    if missing := int((~pixel_mask & ~outside).sum()):
        notes.append(f"{counted(missing, 'pixel')} with missing values masked")
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


def _bands_last(
    values: NDArray[Any],
    shape: tuple[int, int] | None,
    n_bands: int | None,
    where: str,
    notes: list[str],
) -> NDArray[Any]:
    """Return (rows, columns, bands): as given, unless shape or wavelengths say otherwise."""
    turned = np.moveaxis(values, 0, 2)
    fitting = [cube for cube in (values, turned) if shape in (None, cube.shape[:2])]
    if not fitting:
        raise _other_shape(values, shape, where)
    fitting = [cube for cube in fitting if n_bands in (None, cube.shape[2])] or fitting[:1]
    doubtful = values.shape[1] == values.shape[2] != values.shape[0]
    if min(values.shape[1:]) >= SHORTEST_SIDE:
        doubtful |= _unlike(turned) < _unlike(values) / 2
    if len(fitting) == 2 and shape is None and doubtful:
        raise InvalidInput(
            f"{where} has shape {values.shape}, whose bands may come first or last",
            argument="shape",
            remedy="give {argument}: rows and columns of the image",
        )
    if fitting[0] is turned:
        notes.append("the first axis holds the bands")
    return fitting[0]


def _unlike(cube: NDArray[Any]) -> float:
    """Return the share of the pixels' energy outside of four spectra: small where bands are last.

    Spectra of a scene mix a few materials; lines across an image do not. At most 1000 are drawn.
    """
    spectra = cube.reshape(-1, cube.shape[2])
    spectra = np.nan_to_num(spectra[:: -(-len(spectra) // 1000)].astype(np.float64), posinf=0.0)
    energies = np.linalg.svd(spectra / max(np.abs(spectra).max(), 1e-300), compute_uv=False) ** 2
    return float(energies[4:].sum() / max(energies.sum(), 1e-300))


def _other_shape(values: NDArray[Any], shape: tuple[int, int] | None, where: str) -> InvalidInput:
    size = " x ".join(map(str, shape or ()))
    return InvalidInput(
        f"{where} has shape {values.shape}, which does not fit an image of {size} pixels",
        argument="shape",
        remedy="give the right {argument}: rows and columns",
    )


def _used(mask: object, shape: tuple[int, int], where: str) -> NDArray[np.bool_]:
    """Return which pixels a mask lets through."""
    values = np.asarray(mask)
    if values.dtype.kind not in "biuf" or np.squeeze(values).shape != shape:
        raise InvalidInput(
            f"the mask of {where} has shape {values.shape} and {values.dtype} entries: "
            f"give {shape[0]} x {shape[1]} numbers, 1 for pixels to use"
        )
    used: NDArray[np.bool_] = np.nan_to_num(values.ravel()) != 0
    return used


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
    raise _other_shape(values, shape, where)


def _usable(
    values: NDArray[np.float64], where: str, notes: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of bands that are neither constant nor mostly missing, and of complete pixels.

    Pixels without any value lie outside the image and say nothing about a band.
    """
    finite = np.isfinite(values)
    inside = finite.any(axis=1)
    low = np.min(values, axis=0, where=finite, initial=np.inf)
    high = np.max(values, axis=0, where=finite, initial=-np.inf)
    band_mask = (high > low) & (finite.sum(axis=0) > 0.5 * inside.sum())
    if not band_mask.any():
        raise InvalidInput(
            f"{where} has no band with a signal: each is constant or missing; check the file"
        )
    pixel_mask = np.asarray(finite[:, band_mask].all(axis=1))
    if not pixel_mask.any():
        raise InvalidInput(f"{where} has no pixel without missing values: fill them first")
    if not band_mask.all():
        dead = np.flatnonzero(~band_mask)
        shown = ", ".join(map(str, dead[:8] + 1)) + (", …" if len(dead) > 8 else "")
        notes.append(f"{counted(len(dead), 'dead band')} masked, counted from 1: {shown}")
    return band_mask, pixel_mask


# Pictures.

PICTURE_ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm"})
IMAGE_KEYS = ("X", "images", "data")


@dataclass(frozen=True, eq=False)
class Images:
    """Grey images as rows of pixels in [0, 1]; `shape` is (rows, columns) of one image.

    `scale` is the value that pixels were divided by because it was their largest.
    """

    pixels: NDArray[np.float64]
    shape: tuple[int, int]
    names: Sequence[str]
    notes: tuple[str, ...] = ()
    scale: float = 1.0


def read_images(
    path: str | Path, *, key: str | None = None, shape: tuple[int, int] | None = None
) -> Images:
    """Read images.

    Parameters
    ----------
    path : a folder of pictures (png, jpeg, …; colours become grey), or `.npy`, `.npz`, `.mat`
        with an array (images, rows, columns) or (images, pixels).
    key : name of the array in a file that holds several.
    shape : rows and columns of one image; needed for (images, pixels) unless it is square.
    """
    path = existing(path)
    if path.is_dir():
        return _from_folder(path)
    array = _stack(read_arrays(path, "images"), IMAGE_KEYS, key, path)
    return as_images(array, shape=shape, where=str(path))


def as_images(
    array: object,
    *,
    shape: tuple[int, int] | None = None,
    names: Sequence[str] | None = None,
    where: str = "images",
    scale: float | None = None,
) -> Images:
    """Return an array (images, rows, columns) or (images, pixels) as images in [0, 1].

    `scale` is the value that stands for 1; None takes the largest where it is more than 1.
    """
    if isinstance(array, Images):
        return array
    values = numbers(array, where)
    if values.ndim == 3:
        shape = values.shape[1], values.shape[2]
        values = values.reshape(len(values), -1)
    if values.ndim != 2 or 0 in values.shape:
        raise InvalidInput(f"{where} has shape {values.shape}: images x rows x columns are needed")
    if shape is None:
        side = round(values.shape[1] ** 0.5)
        shape = side, side
    if shape[0] * shape[1] != values.shape[1]:
        raise _other_shape(values, shape, where)
    pixels, scale, notes = _in_unit_range(values, where, scale)
    if names is None:
        names = [f"image {number}" for number in range(1, len(pixels) + 1)]
    return Images(pixels, shape, names, notes, scale)


def _in_unit_range(
    values: NDArray[np.floating], where: str, scale: float | None
) -> tuple[NDArray[np.float64], float, tuple[str, ...]]:
    """Return pixels, what they were divided by (bytes always by 255), and a note about that."""
    pixels = values.astype(np.float64)
    if not np.all(np.isfinite(pixels)):
        bad = int(np.count_nonzero(~np.isfinite(pixels).all(axis=1)))
        raise InvalidInput(f"{where} has {bad} images with missing pixels: fill or remove them")
    check_scale(largest_of(pixels), where)
    if pixels.min() < 0:
        raise InvalidInput(f"{where} has negative pixels: shift them to be >= 0")
    if values.dtype == np.uint8:
        return pixels / 255, 1.0, ()
    if scale is not None or pixels.max() <= 1:
        scale = 1.0 if scale is None else scale
        return pixels / scale, scale, ()
    largest = float(pixels.max())
    return pixels / largest, largest, (f"pixels were divided by their largest value {largest:g}",)


def _from_folder(folder: Path) -> Images:
    pillow = optional("PIL.Image", "reading pictures", "files")
    named = (p for p in folder.rglob("*") if p.suffix.lower() in PICTURE_ENDINGS)
    files = sorted(existing(file) for file in named)
    if not files:
        raise InvalidInput(f"{folder} has no pictures: put png or jpeg files into it")
    pictures: list[NDArray[np.uint8]] = []
    for file in files:
        with parsing(file, "picture"), pillow.open(file) as picture:
            check_unfolded(file, 4 * picture.width * picture.height)
            pictures.append(np.asarray(picture.convert("L")))
        if pictures[-1].shape != pictures[0].shape:
            first, other = pictures[0].shape, pictures[-1].shape
            raise InvalidInput(
                f"{file} is {other[0]} x {other[1]} but {files[0].name} is "
                f"{first[0]} x {first[1]}: resize the pictures to one size"
            )
    names = [str(file.relative_to(folder)) for file in files]
    return as_images(np.stack(pictures), names=names, where=str(folder))
