"""Endmembers beyond the purest pixels: corners of the simplex where the pixels end.

Where no pixel is pure, the purest ones span a simplex that is too small; where few are, some of
those averaged with them are not. Either way the pixels refute the averaged corners: they are much
likelier in another simplex, whose corners are then the endmembers
(`likeliest_simplex.py`).

Pixels of one brightness lie in a plane within their noise, and the likelihood decides. Pixels of
different brightness are brought to the plane along the ray through zero, which makes their noise
uneven: there the corners must leave many pixels outside, and the simplex must bring them inside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from provenmf.applications.unmixing.likeliest_simplex import (
    LikelySimplex,
    depths,
    likeliest_simplex,
    with_facets_moved,
    with_vertices,
)
from provenmf.applications.unmixing.noise import BandNoise, Spectra

Floats = NDArray[np.float64]

# Corners are refuted if the likelihood says so at this level: twice the log of its ratio is drawn
# from χ² with k (k − 1) degrees of freedom, the coordinates of the corners, if they are right.
LEVEL = 1e-3
# Pixels of different brightness refute corners if the simplex brings this share of them inside. On
# cubes with 5 % pure pixels the purest leave .1 % outside at most.
BROUGHT_IN = 0.01
OUTSIDE = 3.0  # standard deviations beyond a face that noise hardly reaches
# Standard deviations. Pixels farther from the plane of the others are left out, and means of the
# purest pixels farther outside a simplex refute it: no mixture lies there.
FAR = 4.0
FLAT = 1.1  # spread of the pixels about their plane, in units of the noise
MEDIAN = 0.6745  # of the absolute value of a standard normal variable
DARK = 0.5  # of the median brightness: darker pixels are too noisy, divided by their brightness
# Standard deviations by which facets may be off where pixels are not spread as assumed. Counted as
# an error of the corners, unless pure pixels say where they are.
UNEVEN = 0.5
LEAST_PIXELS = 2  # for each coordinate of a corner
MOST_PIXELS = 20_000  # of more, every second, third, … is taken


def with_corners_beyond(noise: BandNoise, pixels: Floats, spectra: Spectra) -> Spectra:
    """Return the spectra, or the corners of the likeliest simplex where the pixels refute them."""
    k = len(spectra.endmembers)
    rows = noise.coordinates(pixels[:: -(-len(pixels) // MOST_PIXELS)], k)
    corners = noise.coordinates(spectra.endmembers, k)
    plane = plane_of(rows)
    rows = rows[plane.holds(rows)]
    points, inner = plane.points(rows), plane.points(corners)
    if len(points) < LEAST_PIXELS * k * k or not np.isfinite(inner).all():
        return spectra
    if not plane.flat and share_outside(rows, corners) <= BROUGHT_IN:
        return spectra
    simplex = likeliest_simplex(points, inner)
    beyond = plane.rows(simplex.vertices)
    refuted = (
        is_likelier(points, simplex, inner)
        if plane.flat
        else share_outside(rows, corners) - share_outside(rows, beyond) > BROUGHT_IN
    )
    if not refuted or lie_outside(inner, spectra, simplex.vertices):
        return spectra
    moved = plane.rows(with_facets_moved(simplex.vertices, UNEVEN)) - beyond
    moved /= 1.0 + len(points) * simplex.pure[:, None]
    return replace(
        spectra,
        endmembers=noise.whitened(beyond) * noise.deviations,
        n_averaged=None,
        lean=noise.in_bands(moved) * noise.deviations,
        pure=simplex.pure,
    )


def is_likelier(points: Floats, simplex: LikelySimplex, corners: Floats) -> bool:
    """Tell whether the points refute the corners, by the ratio of likelihoods."""
    k = len(corners)
    ratio = 2.0 * len(points) * (with_vertices(points, corners).cost - simplex.cost)
    return bool(ratio > chi2.isf(LEVEL, k * (k - 1)))


def share_outside(rows: Floats, corners: Floats) -> float:
    """Return the share of rows outside the corners' cone by more than noise; 0 if it is flat.

    Faces of the cone do not depend on how bright the corners are, which is less well known.
    """
    if np.linalg.matrix_rank(corners) < len(corners):
        return 0.0
    faces = np.linalg.inv(corners)
    distances = rows @ faces / np.linalg.norm(faces, axis=0)
    return float(np.mean(distances.min(axis=1) < -OUTSIDE))


def lie_outside(inner: Floats, spectra: Spectra, vertices: Floats) -> bool:
    """Tell whether a mean of several of the purest pixels is outside: a single pixel may be odd."""
    several = np.ones(len(inner), dtype=bool)
    if spectra.n_averaged is not None:
        several = spectra.n_averaged > 1
    return bool((depths(inner[several], vertices) < -FAR).any())


class Plane(NamedTuple):
    """The plane that mixtures of the mean brightness lie in.

    normal : (k,), rows of the plane have the product one with it. directions : (k − 1, k), along
    it. flat : whether rows lie in it within their noise. noise : standard deviation of rows as
    points of the plane.
    """

    normal: Floats
    directions: Floats
    flat: bool = True
    noise: float = 1.0

    @property
    def centre(self) -> Floats:
        """The point of the plane next to zero."""
        return np.asarray(self.normal / (self.normal @ self.normal))

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        """Return which rows count: those near the plane, or bright enough to be brought there."""
        along = rows @ self.normal
        if self.flat:
            return np.asarray(np.abs(along - 1.0) <= FAR * np.linalg.norm(self.normal))
        return np.asarray(along > DARK * np.median(along))

    def points(self, rows: Floats) -> Floats:
        """Return rows (n, k) as points (n, k − 1) of the plane, with noise of one."""
        if not self.flat:
            rows = rows / (rows @ self.normal)[:, None]
        return np.asarray((rows - self.centre) @ self.directions.T / self.noise)

    def rows(self, points: Floats) -> Floats:
        """Return points of the plane as rows."""
        return np.asarray(self.noise * points @ self.directions + self.centre)


def plane_of(rows: Floats) -> Plane:
    """Return the plane of most of the rows (n, k), which have noise of one."""
    near = np.ones(len(rows), dtype=bool)
    for _ in range(3):
        ones = np.ones(np.count_nonzero(near))
        normal: Floats = np.linalg.lstsq(rows[near], ones, rcond=None)[0].astype(np.float64)
        length = float(np.linalg.norm(normal))
        apart = np.abs(rows @ normal - 1.0) / length
        spread = np.median(apart) / MEDIAN
        near = apart <= FAR * spread
    plane = Plane(normal, np.linalg.svd(normal[None])[2][1:], flat=bool(spread <= FLAT))
    if plane.flat:
        return plane
    # Noise across the plane moves a row along it by the slope of the ray through zero.
    bright = rows[plane.holds(rows)]
    slopes = np.einsum("ij,ij->i", plane.points(bright), plane.points(bright)) * length**2
    variances = (1.0 + slopes / (rows.shape[1] - 1)) / (bright @ normal) ** 2
    return plane._replace(noise=float(np.sqrt(variances.mean())))
