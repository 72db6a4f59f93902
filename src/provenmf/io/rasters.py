"""Images of many bands in files of geographic programs: ENVI and (Geo)TIFF."""

from __future__ import annotations

import glob
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile, optional
from provenmf.io.child import read_in_child
from provenmf.io.files import check_unfolded, existing, parsing

ENDINGS = (".hdr", ".tif", ".tiff")
NO_DATA = 42113  # the tag of GDAL


def read_raster(path: Path) -> tuple[NDArray[Any], Sequence[float] | None]:
    """Read a TIFF file, or the image of an ENVI header.

    Returns values (rows, columns, bands), NaN where the file says that there are none, and the
    wavelengths if the file has them.
    """
    if path.suffix.lower() != ".hdr":
        values = read_in_child("rasters:read_tiff", path)["values"]
        if isinstance(values, str):
            raise UnreadableFile(f"{path} holds {values}, not numbers: convert it")
        return values, None
    envi = optional("spectral.io.envi", "reading an ENVI cube", "files")
    logging.getLogger("spectral").setLevel(logging.ERROR)  # it prints what the notes say
    with parsing(path, "ENVI header"):
        header = envi.read_envi_header(str(path))
        kind = str(header.get("file type", "ENVI Standard")).strip()
        if "envi" not in kind.lower():
            raise UnreadableFile(
                f"{path} describes a file of type {kind!r:.40}: give that file, if it is a TIFF "
                "image, or convert it to ENVI Standard"
            )
        values, centers = _read_plain_envi(envi, path)
        if centers is not None and len(centers) != values.shape[2]:
            raise UnreadableFile(f"{path} has {len(centers)} wavelengths for its bands")
        values = _without(values, _numbers(header.get("data ignore value")))
        good = _numbers(header.get("bbl"))
        if good is not None and len(good) == values.shape[2]:  # the list of bad bands
            values = np.where(np.array(good) != 0, values, np.nan)
    return values, centers


def _read_plain_envi(envi: Any, path: Path) -> tuple[NDArray[Any], Sequence[float] | None]:
    """Read raw numbers in the layout that the header declares."""
    neighbours = [existing(file) for file in path.parent.glob(f"{glob.escape(path.stem)}*")]
    stored = sum(file.stat().st_size for file in neighbours)
    image = envi.open(str(path))
    declared = image.nrows * image.ncols * image.nbands * np.dtype(image.dtype).itemsize
    if not 0 < declared <= stored:
        raise UnreadableFile(
            f"{path} declares {declared} bytes but the files beside it have {stored}: "
            "give the data that belong to it"
        )
    with open(image.filename, "rb") as file:
        if file.read(4) in (b"II*\0", b"MM\0*"):
            raise UnreadableFile(
                f"{path} describes raw numbers, but {Path(image.filename).name} is a TIFF image: "
                "give that file itself"
            )
    return np.asarray(image.load()), image.bands.centers


def _numbers(told: Any) -> list[float] | None:
    if told is None:
        return None
    return [float(number) for number in ([told] if isinstance(told, str) else told)]


def _without(values: NDArray[Any], missing: list[float] | None) -> NDArray[Any]:
    """Replace the no-data value by NaN."""
    if not missing or not (values == missing[0]).any():
        return values
    return np.where(values == missing[0], np.nan, values)


def read_tiff(path: Path) -> list[tuple[str, Any]]:
    """Read a TIFF file in any order of its axes; runs in the child of `read_in_child`."""
    tifffile = optional("tifffile", "reading a TIFF image", "files")
    with tifffile.TiffFile(path) as file:
        series, tags = file.series[0], file.pages[0].tags
        check_unfolded(path, int(np.prod(series.shape)) * series.dtype.itemsize)
        axes = series.axes
        if "X" not in axes or "Y" not in axes:
            raise UnreadableFile(f"{path} has the axes {axes}: rows and columns are needed")
        try:
            values = series.asarray()
        except ValueError as error:
            if "imagecodecs" not in str(error):
                raise
            raise UnreadableFile(
                f"{path} is compressed by {file.pages[0].compression.name}: install imagecodecs, "
                "or save it without compression"
            ) from error
        values = np.moveaxis(values, (axes.index("Y"), axes.index("X")), (0, 1))
        values = values.reshape(*values.shape[:2], -1)
        told = str(tags[NO_DATA].value).strip("\0 ") if NO_DATA in tags else "nan"
        return [("values", _without(values, [float(told)]))]
