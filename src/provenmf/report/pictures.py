"""Small grey images inside the page, as PNG data URIs."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray


def grey_levels(image: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Scale to 0 … 255 from zero to the largest value; what is negative is black."""
    values = np.maximum(np.nan_to_num(np.asarray(image, dtype=np.float64)), 0.0)
    return np.round(255 * values / (values.max() or 1.0)).astype(np.uint8)


def png(grey: NDArray[np.uint8]) -> bytes:
    """Encode an 8-bit grey image."""
    height, width = grey.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # first byte of a row: filter 0, none
    rows[:, 1:] = grey
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def data_uri(image: NDArray[np.floating]) -> str:
    """An image (height, width) as a `data:` address."""
    return "data:image/png;base64," + base64.b64encode(png(grey_levels(image))).decode()
