"""Read images of one size: a folder of pictures, or arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.io.arrays import numbers
from provenmf.io.files import check_unfolded, existing, optional, parsing
from provenmf.io.matrices import choose_array, read_arrays
from provenmf.linalg.storage import check_scale, largest_of

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
    arrays = read_arrays(path, "images")
    if key is None:
        known = (name for name in ("", *IMAGE_KEYS) if isinstance(arrays.get(name), np.ndarray))
        key = next(known, None)
    array = choose_array(arrays, key, path, dimensions=(2, 3))
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
        raise InvalidInput(
            f"{where} has {values.shape[1]} pixels an image, not {shape[0]} x {shape[1]}",
            argument="shape",
            remedy="give {argument}: rows and columns",
        )
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
