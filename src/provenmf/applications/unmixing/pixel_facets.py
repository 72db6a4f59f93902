"""Endmembers beyond the pixels: corners of the simplex where the pixels end.

Where no pixel is pure, the purest ones span a simplex that is too small, and many pixels lie
outside of it by more than their noise. Such pixels refute it. Then the endmembers are the corners
of the likeliest simplex around all pixels (`solvers/separable/likeliest_simplex.py`), if it leaves
clearly fewer of them outside: single odd pixels are outside of either.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.unmixing.band_noise import BandNoise, Spectra
from provenmf.solvers.separable.likeliest_simplex import likeliest_simplex, with_facets_moved

Floats = NDArray[np.float64]

FAR = 3.0  # standard deviations beyond a facet that noise hardly reaches
# A larger simplex is believed if it brings more than this share of the pixels inside. On cubes with
# 5 % pure pixels the purest leave .1 % outside at most, on cubes without pure pixels 1.2 to 83 %.
BROUGHT_IN = 0.01
FLAT = 2.0  # standard deviations, within which half of the pixels must be near the plane
# Standard deviations of the noise by which facets are off where pixels do not lie evenly beside
# them: −.2 with even abundances up to .8, .8 with Dirichlet(.5) ones. Counted as an error.
UNEVEN = 0.5
MOST_PIXELS = 20_000  # of more, every second, third, … is taken


def with_corners_beyond(noise: BandNoise, pixels: Floats, spectra: Spectra) -> Spectra:
    """The spectra, or the corners of the likeliest simplex where the pixels refute them."""
    k = len(spectra.endmembers)
    rows = noise.coordinates(pixels[:: -(-len(pixels) // MOST_PIXELS)], k)
    corners = noise.coordinates(spectra.endmembers, k)
    before = share_outside(rows, corners)
    plane = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    apart = (rows @ plane - 1.0) / np.linalg.norm(plane)
    # Pixels of different brightness lie in no plane: nothing is known of their facets.
    if before <= BROUGHT_IN or np.median(np.abs(apart)) > FLAT:
        return spectra
    centre, directions = plane / (plane @ plane), np.linalg.svd(plane[None])[2][1:]
    points, inner = ((found - centre) @ directions.T for found in (rows, corners))
    simplex = likeliest_simplex(points, inner)
    beyond = simplex @ directions + centre
    if before - share_outside(rows, beyond) <= BROUGHT_IN:
        return spectra
    moved = with_facets_moved(simplex, UNEVEN) - simplex
    return replace(
        spectra,
        endmembers=noise.whitened(beyond) * noise.deviations,
        n_averaged=None,
        lean=noise.in_bands(moved @ directions) * noise.deviations,
        outside=before,
    )


def share_outside(rows: Floats, corners: Floats) -> float:
    """Share of the rows outside the corners' cone by more than their noise; none if it is flat.

    Faces of the cone do not depend on how bright the corners are, which is less well known.
    """
    if np.linalg.matrix_rank(corners) < len(corners):
        return 0.0
    faces = np.linalg.inv(corners)
    distances = rows @ faces / np.linalg.norm(faces, axis=0)
    return float(np.mean(distances.min(axis=1) < -FAR))
