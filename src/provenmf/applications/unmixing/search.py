"""Endmembers of a hyperspectral cube and their abundances in every pixel.

Data points are pixels: spectra (pixels, bands) ≈ abundances (pixels, k) @ endmembers (k, bands),
abundances on the simplex. Endmembers are pixels that nothing else can mix: anchors.

With grouping, near-identical pixels are first replaced by their mean (see `points`): one odd
pixel can then not become an endmember, and noise is averaged. With scaling, the search sees every
spectrum divided by its sum: a dark material, such as water, is a corner of the data by its shape
but lies among the mixtures by its length. What is extreme by its shape and explains hardly anything
of the scene is exchanged (see `points`).

Where noise explains all that k materials leave (see `noise`), neither noise nor odd pixels are
a reason to group: pixels are projected onto the k directions that stand out from the noise, and
endmembers are means over the pixels that lie at a corner within their noise, or, where few are
pure or none, corners of a simplex around them (see `choice`).

The Factorization is that of the solver on pixels, group means or projected pixels, scaled or not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import (
    at_hand,
    check_number,
    fit_matrix,
    reordered,
    simplex_weights,
)
from provenmf.applications.unmixing.answer import Unmixing
from provenmf.applications.unmixing.noise import BandNoise, Spectra, band_noise
from provenmf.applications.unmixing.notes import (
    ASSUMES,
    GROUPED,
    UNKNOWN_NOISE,
    disagreement_note,
    notes_on,
    notes_on_error_bars,
)
from provenmf.applications.unmixing.points import (
    PixelProblem,
    UnmixingSettings,
    abundances_of,
    count_materials,
    endmembers_of,
    pixel_problem,
)
from provenmf.arguments import Within, checked
from provenmf.errors import InvalidInput
from provenmf.io.images import Cube, as_cube
from provenmf.linalg.storage import numbers
from provenmf.methods import estimator_class, options_of_method
from provenmf.methods.error_bars import error_bars, resampled
from provenmf.metrics.recovery import compare_endmembers
from provenmf.results import Factorization
from provenmf.results.estimates import ErrorBars

Floats = NDArray[np.float64]

# Pictures of a cube: three of its bands as colours, and what the materials leave of it.

PIXELS_A_SIDE = 320
# Wavelengths of red, green and blue light, in nanometres.
LIGHT = (650.0, 550.0, 450.0)


def colour_bands(cube: Cube) -> tuple[int, int, int]:
    """Choose the bands shown as red, green and blue, by wavelength if known.

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
    """Return the image (rows, columns, 3) in three bands, stretched between 2 % and 98 %."""
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
    """Return the length of each pixel's residual over the length of the pixel."""
    left = np.linalg.norm(pixels - abundances @ endmembers, axis=1)
    lengths = np.linalg.norm(pixels, axis=1)
    return np.asarray(left / np.where(lengths > 0, lengths, 1.0))


@checked(options_of=options_of_method)
def unmix(
    cube: object,
    n_endmembers: int | None = None,
    *,
    method: str = "spa",
    shape: tuple[int, int] | None = None,
    group: bool = True,
    scale: bool = True,
    vertices: bool | Literal["auto"] = "auto",
    true_endmembers: object = None,
    true_abundances: object = None,
    n_resamples: Annotated[int, Within(0, 100_000)] = 0,
    evidence: bool = True,
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
    scale : bool, default=True
        Whether to look for endmembers by the shape of the spectra, not their brightness.
    vertices : bool or "auto", default="auto"
        Whether endmembers are means of all pixels that lie at a corner within their noise. Pixels
        are then projected onto the directions of the materials instead of grouped, and abundances
        are weighted by the noise of the bands. If few pixels are pure or none, endmembers are the
        corners of the most likely simplex around all pixels, as far as it predicts pixels better
        that it has not seen; a note says so. "auto" does this unless the materials leave more
        than twice the variance of the noise, if the method can handle many rows ("spa", "xray",
        "fast_anchor"); a note warns where the other way would give other endmembers.
    true_endmembers, true_abundances : array of shape (k, bands) and (all pixels, k), optional
        Reference to compare with.
    n_resamples : int, default=0
        Number of times to find the endmembers again, in pixels drawn with replacement, for their
        standard errors (`Unmixing.error_bars`): 0 for none, otherwise 10 or more.
    evidence : bool, default=True
        Whether to find the answer again in two halves of the pixels and judge each material by the
        other half (see `provenmf.confirm`); takes about as long as the answer itself.
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
    check_number("n_endmembers", n_endmembers, len(cube.pixels), "pixels")
    notes, noise = list(cube.notes), None
    if vertices is not False or n_endmembers is None:
        noise = band_noise(cube.pixels)
        if noise is None:
            notes.append(UNKNOWN_NOISE)
        elif n_endmembers is None:
            n_endmembers, counted = count_materials(cube.pixels, noise)
            notes.append(counted)
    averages = _averages(vertices, noise, n_endmembers, method)
    options = {**simplex_weights(method), "random_state": random_state, **options}
    search = _Search(cube.pixels, method, options)
    settings = UnmixingSettings(n_endmembers, group, scale, averages)
    found = search.run(settings, noise, compare=vertices == "auto")
    notes += found.notes
    answer = _answer(cube, found)
    if n_resamples:
        bars, warnings = search.error_bars(found, n_resamples)
        notes += warnings
        answer = replace(answer, error_bars=bars)
    answer = replace(answer, notes=tuple(notes))
    if evidence:
        answer = confirm(cube, answer)
    if true_endmembers is None:
        return answer
    return _compared(cube, answer, true_endmembers, true_abundances)


@dataclass(frozen=True, eq=False)
class _Found:
    """Endmembers, and the problem and settings that they were found with."""

    settings: UnmixingSettings
    problem: PixelProblem
    factorization: Factorization
    spectra: Spectra
    abundances: Floats
    notes: list[str]


@dataclass(frozen=True, eq=False)
class _Search:
    """Pixels (n, bands) and the method that looks for endmembers in them."""

    pixels: Floats
    method: str
    options: Mapping[str, Any]

    @property
    def quiet(self) -> _Search:
        """The same search without certificates and messages."""
        silent = {"certify": False, "callback": None, "verbose": 0, "checkpoint": None}
        return replace(self, options={**self.options, **silent})

    def run(self, settings: UnmixingSettings, noise: BandNoise | None, *, compare: bool) -> _Found:
        """Find endmembers; `compare` those by corners and among groups if the noise is known."""
        other = None
        if compare and noise is not None:
            other = self.quiet.other_way(replace(settings, project=not settings.project), noise)
        notes, grouped = [], other if settings.project else None
        problem, factorization = self._fitted(settings, noise)
        spectra = endmembers_of(problem, self.pixels, factorization, grouped)
        if spectra is None:
            notes.append(GROUPED)
            settings = replace(settings, project=False)
            problem, factorization = self._fitted(settings, None)
            spectra = endmembers_of(problem, self.pixels, factorization)
            assert spectra is not None  # groups are an answer
        deviations = None if problem.noise is None else problem.noise.deviations
        abundances = abundances_of(self.pixels, spectra.endmembers, deviations)
        order = np.argsort(-abundances.sum(axis=0), kind="stable")
        spectra, factorization = spectra.ordered(order), reordered(factorization, order)
        notes += notes_on(problem, factorization, settings.n_endmembers, spectra)
        notes += disagreement_note(spectra, other, grouped is not None)
        return _Found(settings, problem, factorization, spectra, abundances[:, order], notes)

    def other_way(self, settings: UnmixingSettings, noise: BandNoise) -> Floats | None:
        """Return endmembers by other settings, or None if these do not apply or find fewer."""
        k, traits = settings.n_endmembers, estimator_class(self.method).traits
        if k is None or not 1 < k < len(noise.eigenvalues):
            return None
        if settings.project and traits.compares_rows:  # all pixels are too many for it
            return None
        try:
            problem, factorization = self._fitted(settings, noise)
        except InvalidInput:
            return None
        if factorization.anchors is None:
            return None
        found = endmembers_of(problem, self.pixels, factorization)
        assert found is not None  # no groups were given to choose from
        return found.endmembers if len(found.endmembers) == k else None

    def _fitted(
        self, settings: UnmixingSettings, noise: BandNoise | None
    ) -> tuple[PixelProblem, Factorization]:
        """Return the points in which endmembers are sought, and what the method finds in them."""
        problem, k = pixel_problem(self.pixels, settings, noise), settings.n_endmembers
        rows = "pixels" if problem.groups is None else "groups of pixels ({:group=False} has more)"
        check_number("n_endmembers", k, len(problem.points), rows)
        found = fit_matrix(problem.points, k, self.method, self.options, argument="n_endmembers")
        return problem, found

    def error_bars(self, found: _Found, n_resamples: int) -> tuple[ErrorBars, list[str]]:
        """Return error bars of the endmembers from resampled pixels, and notes.

        Where endmembers are means over the pixels at a corner, choosing these pixels moves the mean
        by an amount that all resamples have in common: the most it can be is added to the variance.
        """
        spectra, quiet = found.spectra, self.quiet
        settings = replace(found.settings, n_endmembers=len(spectra.endmembers))

        def refit(drawn: NDArray[np.intp]) -> tuple[Floats, Floats]:
            again = replace(quiet, pixels=self.pixels[drawn])
            problem, factorization = again._fitted(settings, None)
            endmembers = endmembers_of(problem, again.pixels, factorization)
            assert endmembers is not None  # no groups were found beside them
            return endmembers.endmembers, endmembers.endmembers

        spread = resampled(
            refit,
            spectra.endmembers,
            len(self.pixels),
            n_resamples,
            np.random.default_rng(0),
            callback=self.options.get("callback"),
            verbose=self.options.get("verbose") or 0,
        )
        spread = replace(spread, errors=np.hypot(spread.errors, spectra.lean))
        bars = error_bars(spectra.endmembers, spread, ASSUMES)
        return bars, notes_on_error_bars(bars, found.problem.noise)


def spectra_again(pixels: Floats, answer: Unmixing) -> Floats:
    """Find endmembers in some of the pixels by the strategy chosen for all of them.

    A band that is constant among these pixels is left out: its value is every material's.
    """
    cube, settings = as_cube(pixels, shape=(len(pixels), 1)), answer.settings
    noise = band_noise(cube.pixels) if settings.project else None
    settings = replace(settings, n_endmembers=len(answer.endmembers), project=noise is not None)
    options = simplex_weights("spa")
    problem, found = _Search(cube.pixels, "spa", options).quiet._fitted(settings, noise)
    corners = settings.project and answer.n_averaged is None
    spectra = endmembers_of(problem, cube.pixels, found, corners=corners)
    assert spectra is not None  # no groups were given to choose from
    whole = np.tile(pixels.mean(axis=0), (len(spectra.endmembers), 1))
    whole[:, cube.band_mask] = spectra.endmembers
    return whole


def _answer(cube: Cube, found: _Found) -> Unmixing:
    """Return the endmembers with their abundances, maps and pictures."""
    problem, spectra, abundances = found.problem, found.spectra, found.abundances
    deviations = None if problem.noise is None else problem.noise.deviations
    groups, bands, places = problem.groups, colour_bands(cube), spectra.anchors
    if places is not None:  # of a group, its first pixel
        places = np.flatnonzero(cube.pixel_mask)[places if groups is None else groups.first[places]]
    return Unmixing(
        factorization=found.factorization,
        endmembers=spectra.endmembers,
        abundances=abundances,
        image_shape=cube.shape,
        pixel_mask=cube.pixel_mask,
        band_mask=cube.band_mask,
        wavelengths=cube.wavelengths,
        anchor_pixels=places,
        group_sizes=None if groups is None else groups.sizes,
        settings=found.settings,
        n_averaged=spectra.n_averaged,
        noise=deviations,
        residuals=relative_residuals(cube.pixels, abundances, spectra.endmembers),
        picture=false_colours(cube, bands),
        picture_bands=tuple(int(np.flatnonzero(cube.band_mask)[band]) + 1 for band in bands),
    )


def _averages(
    vertices: bool | Literal["auto"],
    noise: BandNoise | None,
    n_endmembers: int | None,
    method: str,
) -> bool:
    """Tell whether endmembers are averaged over the pixels at the corners."""
    traits = estimator_class(method).traits
    if vertices is True:
        problem = ""
        if noise is None:
            problem = "needs the noise of the bands: twice as many pixels as bands, none exact"
        elif n_endmembers is None:
            problem = "needs the number of endmembers"
        elif not traits.anchors:
            problem = f"needs a method that chooses pixels, which {method} does not"
        if problem:
            raise InvalidInput(problem, argument="vertices", value=True, remedy="leave it out")
    if vertices is False or noise is None or n_endmembers is None:
        return False
    if vertices is True:
        return 1 < n_endmembers < len(noise.deviations)
    return traits.anchors and not traits.compares_rows and noise.explains(n_endmembers)


def _compared(
    cube: Cube, answer: Unmixing, true_endmembers: object, true_abundances: object
) -> Unmixing:
    """Return the answer with its agreement with the reference."""
    truth = numbers(true_endmembers, "true_endmembers").astype(np.float64)
    if truth.ndim != 2 or truth.shape[1] != cube.band_mask.size:
        raise InvalidInput(
            f"true_endmembers has shape {truth.shape}: (k, {cube.band_mask.size} bands) is needed"
        )
    known = None
    if true_abundances is not None:
        known = numbers(true_abundances, "true_abundances").astype(np.float64)
        if known.shape != (cube.pixel_mask.size, len(truth)):
            raise InvalidInput(
                f"true_abundances has shape {known.shape}: "
                f"({cube.pixel_mask.size} pixels, {len(truth)}) is needed"
            )
        known = known[cube.pixel_mask]
    visible, abundances = truth[:, cube.band_mask], answer.abundances
    if len(truth) != len(answer.endmembers):  # unmatched endmembers have no abundances to compare
        known = None
    agreement = compare_endmembers(
        answer.endmembers, visible, None if known is None else abundances, known
    )
    return replace(answer, agreement=agreement, reference=visible)
