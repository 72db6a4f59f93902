"""Endmembers of a hyperspectral cube and their abundances in every pixel.

Data points are pixels: spectra (pixels, bands) ≈ abundances (pixels, k) @ endmembers (k, bands),
abundances on the simplex. Endmembers are pixels that nothing else can mix: anchors.

With grouping, near-identical pixels are first replaced by their mean (see `grouping`): one odd
pixel can then not become an endmember, and noise is averaged. With scaling, the search sees every
spectrum divided by its sum: a dark material, such as water, is a corner of the data by its shape
but lies among the mixtures by its length.

The Factorization is that of the solver on pixels or group means, scaled or not. Its extras hold,
besides those of `answers`:

    endmembers     (k, bands)    spectra of the usable bands
    abundances     (pixels, k)   usable pixels, rows sum to one
    image_shape    (2,)          rows and columns of the image
    pixel_mask     (all pixels,) bool: usable, in the order of the rows of `abundances`
    band_mask      (all bands,)  bool: usable
    wavelengths    (bands,)      of the usable bands; absent if unknown
    anchor_pixels  (k,)          position in the image of the pixel behind each endmember
    group_sizes    (rows,)       pixels behind each row of the factorization; with grouping
    spectral_angles, abundance_rmse   against the truth, if one is given
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.answers import (
    check_number,
    fit_matrix,
    found_fewer,
    simplex_weights,
    with_answer,
)
from provenmf.applications.grouping import Groups, group_rows
from provenmf.blocks import as_blocks
from provenmf.errors import InvalidInput
from provenmf.io.cubes import as_cube
from provenmf.metrics.unmixing import Agreement, compare_endmembers
from provenmf.records import Factorization
from provenmf.solvers.weights import encode


@dataclass(frozen=True, eq=False)
class UnmixingResult:
    """Endmembers (k, bands) and abundances (pixels, k) of the usable bands and pixels."""

    factorization: Factorization
    endmembers: NDArray[np.float64]
    abundances: NDArray[np.float64]
    image_shape: tuple[int, int]
    pixel_mask: NDArray[np.bool_]
    agreement: Agreement | None = None
    notes: tuple[str, ...] = ()

    def maps(self) -> NDArray[np.float64]:
        """Abundance maps (k, rows, columns); NaN where a pixel was masked."""
        k = self.abundances.shape[1]
        full = np.full((self.pixel_mask.size, k), np.nan)
        full[self.pixel_mask] = self.abundances
        return full.T.reshape(k, *self.image_shape)


def unmix(
    cube: Any,
    n_endmembers: int | None,
    *,
    method: str = "spa",
    shape: tuple[int, int] | None = None,
    group: bool = True,
    group_radius: float | None = None,
    scale: bool = True,
    true_endmembers: Any = None,
    true_abundances: Any = None,
    random_state: Any = None,
    **options: Any,
) -> UnmixingResult:
    """Find endmembers and abundances.

    Parameters
    ----------
    cube : from `read_cube`, or an array (rows, columns, bands) or pixels and bands in a matrix.
    n_endmembers : how many; None lets the method find out where it can ("spa", "xray").
    method : "spa", "merit", "xray", "fast_anchor", "fast_gradient".
    shape : rows and columns of the image, where cube is a matrix.
    group : whether to look for endmembers among means of near-identical pixels.
    group_radius : how far pixels of a group may be from its first, as a share of the mean length
        of a pixel; None takes 5 %, or more where the noise is larger.
    scale : whether to look for endmembers by the shape of the spectra, not their brightness.
    true_endmembers, true_abundances : reference (k, bands) and (all pixels, k) to compare with.
    random_state, options : passed to the method's estimator.
    """
    cube = as_cube(cube, shape=shape)
    notes = list(cube.notes)
    options = {**simplex_weights(method), "random_state": random_state, **options}
    check_number("n_endmembers", n_endmembers, len(cube.pixels), "pixels")
    problem = pixel_problem(
        cube.pixels, n_endmembers, group=group, group_radius=group_radius, scale=scale
    )
    groups = problem.groups
    rows = "pixels" if groups is None else "groups of pixels ({:group=False} has more)"
    check_number("n_endmembers", n_endmembers, len(problem.points), rows)
    if groups is not None:
        notes.append(groups.note)
    factorization = fit_matrix(problem.points, n_endmembers, method, options)
    notes += found_fewer(factorization, n_endmembers, "endmembers")
    endmembers = problem.spectra(factorization)
    abundances = encode(as_blocks(cube.pixels), endmembers, constraint="simplex")
    agreement = None
    if true_endmembers is not None:
        agreement = _agreement(cube, endmembers, abundances, true_endmembers, true_abundances)
    arrays = {
        "endmembers": endmembers,
        "abundances": abundances,
        "image_shape": cube.shape,
        "pixel_mask": cube.pixel_mask,
        "band_mask": cube.band_mask,
        "wavelengths": cube.wavelengths,
        "anchor_pixels": _anchor_pixels(factorization, groups, cube.pixel_mask),
        "group_sizes": None if groups is None else groups.sizes,
        "spectral_angles": None if agreement is None else agreement.angles,
        "abundance_rmse": None if agreement is None else agreement.abundance_rmse,
    }
    settings = {
        "n_endmembers": n_endmembers,
        "group": group,
        "group_radius": group_radius,
        "scale": scale,
    }
    factorization = with_answer(factorization, "unmixing", arrays, notes, settings)
    return UnmixingResult(
        factorization, endmembers, abundances, cube.shape, cube.pixel_mask, agreement, tuple(notes)
    )


@dataclass(frozen=True, eq=False)
class PixelProblem:
    """Points for the search of endmembers, each a pixel or group mean divided by its scale."""

    points: NDArray[np.float64]
    scales: NDArray[np.float64]
    groups: Groups | None

    def spectra(self, factorization: Factorization) -> NDArray[np.float64]:
        """Endmembers at their own brightness."""
        components = np.asarray(factorization.components, dtype=np.float64)
        if factorization.anchors is None:  # scaled to sum one, of unknown brightness: the mean one
            return components * self.scales.mean()
        return components * self.scales[factorization.anchors, None]


def pixel_problem(
    pixels: NDArray[np.float64],
    n_endmembers: int | None,
    *,
    group: bool,
    group_radius: float | None,
    scale: bool,
) -> PixelProblem:
    """The matrix in which endmembers are sought."""
    groups = group_rows(pixels, n_endmembers, radius=group_radius) if group else None
    points = pixels if groups is None else groups.means
    scales = points.sum(axis=1) if scale else np.ones(len(points))
    scales = np.where(scales > 0, scales, 1.0)
    return PixelProblem(points / scales[:, None], scales, groups)


def _anchor_pixels(
    factorization: Factorization, groups: Groups | None, pixel_mask: NDArray[np.bool_]
) -> NDArray[np.intp] | None:
    """Where in the image each endmember comes from; for a group, its first pixel."""
    if factorization.anchors is None:
        return None
    rows = factorization.anchors if groups is None else groups.first[factorization.anchors]
    return np.flatnonzero(pixel_mask)[rows]


def _agreement(
    cube: Any,
    endmembers: NDArray[np.float64],
    abundances: NDArray[np.float64],
    true_endmembers: Any,
    true_abundances: Any,
) -> Agreement:
    truth = np.asarray(true_endmembers, dtype=np.float64)
    if truth.ndim != 2 or truth.shape[1] != cube.band_mask.size:
        raise InvalidInput(
            f"true_endmembers has shape {truth.shape}: (k, {cube.band_mask.size} bands) is needed"
        )
    if true_abundances is not None:
        true_abundances = np.asarray(true_abundances, dtype=np.float64)
        if true_abundances.shape != (cube.pixel_mask.size, len(truth)):
            raise InvalidInput(
                f"true_abundances has shape {true_abundances.shape}: "
                f"({cube.pixel_mask.size} pixels, {len(truth)}) is needed"
            )
        true_abundances = true_abundances[cube.pixel_mask]
    visible = truth[:, cube.band_mask]
    if len(truth) != len(endmembers):  # abundances of unmatched endmembers have no counterpart
        return compare_endmembers(endmembers, visible)
    return compare_endmembers(endmembers, visible, abundances, true_abundances)
