"""Images of many bands in files of geographic programs: ENVI and (Geo)TIFF."""

from __future__ import annotations

import glob
import io
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.child import NotNumbers, read_in_child
from provenmf.io.files import check_unfolded, existing, optional, parsing, write_aside

TIFF_ENDINGS = (".tif", ".tiff")
ENDINGS = (".hdr", *TIFF_ENDINGS)
UTM_ZONES = tuple(str(zone) for zone in range(1, 61))
# Tags of GeoTIFF 1.1 and of GDAL, and keys of the geographic directory.
PIXEL_SCALE, TIE_POINT, DIRECTORY = 33550, 33922, 34735
GDAL_METADATA, NO_DATA = 42112, 42113
MODEL, RASTER, GEOGRAPHIC, PROJECTED = 1024, 1025, 2048, 3072


@dataclass(frozen=True, eq=False)
class Raster:
    """Values (rows, columns, bands), NaN where the file says that there are none.

    `map_info` is where the image lies on the Earth, as an ENVI header says it.
    """

    values: NDArray[Any]
    wavelengths: Sequence[float] | None = None
    map_info: str = ""


def read_raster(path: Path) -> Raster:
    """Read a TIFF file, or the image of an ENVI header."""
    if path.suffix.lower() != ".hdr":
        found = read_in_child("rasters:read_tiff", path)
        if isinstance(found["values"], NotNumbers):
            raise UnreadableFile(f"{path} holds {found['values'].what}, not numbers: convert it")
        return Raster(found["values"], None, found["map_info"])
    envi = optional("spectral.io.envi", "reading an ENVI cube", "files")
    logging.getLogger("spectral").setLevel(logging.ERROR)  # it prints what the notes say
    with parsing(path, "ENVI header"):
        header = envi.read_envi_header(str(path))
        told = header.get("map info", ())
        map_info = (told if isinstance(told, str) else ", ".join(map(str, told))).strip()
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
    return Raster(values, centers, map_info)


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
        values = np.moveaxis(series.asarray(), (axes.index("Y"), axes.index("X")), (0, 1))
        values = values.reshape(*values.shape[:2], -1)
        told = str(tags[NO_DATA].value).strip("\0 ") if NO_DATA in tags else "nan"
        return [
            ("values", _without(values, [float(told)])),
            ("map_info", _map_info(tags)),
        ]


def _map_info(tags: Any) -> str:
    """Say where an image lies as an ENVI header does, for UTM and longitude/latitude on WGS-84."""
    if not all(tag in tags for tag in (PIXEL_SCALE, TIE_POINT, DIRECTORY)):
        return ""
    directory = tags[DIRECTORY].value
    keys = {directory[i]: directory[i + 3] for i in range(4, len(directory) - 3, 4)}
    column, row, _, x, y, _ = tags[TIE_POINT].value[:6]
    width, height = tags[PIXEL_SCALE].value[:2]
    place = f"{column + 1:g}, {row + 1:g}, {x!r}, {y!r}, {width!r}, {height!r}"
    code = keys.get(PROJECTED, 0)
    if 32601 <= code <= 32660 or 32701 <= code <= 32760:
        return f"UTM, {place}, {code % 100}, {'South' if code > 32700 else 'North'}, WGS-84"
    return f"Geographic Lat/Lon, {place}, WGS-84" if keys.get(GEOGRAPHIC) == 4326 else ""


def write_maps(
    path: str | Path, maps: NDArray[np.floating], names: Sequence[str], map_info: str = ""
) -> Path:
    """Write maps (k, rows, columns) with a name for each as a TIFF file; return its path.

    Parameters
    ----------
    path : of the file (`.tif`), a GeoTIFF where `map_info` is of a kind that can be said in one.
    maps : values, NaN where there is none; written in single precision.
    names : of the maps.
    map_info : the entry of that name in the ENVI header of the data, without braces.
    """
    path = Path(path)
    values = np.ascontiguousarray(maps, dtype="<f4")
    if path.suffix.lower() not in TIFF_ENDINGS:
        raise InvalidInput(f"{path} cannot hold maps: end it in .tif")
    tifffile = optional("tifffile", "writing a TIFF image", "files")
    description = f"Maps written by provenmf: {'; '.join(names)}"
    items = "".join(
        f'<Item name="DESCRIPTION" sample="{i}" role="description">{escape(name)}</Item>'
        for i, name in enumerate(names)
    )
    named = f"<GDALMetadata>{items}</GDALMetadata>".encode(errors="replace")
    told = [(GDAL_METADATA, "s", 0, named, True), (NO_DATA, "s", 0, b"nan", True)]
    content = io.BytesIO()
    tifffile.imwrite(
        content,
        values,
        byteorder="<",
        bigtiff=values.nbytes > 2**32 - 2**20,
        photometric="minisblack",
        planarconfig="separate" if len(values) > 1 else None,
        description=description.encode("ascii", "replace"),
        metadata=None,
        software=False,
        extratags=[*told, *geographic_tags(map_info)],
    )
    write_aside(path, lambda file: file.write(content.getbuffer()))
    return path


def geographic_tags(map_info: str) -> list[tuple[int, str, int, Sequence[float], bool]]:
    """Return origin, pixel size and coordinate system as TIFF tags, if known.

    UTM and longitude/latitude on WGS-84 are.
    """
    parts = [part.strip() for part in map_info.split(",")]
    if len(parts) < 7 or "WGS-84" not in map_info.upper().replace("WGS84", "WGS-84"):
        return []
    try:
        column, row, x, y, width, height = (float(part) for part in parts[1:7])
    except ValueError:
        return []
    if parts[0].upper() == "UTM" and len(parts) >= 9 and parts[7] in UTM_ZONES:
        south = parts[8].lower().startswith("s")
        model, key, code = 1, PROJECTED, (32700 if south else 32600) + int(parts[7])
    elif parts[0].lower().startswith("geographic"):
        model, key, code = 2, GEOGRAPHIC, 4326
    else:
        return []
    directory = [1, 1, 0, 3, MODEL, 0, 1, model, RASTER, 0, 1, 1, key, 0, 1, code]
    return [
        (PIXEL_SCALE, "d", 3, (width, height, 0.0), True),
        (TIE_POINT, "d", 6, (column - 1, row - 1, 0.0, x, y, 0.0), True),
        (DIRECTORY, "H", len(directory), tuple(directory), True),
    ]
