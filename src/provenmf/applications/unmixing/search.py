"""Endmembers of a hyperspectral cube and their abundances in every pixel.

Data points are pixels: spectra (pixels, bands) ≈ abundances (pixels, k) @ endmembers (k, bands),
abundances on the simplex. Endmembers are pixels that nothing else can mix: anchors.

With grouping, near-identical pixels are first replaced by their mean (see `grouping`): one odd
pixel can then not become an endmember, and noise is averaged. With scaling, the search sees every
spectrum divided by its sum: a dark material, such as water, is a corner of the data by its shape
but lies among the mixtures by its length. What is extreme by its shape and explains hardly anything
of the scene is exchanged (see `exchange`).

Where noise explains all that k materials leave (see `band_noise`), neither noise nor odd pixels are
a reason to group: pixels are projected onto the k directions that stand out from the noise, and
endmembers are means over the pixels that lie at a corner within their noise, or, where few are
pure or none, corners of a simplex around them (see `pixel_facets`).

The Factorization is that of the solver on pixels, group means or projected pixels, scaled or not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.fitting import (
    at_hand,
    check_number,
    fit_matrix,
    simplex_weights,
)
from provenmf.applications.unmixing.answer import Unmixing
from provenmf.applications.unmixing.band_noise import (
    BandNoise,
    Spectra,
    band_noise,
    counted_materials,
)
from provenmf.applications.unmixing.cube_pictures import (
    colour_bands,
    false_colours,
    relative_residuals,
)
from provenmf.applications.unmixing.grouping import Groups
from provenmf.applications.unmixing.notes import UNKNOWN_NOISE, notes_on
from provenmf.applications.unmixing.pixel_errors import endmember_error_bars
from provenmf.applications.unmixing.pixel_points import (
    PixelProblem,
    UnmixingSettings,
    abundances_of,
    endmembers_of,
    pixel_problem,
)
from provenmf.errors import InvalidInput
from provenmf.io.cubes import Cube, as_cube
from provenmf.methods import estimator_class
from provenmf.metrics.recovery import Agreement, compare_endmembers
from provenmf.results import Factorization
from provenmf.results.answers import numbered
from provenmf.results.factorization import with_estimates


def unmix(
    cube: object,
    n_endmembers: int | None = None,
    *,
    method: str = "spa",
    shape: tuple[int, int] | None = None,
    group: bool = True,
    group_radius: float | None = None,
    scale: bool = True,
    vertices: bool | Literal["auto"] = "auto",
    true_endmembers: object = None,
    true_abundances: object = None,
    n_resamples: int = 0,
    random_state: int | np.random.RandomState | None = None,
    **options: object,
) -> Unmixing:
    """Find endmembers and abundances.

    Parameters
    ----------
    cube : Cube or array
        From `read_cube`, or an array (rows, columns, bands), or pixels and bands in a matrix.
    n_endmembers : int, optional
        Number of endmembers. None counts the directions that stand out from the noise of the bands.
        If many directions fade into the noise, or the noise is unknown, singular values, anchors
        and cones must agree on the number; otherwise you are asked for it. The notes say how it was
        chosen.
    method : str, default="spa"
        "spa", "merit", "xray", "fast_anchor" or "fast_gradient".
    shape : tuple of int, optional
        Rows and columns of the image, if cube is a matrix.
    group : bool, default=True
        Whether to look for endmembers among means of near-identical pixels.
    group_radius : float, optional
        Largest distance of a pixel from the first of its group, as a share of the mean length of a
        pixel; None uses 5 %, or more if the noise is larger.
    scale : bool, default=True
        Whether to look for endmembers by the shape of the spectra, not their brightness.
    vertices : bool or "auto", default="auto"
        Whether endmembers are means of all pixels that lie at a corner within their noise. Pixels
        are then projected onto the directions of the materials instead of grouped, and abundances
        are weighted by the noise of the bands. If the pixels refute these means, since few of them
        are pure or none, endmembers are the corners of the most likely simplex around all pixels;
        a note says so. "auto" does this if noise explains what the materials leave, no
        `group_radius` is given, and the method can handle many rows ("spa", "xray", "fast_anchor").
    true_endmembers, true_abundances : array of shape (k, bands) and (all pixels, k), optional
        Reference to compare with.
    n_resamples : int, default=0
        Number of times to find the endmembers again, in pixels drawn with replacement, for their
        standard errors (`Unmixing.error_bars`): 0 for none, otherwise 10 or more.
    random_state, **options
        Passed to the method's estimator.

    Returns
    -------
    Unmixing

    See Also
    --------
    provenmf.io.read_cube : Reads a cube from a file.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.applications import unmix
    >>> rng = np.random.default_rng(0)
    >>> pure = np.array([[1.0, 0.2, 0.1], [0.1, 0.3, 1.0]])  # two spectra in three bands
    >>> mixed = np.vstack([np.eye(2), rng.dirichlet(np.ones(2), 14)]) @ pure
    >>> found = unmix(mixed.reshape(4, 4, 3), 2, group=False)
    >>> sorted(found.endmembers.round(6).tolist())
    [[0.1, 0.3, 1.0], [1.0, 0.2, 0.1]]
    """
    cube = as_cube(at_hand(cube, "unmix"), shape=shape)
    options = {**simplex_weights(method), "random_state": random_state, **options}
    check_number("n_endmembers", n_endmembers, len(cube.pixels), "pixels")
    needed = vertices is not False or n_endmembers is None
    noise = band_noise(cube.pixels) if needed else None
    notes = list(cube.notes)
    if needed and noise is None:
        notes.append(UNKNOWN_NOISE)
    if n_endmembers is None and noise is not None:
        n_endmembers, counted = counted_materials(noise)
        notes.append(counted)
    if not _averages(vertices, noise, n_endmembers, method, group_radius):
        noise = None
    settings = UnmixingSettings(n_endmembers, group, group_radius, scale, noise is not None)
    problem = pixel_problem(cube.pixels, settings, noise)
    rows = "pixels" if problem.groups is None else "groups of pixels ({:group=False} has more)"
    check_number("n_endmembers", n_endmembers, len(problem.points), rows)
    factorization = fit_matrix(
        problem.points, n_endmembers, method, options, argument="n_endmembers"
    )
    spectra = endmembers_of(problem, cube.pixels, factorization)
    notes += notes_on(problem, factorization, n_endmembers, spectra)
    bars = None
    if n_resamples:
        settings = replace(settings, n_endmembers=len(spectra.endmembers))
        bars = endmember_error_bars(cube.pixels, spectra, settings, method, options, n_resamples)
        factorization = with_estimates(factorization, bars, spectra.endmembers)
        notes += bars.notes(numbered("Material", len(spectra.endmembers)))
    found = _answer(cube, problem, factorization, spectra, settings)
    found = replace(found, notes=tuple(notes), error_bars=bars)
    if true_endmembers is None:
        return found
    agreement = _agreement(
        cube, found.endmembers, found.abundances, true_endmembers, true_abundances
    )
    reference = np.asarray(true_endmembers, dtype=np.float64)[:, cube.band_mask]
    return replace(found, agreement=agreement, reference=reference)


def _answer(
    cube: Cube,
    problem: PixelProblem,
    factorization: Factorization,
    spectra: Spectra,
    settings: UnmixingSettings,
) -> Unmixing:
    """The endmembers with their abundances, maps and pictures."""
    deviations = None if problem.noise is None else problem.noise.deviations
    abundances = abundances_of(cube.pixels, spectra.endmembers, deviations)
    groups, bands = problem.groups, colour_bands(cube)
    return Unmixing(
        factorization=factorization,
        endmembers=spectra.endmembers,
        abundances=abundances,
        image_shape=cube.shape,
        pixel_mask=cube.pixel_mask,
        band_mask=cube.band_mask,
        wavelengths=cube.wavelengths,
        anchor_pixels=_anchor_pixels(spectra, groups, cube.pixel_mask),
        group_sizes=None if groups is None else groups.sizes,
        settings=settings,
        n_averaged=spectra.n_averaged,
        noise=deviations,
        residuals=relative_residuals(cube.pixels, abundances, spectra.endmembers),
        map_info=cube.map_info,
        picture=false_colours(cube, bands),
        picture_bands=tuple(int(np.flatnonzero(cube.band_mask)[band]) + 1 for band in bands),
    )


def _averages(
    vertices: bool | Literal["auto"],
    noise: BandNoise | None,
    n_endmembers: int | None,
    method: str,
    group_radius: float | None,
) -> bool:
    """Whether endmembers are averaged over the pixels at the corners."""
    if vertices not in (True, False, "auto"):
        raise InvalidInput(
            "is unknown", argument="vertices", value=vertices, remedy='choose True, False or "auto"'
        )
    traits = estimator_class(method).traits
    if vertices is True:
        remedy = "leave it out"
        if noise is None:
            problem = "needs the noise of the bands: twice as many pixels as bands, none exact"
        elif n_endmembers is None:
            problem, remedy = "needs the number of endmembers", "give n_endmembers"
        elif not traits.anchors:
            problem = f"needs a method that chooses pixels, which {method} does not"
        else:
            return 1 < n_endmembers < len(noise.deviations)
        raise InvalidInput(problem, argument="vertices", value=vertices, remedy=remedy)
    if vertices is False or noise is None or n_endmembers is None or group_radius is not None:
        return False
    return traits.anchors and not traits.compares_rows and noise.explains(n_endmembers)


def _anchor_pixels(
    spectra: Spectra, groups: Groups | None, pixel_mask: NDArray[np.bool_]
) -> NDArray[np.intp] | None:
    """Where in the image each endmember comes from; for a group, its first pixel."""
    if spectra.anchors is None:
        return None
    rows = spectra.anchors if groups is None else groups.first[spectra.anchors]
    return np.flatnonzero(pixel_mask)[rows]


def _agreement(
    cube: Any,
    endmembers: NDArray[np.float64],
    abundances: NDArray[np.float64],
    true_endmembers: object,
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
