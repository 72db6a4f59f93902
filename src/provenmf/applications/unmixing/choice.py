"""Means of the purest pixels, or the corners of a simplex around all pixels: the pixels decide.

Where no pixel is pure, the purest ones span a simplex that is too small; where few are, some of
those averaged with them are not. The most likely simplex (`likeliest_simplex.py`) may have its
corners beyond all pixels. It is judged by pixels that it has not seen: fitted to every second
pixel, it must make the others likelier than the purest pixels do.

Pixels of different brightness are projected onto one plane along the ray through zero. Spectra that
vary within their materials count as noise: its variance is what the materials leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.unmixing.likeliest_simplex import (
    LikelySimplex,
    climbed,
    depths,
    filled_volume,
    likeliest_simplex,
    log_likelihood,
    log_volume,
    with_facets_moved,
    with_vertices,
)
from provenmf.applications.unmixing.noise import BandNoise, Spectra

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChoiceSettings:
    """Thresholds of the choice; distances in standard deviations of the noise."""

    far: float = 4.0  # pixels farther than noise reaches are left out of the plane
    outside: float = 0.1  # of a height: pure pixels outside a simplex by more refute it
    vary: float = 1.1  # times the variance of the noise
    noise_alone: float = 1.0  # the same; cubes of the model have .93 to .96
    flat: float = 1.1  # spread of the pixels about their plane if their brightness is the same
    dark: float = 0.5  # of the median brightness: darker pixels are too noisy on the plane
    # Facets may be off by this where pixels are not spread as assumed; an error of the corners.
    uneven: float = 0.5
    least_pixels: int = 2  # for each coordinate of a corner
    most_pixels: int = 20_000  # most pixels; of more, every second, third, … is taken


SETTINGS = ChoiceSettings()
LEAST_SIZE = 3  # pixels of a group: fewer are taken for accidents
MEDIAN = 0.6745  # of the absolute value of a standard normal variable


def best_spectra(
    noise: BandNoise,
    pixels: Floats,
    averaged: Spectra,
    grouped: Floats | None,
    corners: bool | None = None,
) -> Spectra | None:
    """Return the means of the purest pixels or the corners of a simplex; None for grouped pixels.

    Parameters
    ----------
    pixels : (n, bands), not whitened.
    averaged : means of the purest pixels.
    grouped : (k, bands), endmembers among groups of near-identical pixels, if there are any. Where
        spectra vary, or a purest pixel stands alone and may just be odd, they take the place of
        the means if they make unseen pixels likelier.
    corners : whether to take the simplex, if that was decided before.
    """
    k = len(averaged.endmembers)
    left, noise = noise.left_by(k), noise.widened(k)
    rows = noise.coordinates(pixels[:: -(-len(pixels) // SETTINGS.most_pixels)], k)
    plane = plane_of(rows, vary=left > SETTINGS.noise_alone)
    points = plane.points(rows[plane.holds(rows)])
    if corners is False or len(points) < SETTINGS.least_pixels * k * k:
        return averaged
    means = plane.points(noise.coordinates(averaged.endmembers, k))
    # Where the simplex was chosen before, any that reaches beyond the pixels is likelier.
    purest, fixed = means, -np.inf if corners else unseen_log_likelihood(points, means)
    alone = averaged.n_averaged is not None and bool((averaged.n_averaged <= 1).any())
    if grouped is not None and (left > SETTINGS.vary or alone):
        groups = plane.points(noise.coordinates(grouped, k))
        likelihood = unseen_log_likelihood(points, groups)
        if likelihood > fixed:
            purest, fixed = groups, likelihood
    simplex = corners_beyond(points, purest, fixed, means)
    if simplex is None:
        return averaged if purest is means else None
    beyond = plane.rows(simplex.vertices)
    moved = plane.rows(with_facets_moved(simplex.vertices, SETTINGS.uneven)) - beyond
    moved /= 1.0 + len(points) * simplex.pure[:, None]
    return replace(
        averaged,
        endmembers=noise.whitened(beyond) * noise.deviations,
        n_averaged=None,
        lean=noise.in_bands(moved) * noise.deviations,
        pure=simplex.pure,
    )


def corners_beyond(
    points: Floats, purest: Floats, fixed: float, start: Floats
) -> LikelySimplex | None:
    """Return the likeliest simplex where unseen points prefer it to the purest, otherwise None.

    It must reach beyond the purest points and leave none of them outside.

    fixed : log-likelihood of unseen points by the purest ones. start : corners to try besides.
    """
    if not np.isfinite(purest).all():
        return None
    starts = [purest] if purest is start or not np.isfinite(start).all() else [purest, start]
    simplex = min((likeliest_simplex(points, s) for s in starts), key=lambda end: end.cost)
    if not log_volume(simplex.vertices) > log_volume(purest):
        return None
    heights = np.diag(depths(simplex.vertices, simplex.vertices))
    outside = depths(purest, simplex.vertices)
    if (outside < -np.maximum(SETTINGS.far, SETTINGS.outside * heights)).any():
        return None
    if not np.isfinite(fixed):
        return simplex
    return simplex if unseen_log_likelihood(points, purest, simplex) > fixed else None


def unseen_log_likelihood(
    points: Floats, corners: Floats, start: LikelySimplex | None = None
) -> float:
    """Return the log-likelihood of unseen points; −∞ where nothing can be fitted.

    Both halves of the points judge what is fitted to the other half: the spread of the mixtures of
    these corners, which were found in all points, or vertices and spread from a start.
    """
    filled, found = filled_volume(points), 0.0
    if not np.isfinite(corners).all():
        return -np.inf
    for seen, unseen in ((points[::2], points[1::2]), (points[1::2], points[::2])):
        fitted = with_vertices(seen, corners) if start is None else climbed(seen, start, 50)
        if not np.isfinite(fitted.cost):
            return -np.inf
        found += log_likelihood(unseen, fitted, filled)
    return found


class Plane(NamedTuple):
    """The plane that mixtures of the mean brightness lie in.

    normal : (k,), rows of the plane have the product one with it. directions : (k − 1, k), along
    it. noise : (k − 1, k − 1), Cholesky factor of the covariance of rows as points of the plane.
    flat : whether rows lie in it within their noise.
    """

    normal: Floats
    directions: Floats
    noise: Floats
    flat: bool = True

    @property
    def centre(self) -> Floats:
        """The point of the plane next to zero."""
        return np.asarray(self.normal / (self.normal @ self.normal))

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        """Return the usable rows: those near the plane, or bright enough to be scaled onto it."""
        along = rows @ self.normal
        if self.flat:
            return np.asarray(np.abs(along - 1.0) <= SETTINGS.far * np.linalg.norm(self.normal))
        return np.asarray(along > SETTINGS.dark * np.median(along))

    def points(self, rows: Floats) -> Floats:
        """Return rows (n, k) as points (n, k − 1) of the plane, with noise of one; NaN if dark."""
        if not self.flat:
            along = (rows @ self.normal)[:, None]
            rows = rows / np.where(along > 0, along, np.nan)
        moved = (rows - self.centre) @ self.directions.T
        return np.asarray(np.linalg.solve(self.noise, moved.T).T)

    def rows(self, points: Floats) -> Floats:
        """Return points of the plane as rows."""
        return np.asarray(points @ self.noise.T @ self.directions + self.centre)


def plane_of(rows: Floats, *, vary: bool = False) -> Plane:
    """Return the plane of most of the rows (n, k), which have noise of one.

    Where spectra vary there is more than noise inside the plane, to an unknown degree: each of its
    directions then counts as much as their mean.
    """
    near = np.ones(len(rows), dtype=bool)
    for _ in range(3):
        ones = np.ones(np.count_nonzero(near))
        normal: Floats = np.linalg.lstsq(rows[near], ones, rcond=None)[0].astype(np.float64)
        length = float(np.linalg.norm(normal))
        apart = np.abs(rows @ normal - 1.0) / length
        spread = np.median(apart) / MEDIAN
        near = apart <= SETTINGS.far * spread
    white = np.eye(rows.shape[1] - 1)
    directions = np.linalg.svd(normal[None])[2][1:]
    plane = Plane(normal, directions, white, flat=bool(spread <= SETTINGS.flat))
    if plane.flat:
        return plane
    # Noise across the plane moves a row x along it by the slope of the ray through zero, which is
    # oblique: the covariance is (I + x xᵀ |normal|²) / brightness².
    bright = rows[plane.holds(rows)]
    slopes = length * plane.points(bright)
    weights = (bright @ normal) ** -2.0
    covariance = weights.mean() * white + (slopes * weights[:, None]).T @ slopes / len(bright)
    if vary:
        covariance = np.trace(covariance) / len(white) * white
    return plane._replace(noise=np.linalg.cholesky(covariance))
