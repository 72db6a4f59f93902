"""Pictures of a cube: three of its bands as colours, and what the materials leave of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from provenmf.io.cubes import Cube

PIXELS_A_SIDE = 320
# Wavelengths of red, green and blue light, in nanometres.
LIGHT = (650.0, 550.0, 450.0)


def colour_bands(cube: Cube) -> tuple[int, int, int]:
    """Usable bands to show as red, green and blue: those of light where the file says which.

    Otherwise three bands that are spread over the spectrum, the last one red.
    """
    n = cube.pixels.shape[1]
    if cube.wavelengths is not None:
        lengths = cube.wavelengths * (1000.0 if cube.wavelengths.max() < 20 else 1.0)
        if lengths.min() <= LIGHT[2] and lengths.max() >= LIGHT[0]:
            red, green, blue = (int(np.abs(lengths - light).argmin()) for light in LIGHT)
            return red, green, blue
    return (5 * n) // 6, n // 2, n // 6


def false_colours(cube: Cube, bands: tuple[int, int, int]) -> NDArray[np.uint8]:
    """The image (rows, columns, 3) in three bands, each stretched between its 2 % and 98 %."""
    chosen = cube.pixels[:, list(bands)]
    low, high = np.quantile(chosen, [0.02, 0.98], axis=0)
    span = np.where(high > low, high - low, 1.0)
    full = np.zeros((cube.pixel_mask.size, 3), dtype=np.uint8)
    full[cube.pixel_mask] = np.round(255 * np.clip((chosen - low) / span, 0.0, 1.0))
    step = max(1, math.ceil(max(cube.shape) / PIXELS_A_SIDE))
    return np.ascontiguousarray(full.reshape(*cube.shape, 3)[::step, ::step])


def relative_residuals(
    pixels: NDArray[np.float64], abundances: NDArray[np.float64], endmembers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Length of what the materials leave of each pixel, over the length of the pixel."""
    left = np.linalg.norm(pixels - abundances @ endmembers, axis=1)
    lengths = np.linalg.norm(pixels, axis=1)
    return np.asarray(left / np.where(lengths > 0, lengths, 1.0))
