"""Maps as files for image and geographic programs: ENVI and (Geo)TIFF, both written here."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.io.output import write_aside

ENDINGS = (".hdr", ".tif", ".tiff")
SHORT, LONG, DOUBLE, TEXT = 3, 4, 12, 2
FORMATS = {SHORT: "H", LONG: "I", DOUBLE: "d"}
UTM_ZONES = tuple(str(zone) for zone in range(1, 61))
Tag = tuple[int, int, Sequence[int] | Sequence[float] | bytes]


def write_maps(
    path: str | Path, maps: NDArray[np.floating], names: Sequence[str], map_info: str = ""
) -> list[Path]:
    """Write maps (k, rows, columns) with a name for each; the ending chooses the format.

    Parameters
    ----------
    path : `.hdr` writes an ENVI header and, beside it, the numbers in an `.img` file; `.tif` one
        TIFF file, a GeoTIFF where `map_info` is known and of a kind that can be said in one.
    maps : values, NaN where there is none; written in single precision.
    names : of the maps.
    map_info : the entry of that name in the ENVI header of the data, without braces.

    Returns
    -------
    list of Path
        The files written.
    """
    path = Path(path)
    values = np.ascontiguousarray(maps, dtype="<f4")
    if path.suffix.lower() == ".hdr":
        image = path.with_suffix(".img")
        write_aside(image, lambda file: file.write(values.tobytes()))
        header = envi_header(values.shape, names, map_info)
        write_aside(path, lambda file: file.write(_encoded(header)))
        return [path, image]
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"{path} cannot hold maps: end it in .hdr (ENVI) or .tif")
    content = tiff(values, names, map_info)
    write_aside(path, lambda file: file.write(content))
    return [path]


def envi_header(shape: tuple[int, ...], names: Sequence[str], map_info: str = "") -> str:
    """The text that says how to read a file of single-precision numbers, map after map."""
    shown = ", ".join(re.sub(r"[{},\n]", " ", name) for name in names)
    lines = [
        "ENVI",
        "description = {Maps written by provenmf}",
        f"samples = {shape[2]}",
        f"lines = {shape[1]}",
        f"bands = {shape[0]}",
        "header offset = 0",
        "file type = ENVI Standard",
        "data type = 4",
        "interleave = bsq",
        "byte order = 0",
        "data ignore value = nan",
        f"band names = {{{shown}}}",
        *([f"map info = {{{map_info}}}"] if map_info else []),
    ]
    return "\n".join(lines) + "\n"


def geographic_tags(map_info: str) -> list[Tag]:
    """Place, size and system of the pixels, for UTM and longitude/latitude on WGS-84; else none."""
    parts = [part.strip() for part in map_info.split(",")]
    if len(parts) < 7 or "WGS-84" not in map_info.upper().replace("WGS84", "WGS-84"):
        return []
    try:
        column, row, x, y, width, height = (float(part) for part in parts[1:7])
    except ValueError:
        return []
    if parts[0].upper() == "UTM" and len(parts) >= 9 and parts[7] in UTM_ZONES:
        south = parts[8].lower().startswith("s")
        model, key, code = 1, 3072, (32700 if south else 32600) + int(parts[7])
    elif parts[0].lower().startswith("geographic"):
        model, key, code = 2, 2048, 4326
    else:
        return []
    directory = [1, 1, 0, 3, 1024, 0, 1, model, 1025, 0, 1, 1, key, 0, 1, code]
    return [
        (33550, DOUBLE, [width, height, 0.0]),
        (33922, DOUBLE, [column - 1, row - 1, 0.0, x, y, 0.0]),
        (34735, SHORT, directory),
    ]


def tiff(values: NDArray[np.float32], names: Sequence[str], map_info: str = "") -> bytes:
    """A TIFF file (version 6.0) of single-precision maps, one strip each, not compressed."""
    k, rows, columns = values.shape
    size = 4 * rows * columns
    if k * size >= 2**32 - 2**20:
        raise InvalidInput("the maps have more than 4 GB, too much for a TIFF: write ENVI (.hdr)")
    items = "".join(
        f'<Item name="DESCRIPTION" sample="{i}" role="description">{escape(name)}</Item>'
        for i, name in enumerate(names)
    )
    tags: list[Tag] = [
        (256, LONG, [columns]),
        (257, LONG, [rows]),
        (258, SHORT, [32] * k),
        (259, SHORT, [1]),  # not compressed
        (262, SHORT, [1]),  # black is zero
        (270, TEXT, _encoded(f"Maps written by provenmf: {'; '.join(names)}\0")),
        (273, LONG, [8 + i * size for i in range(k)]),
        (277, SHORT, [k]),
        (278, LONG, [rows]),
        (279, LONG, [size] * k),
        (284, SHORT, [2]),  # map after map
        *([(338, SHORT, [0] * (k - 1))] if k > 1 else []),
        (339, SHORT, [3] * k),  # floating point
        *geographic_tags(map_info),
        (42112, TEXT, _encoded(f"<GDALMetadata>{items}</GDALMetadata>\0")),
        (42113, TEXT, b"nan\0"),
    ]
    directory = 8 + k * size
    return struct.pack("<2sHI", b"II", 42, directory) + values.tobytes() + _packed(tags, directory)


def _packed(tags: list[Tag], start: int) -> bytes:
    """A directory of tags that begins at `start`, followed by what does not fit into it."""
    entries, rest = b"", b""
    after = start + 2 + 12 * len(tags) + 4
    for number, kind, values in tags:
        if isinstance(values, bytes):
            content = values
        else:
            content = struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)
        entries += struct.pack("<HHI", number, kind, len(values))
        if len(content) <= 4:
            entries += content.ljust(4, b"\0")
        else:
            entries += struct.pack("<I", after + len(rest))
            rest += content + b"\0" * (len(content) % 2)
    return struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0) + rest


def _encoded(text: str) -> bytes:
    """Names from damaged texts may hold characters that no encoding has."""
    return text.encode(errors="replace")
