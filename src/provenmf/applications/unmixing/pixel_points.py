"""Pixels as the points among which endmembers are sought, and the way back to spectra."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.unmixing.band_noise import (
    BandNoise,
    Spectra,
    averaged_spectra,
    band_noise,
)
from provenmf.applications.unmixing.exchange import exchanged
from provenmf.applications.unmixing.grouping import Groups, group_rows
from provenmf.applications.unmixing.pixel_facets import with_corners_beyond
from provenmf.data import as_blocks
from provenmf.methods.weights import encode
from provenmf.results import Factorization


@dataclass(frozen=True)
class UnmixingSettings:
    """What is needed, besides the cube, to build the factorized matrix again."""

    n_endmembers: int | None = None
    group: bool = True
    group_radius: float | None = None
    scale: bool = True
    project: bool = False


@dataclass(frozen=True, eq=False)
class PixelProblem:
    """Points for the search of endmembers, each divided by its scale.

    They are pixels, group means, or pixels projected and in units of the noise of their bands.
    """

    points: NDArray[np.float64]
    scales: NDArray[np.float64]
    groups: Groups | None
    noise: BandNoise | None = None

    def spectra(self, factorization: Factorization) -> NDArray[np.float64]:
        """Endmembers at their own brightness."""
        components = np.asarray(factorization.components, dtype=np.float64)
        if self.noise is not None:
            components = components * self.noise.deviations
        if factorization.anchors is None:  # their brightness is unknown: take the mean one
            return components * float(self.scales.mean())
        return components * self.scales[factorization.anchors, None]

    def explaining(self, anchors: NDArray[np.intp]) -> NDArray[np.intp]:
        """The anchors, found by shape, exchanged for groups that explain the pixels better."""
        if self.groups is None or (self.scales == 1.0).all():
            return anchors
        return exchanged(self.groups.means, self.groups.sizes, self.points, anchors)


def pixel_problem(
    pixels: NDArray[np.float64], settings: UnmixingSettings, noise: BandNoise | None = None
) -> PixelProblem:
    """The matrix in which endmembers are sought; `noise` is that of the pixels, if at hand."""
    if settings.project:
        noise = noise or band_noise(pixels)
    if noise is not None and settings.project and settings.n_endmembers is not None:
        scales = _scales(pixels, settings)
        points = noise.whitened(noise.coordinates(pixels, settings.n_endmembers))
        return PixelProblem(points / scales[:, None], scales, None, noise)
    groups = None
    if settings.group:
        groups = group_rows(pixels, settings.n_endmembers, radius=settings.group_radius)
    points = pixels if groups is None else groups.means
    scales = _scales(points, settings)
    return PixelProblem(points / scales[:, None], scales, groups)


def endmembers_of(
    problem: PixelProblem, pixels: NDArray[np.float64], factorization: Factorization
) -> Spectra:
    """Endmembers at their own brightness; averaged, or beyond the pixels, with known noise."""
    anchors = factorization.anchors
    if anchors is None:
        return Spectra(problem.spectra(factorization))
    if problem.noise is not None:
        averaged = averaged_spectra(problem.noise, pixels, problem.scales, anchors)
        return with_corners_beyond(problem.noise, pixels, averaged)
    chosen = problem.explaining(anchors)
    spectra = problem.spectra(factorization)
    new = chosen != anchors
    spectra[new] = problem.points[chosen[new]] * problem.scales[chosen[new], None]
    return Spectra(spectra, chosen)


def _scales(points: NDArray[np.float64], settings: UnmixingSettings) -> NDArray[np.float64]:
    """What each point is divided by: the sum of its spectrum, or one."""
    scales = points.sum(axis=1) if settings.scale else np.ones(len(points))
    return np.where(scales > 0, scales, 1.0)


def abundances_of(
    pixels: NDArray[np.float64],
    endmembers: NDArray[np.float64],
    deviations: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Abundances on the simplex by least squares, bands weighted by their noise if it is known."""
    if deviations is not None:
        pixels, endmembers = pixels / deviations, endmembers / deviations
    return np.asarray(encode(as_blocks(pixels), endmembers, constraint="simplex"), dtype=np.float64)
