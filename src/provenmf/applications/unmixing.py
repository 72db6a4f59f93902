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
endmembers are means over the pixels that lie at a corner within their noise, or, where no pixel is
pure, corners of a simplex around them (see `pixel_facets`).

The Factorization is that of the solver on pixels, group means or projected pixels, scaled or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.band_noise import (
    BandNoise,
    Spectra,
    band_noise,
    counted_materials,
)
from provenmf.applications.cube_pictures import (
    colour_bands,
    false_colours,
    relative_residuals,
)
from provenmf.applications.fitting import (
    at_hand,
    check_number,
    fit_matrix,
    found_fewer,
    simplex_weights,
)
from provenmf.applications.grouping import Groups
from provenmf.applications.pixel_errors import endmember_error_bars
from provenmf.applications.pixel_points import (
    PixelProblem,
    UnmixingSettings,
    abundances_of,
    endmembers_of,
    pixel_problem,
)
from provenmf.errors import InvalidInput
from provenmf.estimators import estimator_class
from provenmf.io.cubes import Cube, as_cube, read_cube
from provenmf.metrics.unmixing import Agreement, compare_endmembers
from provenmf.records import Factorization
from provenmf.records.answers import Answer, ReadOptions, Words, numbered, shares
from provenmf.records.factorization import with_estimates
from provenmf.records.shapes import Shape

if TYPE_CHECKING:
    import xarray

UNKNOWN_NOISE = (
    "nothing is known of the noise: there are fewer than two pixels for each band, or the bands "
    "follow from each other exactly; endmembers are not averaged"
)


@dataclass(frozen=True, eq=False, repr=False)
class Unmixing(Answer):
    """Endmembers of a hyperspectral cube, and their abundances in its usable pixels.

    Parameters
    ----------
    factorization, notes, component_names
        As in every `Answer`.
    endmembers : ndarray of shape (k, bands)
        Spectra in the usable bands.
    abundances : ndarray of shape (pixels, k)
        Of the usable pixels; rows sum to one.
    image_shape : tuple of int
        Rows and columns of the image.
    pixel_mask, band_mask : ndarray of bool
        Which pixels of the image and bands of the cube are usable, in the order of `abundances`
        and `endmembers`.
    wavelengths : ndarray of shape (bands,) or None
        Of the usable bands, where the file says.
    anchor_pixels : ndarray of shape (k,) or None
        Place in the image of the pixel behind each endmember; for a group, its first pixel.
    group_sizes : ndarray of shape (rows,) or None
        Pixels behind each row of the factorization, with grouping.
    n_averaged : ndarray of shape (k,) or None
        How many pixels each endmember is the mean of; None without averaging.
    noise : ndarray of shape (bands,) or None
        Standard deviation of the noise in each usable band, by which abundances are weighted;
        None if they are not.
    agreement : Agreement or None
        With the reference, if one was given.
    settings : UnmixingSettings
        How the matrix was made.
    residuals : ndarray of shape (pixels,) or None
        What the materials leave of each usable pixel, as a share of its length.
    reference : ndarray of shape (references, bands) or None
        The given spectra in the usable bands, if there were any.
    picture : ndarray of shape (rows, columns, 3), uint8, or None
        The image in three of its bands, at most 320 pixels a side.
    picture_bands : tuple of int
        The bands shown as red, green and blue, counted from 1.
    map_info : str
        Where the image lies on the Earth, as its ENVI header says; empty if nothing is known.

    See Also
    --------
    unmix : Makes one from a cube.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.applications import unmix
    >>> mixed = np.random.default_rng(0).dirichlet(np.ones(3), 36)
    >>> result = unmix(mixed.reshape(6, 6, 3), 3)
    >>> result, result.maps().shape
    (Unmixing(3 materials of 36 pixels, method='spa'), (3, 6, 6))
    >>> result.transform(mixed[:2]).sum(axis=1).round(6).tolist()
    [1.0, 1.0]
    """

    kind: ClassVar[str] = "unmixing"
    words: ClassVar[Words] = Words("Unmixing", "material", "pixel", "band", "brightest bands")

    endmembers: Annotated[NDArray[np.float64], Shape("k", "bands")]
    abundances: Annotated[NDArray[np.float64], Shape("pixels", "k")]
    image_shape: tuple[int, int]
    pixel_mask: Annotated[NDArray[np.bool_], Shape("all pixels")]
    band_mask: Annotated[NDArray[np.bool_], Shape("all bands")]
    wavelengths: Annotated[NDArray[np.float64], Shape("bands")] | None = None
    anchor_pixels: Annotated[NDArray[np.intp], Shape("k", below="all pixels")] | None = None
    group_sizes: Annotated[NDArray[np.intp], Shape("rows")] | None = None
    agreement: Agreement | None = None
    settings: UnmixingSettings = UnmixingSettings()
    n_averaged: Annotated[NDArray[np.intp], Shape("k")] | None = None
    noise: Annotated[NDArray[np.float64], Shape("bands")] | None = None
    residuals: Annotated[NDArray[np.float64], Shape("pixels")] | None = None
    reference: Annotated[NDArray[np.float64], Shape("references", "bands")] | None = None
    picture: Annotated[NDArray[np.uint8], Shape("lines", "samples", 3)] | None = None
    picture_bands: tuple[int, ...] = ()
    map_info: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        pixels = self.image_shape[0] * self.image_shape[1]
        usable = int(np.count_nonzero(self.pixel_mask))
        if self.pixel_mask.size != pixels or len(self.abundances) != usable:
            raise InvalidInput(
                f"pixel_mask has {usable} of {self.pixel_mask.size} pixels, but there are "
                f"{len(self.abundances)} abundances of an image of {pixels}"
            )

    @property
    def weights(self) -> NDArray[np.float64]:
        """The same as `abundances`."""
        return self.abundances

    @property
    def components(self) -> NDArray[np.float64]:
        """The same as `endmembers`."""
        return self.endmembers

    @property
    def row_names(self) -> Sequence[str]:
        """Row and column of each usable pixel."""
        return [self.place_of(int(pixel)) for pixel in np.flatnonzero(self.pixel_mask)]

    @property
    def share(self) -> NDArray[np.float64]:
        """How much of the image each material covers; sums to 1."""
        return shares(self.abundances)

    def place_of(self, pixel: int) -> str:
        """Row and column of a pixel of the image, both counted from 1."""
        row, column = divmod(pixel, self.image_shape[1])
        return f"row {row + 1}, column {column + 1}"

    def anchor_name(self, component: int) -> str:
        """Where the pixel behind an endmember is, or nothing."""
        return "" if self.anchor_pixels is None else self.place_of(self.anchor_pixels[component])

    def maps(self) -> NDArray[np.float64]:
        """Abundance maps (k, rows, columns); NaN where a pixel was masked."""
        return self.as_maps(self.abundances)

    def as_maps(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the usable pixels (pixels, maps) as maps; NaN where a pixel was masked."""
        full = np.full((self.pixel_mask.size, values.shape[1]), np.nan)
        full[self.pixel_mask] = values
        return full.T.reshape(-1, *self.image_shape)

    def save_maps(self, path: str | Path) -> list[Path]:
        """Write the abundance maps for image and geographic programs.

        Parameters
        ----------
        path : str or Path
            `.hdr` for ENVI (the numbers go into an `.img` file beside it), `.tif` for TIFF. Both
            keep the place on the Earth where the ENVI header of the data told it (a TIFF: for UTM
            and longitude/latitude on WGS-84).

        Returns
        -------
        list of Path
            The files written.
        """
        from provenmf.io.rasters import write_maps

        return write_maps(path, self.maps(), self.component_names, self.map_info)

    def to_xarray(self) -> xarray.Dataset:
        """The answer as an xarray Dataset, with the maps as images and wavelengths of the bands."""
        dataset = super().to_xarray()
        dataset["maps"] = (("material", "y", "x"), self.maps())
        if self.wavelengths is not None:
            dataset = dataset.assign_coords(wavelength=("band", self.wavelengths))
        return dataset

    def scores(self) -> dict[str, float]:
        """Agreement with the reference, if one was given."""
        if self.agreement is None:
            return {}
        angle = "mean angle to the given spectra, in radians (0 is best)"
        scores = {angle: float(np.nanmean(self.agreement.angles))}
        if self.agreement.abundance_rmse is not None:
            error = "root mean square error of the abundances (0 is best)"
            scores[error] = self.agreement.abundance_rmse
        return scores

    def factorized(self) -> str:
        """Means of groups, projections, or nothing where the pixels themselves were factorized."""
        rows, columns = len(self.factorization.weights), self.factorization.components.shape[1]
        if self.settings.project:
            return f"{rows:,} pixels, cleared of noise outside the materials' span, {columns} bands"
        if self.group_sizes is None:
            return ""
        return f"{rows:,} means of groups of near-identical pixels, {columns} bands"

    def matrix_of(self, data: object) -> NDArray[np.float64]:
        """Pixels, means of groups or projected pixels, scaled or not, from the cube."""
        pixels = as_cube(data, shape=self.image_shape).pixels
        return pixel_problem(pixels, self.settings).points

    def read(self, path: Path, options: ReadOptions) -> Any:
        """A cube."""
        return read_cube(path, key=options.key, shape=self.image_shape)

    def transform(self, data: object) -> NDArray[np.float64]:
        """Abundances of the endmembers in new pixels.

        Parameters
        ----------
        data : Cube, or array of shape (rows, columns, bands) or (pixels, bands)
            With all bands of the cube that was unmixed, or only with its usable ones.

        Returns
        -------
        ndarray of shape (pixels, k)
            Rows sum to one; NaN for a pixel with missing values. Of a Cube, its usable pixels.
        """
        pixels = self._usable_bands(data)
        known = np.isfinite(pixels).all(axis=1)
        found = np.full((len(pixels), self.n_components), np.nan)
        if known.any():
            found[known] = abundances_of(
                np.maximum(pixels[known], 0.0), self.endmembers, self.noise
            )
        return found

    def _usable_bands(self, data: object) -> NDArray[np.float64]:
        """Pixels (n, bands) in the bands of the endmembers."""
        if isinstance(data, Cube):
            pixels = np.full((len(data.pixels), data.band_mask.size), np.nan)
            pixels[:, data.band_mask] = data.pixels
        else:
            values = np.asarray(data, dtype=np.float64)
            pixels = values.reshape(-1, values.shape[-1] if values.ndim else 1)
        if pixels.shape[1] == self.band_mask.size:
            return pixels[:, self.band_mask]
        if pixels.shape[1] != self.endmembers.shape[1]:
            raise InvalidInput(
                f"data has {pixels.shape[1]} bands: give the {self.band_mask.size} bands of the "
                f"cube that was unmixed, or its {self.endmembers.shape[1]} usable ones"
            )
        return pixels


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
        How many. None counts the directions that stand out from the noise of the bands. Where
        many fade into it, or nothing is known of the noise, the number must be settled by singular
        values, anchors and cones, or is asked for. The notes say how it was found.
    method : str, default="spa"
        "spa", "merit", "xray", "fast_anchor" or "fast_gradient".
    shape : tuple of int, optional
        Rows and columns of the image, where cube is a matrix.
    group : bool, default=True
        Whether to look for endmembers among means of near-identical pixels.
    group_radius : float, optional
        How far pixels of a group may be from its first, as a share of the mean length of a pixel;
        None takes 5 %, or more where the noise is larger.
    scale : bool, default=True
        Whether to look for endmembers by the shape of the spectra, not their brightness.
    vertices : bool or "auto", default="auto"
        Whether endmembers are means over all pixels that lie at a corner within their noise,
        sought in place of groups among pixels projected onto the directions of the materials, and
        abundances are weighted by the noise of the bands. Where many pixels lie outside of the
        corners, so that none is pure, endmembers are the corners of the likeliest simplex around
        all pixels. "auto" does so where noise explains what
        the materials leave, no `group_radius` is given, and the method is one for many rows
        ("spa", "xray", "fast_anchor").
    true_endmembers, true_abundances : array of shape (k, bands) and (all pixels, k), optional
        Reference to compare with.
    n_resamples : int, default=0
        Find the endmembers again so many times, in pixels drawn with replacement, for their
        standard errors (`Unmixing.error_bars`); 0 for none, else 10 or more.
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
    notes += _notes(problem, factorization, n_endmembers, spectra)
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


def _notes(
    problem: PixelProblem, factorization: Factorization, wanted: int | None, spectra: Spectra
) -> list[str]:
    """How endmembers were sought, and what there is to say about those found."""
    notes = [] if problem.groups is None else [problem.groups.note]
    notes += found_fewer(factorization, wanted, "endmembers")
    if spectra.anchors is not None and factorization.anchors is not None:
        moved = np.count_nonzero(spectra.anchors != factorization.anchors)
        if moved:
            notes.append(
                f"{moved} of {len(spectra.anchors)} endmembers, extreme by the shape of their "
                "spectra, were exchanged for groups that explain the pixels better"
            )
    notes += negative_note(spectra.endmembers)
    if problem.noise is not None and spectra.n_averaged is not None:
        left = problem.noise.left_by(len(spectra.endmembers))
        notes.append(averaging_note(spectra.n_averaged, left))
    if spectra.outside is not None:
        notes.append(
            f"{spectra.outside:.1%} of the pixels lie outside the simplex of the purest ones by "
            "more than their noise: no pixel is pure, and endmembers are the corners of the "
            "likeliest simplex around all pixels"
        )
    return notes


def negative_note(endmembers: NDArray[np.floating]) -> list[str]:
    """Said of spectra below zero, more than by rounding, as AND and Purification may find them."""
    lowest = -1e-6 * float(np.abs(endmembers).max(initial=0.0))
    count = np.count_nonzero((endmembers < lowest).any(axis=1))
    if not count:
        return []
    return [
        f"{count} spectra have negative values, down to {endmembers.min():.2g}, as no pixel has: "
        "choose another method, such as spa or merit, or fewer materials"
    ]


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


def averaging_note(n_averaged: NDArray[np.intp], left: float) -> str:
    """Over how many pixels endmembers were averaged, and which ones rest on one pixel."""
    note = (
        f"{len(n_averaged)} materials leave {left:.3g} times the variance of the noise; endmembers "
        f"are means over {', '.join(str(n) for n in n_averaged)} pixels that lie at the corners "
        "within their noise"
    )
    alone = [str(j + 1) for j in np.flatnonzero(n_averaged <= 1)]
    if alone:
        note += f"; with one pixel only, an odd pixel may pass for material {', '.join(alone)}"
    return note


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
