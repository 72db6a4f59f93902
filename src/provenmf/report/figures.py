"""Charts as plain data: what is drawn, never how.

The page draws them with `template/charts.js`, notebooks with matplotlib (`plots.py`). Both show
text as text, not as markup.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import shortened

Spec = dict[str, Any]
Curve = tuple[str, Any, Any]

# Colours that are told apart by colour-blind readers (after Okabe & Ito 2008), on white and black.
COLOURS = ("#0a7abf", "#e08a00", "#009e73", "#cc6aa2", "#3fb0e8", "#d55e00", "#8c6bb1", "#8a8a8a")
# From dark to bright, equal steps looking equal (the map called viridis).
SCALE = ("#440154 #482878 #3e4a89 #31688e #26828e #1f9e89 #35b779 #6ece58 #b5de2b #fde725").split()
# Levels of a value in a map: 16 bits, of which the last stands for a missing value.
LEVELS = 2**16 - 2


def numbers(values: Any, digits: int = 4) -> Any:
    """Return nested lists with `digits` significant digits; what is not finite becomes null."""
    if np.ndim(values):
        return [numbers(value, digits) for value in values]
    return float(f"{values:.{digits}g}") if np.isfinite(values) else None


def levels(values: NDArray[np.floating], largest: float) -> str:
    """Encode a matrix as 16-bit levels from zero to the largest value, in base64."""
    array = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(array)
    scaled = np.clip(np.where(finite, array, 0.0) / (largest or 1.0), 0, 1) * LEVELS
    whole = np.where(finite, np.round(scaled), LEVELS + 1).astype("<u2")
    return base64.b64encode(whole.tobytes()).decode()


@dataclass(frozen=True, eq=False)
class Lines:
    """Curves (name, x, y) with a legend; those named in `dotted` are dotted.

    `colours` are numbers of colours, one for each curve; by default they follow each other.
    """

    series: Sequence[Curve]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    dotted: Sequence[str] = ()
    colours: Sequence[int] = ()
    kind: ClassVar[str] = "lines"

    def spec(self) -> Spec:
        """Return the chart as data for the page; curves with the same x values share them."""
        places: list[Any] = []
        curves = []
        for number, (name, x, y) in enumerate(self.series):
            at = list(x) if any(isinstance(v, str) for v in x) else numbers(x, 6)
            if at not in places:
                places.append(at)
            curve = {"name": shortened(name, 40), "x": places.index(at), "y": numbers(y, 5)}
            colour = self.colours[number] if self.colours else number
            curves.append(curve | {"dotted": name in self.dotted, "colour": colour})
        return {
            "places": places,
            "curves": curves,
            "xLabel": self.x_label,
            "yLabel": self.y_label,
            "logX": bool(self.log_x),
            "logY": bool(self.log_y),
        }


@dataclass(frozen=True, eq=False)
class Columns:
    """Upright bars side by side; `kinds` names the group of each, which gives it its colour.

    With `parts`, bars are stacked of as many values (bars, parts), one colour for each part.
    """

    names: Sequence[object]
    values: Any
    value_label: str
    kinds: Sequence[str] = ()
    parts: Sequence[str] = ()
    kind: ClassVar[str] = "columns"

    def spec(self) -> Spec:
        """Return the chart as data for the page."""
        known = list(dict.fromkeys(self.kinds))
        return {
            "names": [str(name) for name in self.names],
            "values": numbers(np.atleast_2d(np.asarray(self.values).T).T, 3),
            "label": self.value_label,
            "kinds": known,
            "kindOf": [known.index(kind) for kind in self.kinds],
            "parts": [shortened(name, 40) for name in self.parts],
        }


@dataclass(frozen=True, eq=False)
class Map:
    """An image (rows, columns) in colours, pixels square; `step` image pixels make one here."""

    values: NDArray[np.floating]
    value_label: str
    largest: float
    step: int = 1
    kind: ClassVar[str] = "map"

    def spec(self) -> Spec:
        """Return the chart as data for the page."""
        return {
            "shape": list(self.values.shape),
            "levels": levels(self.values, self.largest),
            "high": self.largest,
            "label": self.value_label,
            "step": self.step,
        }


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes at positions (n, 2), coloured by group; `names` may have several lines.

    Corners are named positions; `labels` are short names beside the nodes.
    """

    positions: NDArray[np.floating]
    edges: NDArray[np.integer]
    names: Sequence[str]
    groups: NDArray[np.integer]
    group_names: Sequence[str]
    corners: NDArray[np.floating] | None = None
    labels: Sequence[str] = ()
    kind: ClassVar[str] = "network"

    def spec(self) -> Spec:
        """Return the chart as data for the page."""
        return {
            "positions": numbers(self.positions),
            "edges": np.asarray(self.edges).ravel().tolist(),
            "names": list(self.names),
            "groups": np.asarray(self.groups).tolist(),
            "groupNames": list(self.group_names),
            "corners": None if self.corners is None else numbers(self.corners),
            "labels": [shortened(label, 20) for label in self.labels],
        }


@dataclass(frozen=True, eq=False)
class Bubbles:
    """Circles at positions (n, 2) whose areas are sizes, with words in each; one can be chosen."""

    positions: NDArray[np.floating]
    sizes: NDArray[np.floating]
    names: Sequence[str]
    words: Sequence[Sequence[str]]
    kind: ClassVar[str] = "bubbles"

    def spec(self) -> Spec:
        """Return the chart as data for the page."""
        return {
            "positions": numbers(self.positions),
            "sizes": numbers(self.sizes),
            "names": [shortened(name, 60) for name in self.names],
            "words": [list(own) for own in self.words],
        }


@dataclass(frozen=True, eq=False)
class Tree:
    """Names joined two by two; `joins` has the numbers of both and how far the join is.

    A join takes the next number after the names and earlier joins.
    """

    names: Sequence[str]
    joins: Sequence[tuple[int, int, float]]
    value_label: str
    kind: ClassVar[str] = "tree"

    def order(self) -> list[int]:
        """Return the names so that no branches cross."""
        n = len(self.names)
        below: list[list[int]] = [[i] for i in range(n)]
        for first, second, _ in self.joins:
            below.append(below[first] + below[second])
        return below[-1]

    def branches(self) -> list[list[tuple[float, float]]]:
        """Return a path (value, place) of each join: up one branch, across, down the other."""
        place = {name: float(at) for at, name in enumerate(self.order())}
        value = dict.fromkeys(place, 0.0)
        paths = []
        for number, (a, b, far) in enumerate(self.joins, len(self.names)):
            paths.append([(value[a], place[a]), (far, place[a]), (far, place[b])])
            paths[-1].append((value[b], place[b]))
            place[number], value[number] = (place[a] + place[b]) / 2, far
        return paths

    def spec(self) -> Spec:
        """Return the chart as data for the page."""
        paths = [[numbers(point) for point in path] for path in self.branches()]
        names = [str(self.names[i]) for i in self.order()]
        return {"names": names, "paths": paths, "label": self.value_label}


Figure = Lines | Columns | Map | Network | Bubbles | Tree


# Small images inside the page, as PNG data URIs.


def grey_levels(image: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Scale to 0 … 255 from zero to the largest value; what is negative is black."""
    values = np.maximum(np.nan_to_num(np.asarray(image, dtype=np.float64)), 0.0)
    return np.round(255 * values / (values.max() or 1.0)).astype(np.uint8)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode an 8-bit image: grey (height, width), or color (height, width, 3)."""
    height, width = pixels.shape[:2]
    colour_type = 2 if pixels.ndim == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    bytes_a_row = pixels.size // max(height, 1)
    rows = np.zeros((height, bytes_a_row + 1), dtype=np.uint8)  # first byte: filter 0, none
    rows[:, 1:] = pixels.reshape(height, bytes_a_row)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def data_uri(image: NDArray[Any]) -> str:
    """Return 8-bit pixels, or an image (height, width) in grey, as a `data:` address."""
    pixels = image if image.dtype == np.uint8 else grey_levels(image)
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
