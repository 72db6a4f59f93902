"""Small images inside the page, as PNG data URIs."""

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


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode an 8-bit image: grey (height, width), or red, green and blue (height, width, 3)."""
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


def data_uri(image: NDArray[np.floating]) -> str:
    """An image (height, width) as a `data:` address, in grey."""
    return colour_uri(grey_levels(image))


def colour_uri(pixels: NDArray[np.uint8]) -> str:
    """8-bit pixels as a `data:` address."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()
