"""The answer of `unmix`: endmembers, abundances, maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.unmixing.points import (
    UnmixingSettings,
    abundances_of,
    pixel_problem,
)
from provenmf.errors import InvalidInput
from provenmf.io.images import Cube, as_cube, read_cube
from provenmf.linalg.storage import numbers
from provenmf.metrics.recovery import Agreement
from provenmf.results.answers import Answer, ReadOptions, Words, shares
from provenmf.results.states import Shape

if TYPE_CHECKING:
    import xarray


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

    def __post_init__(self) -> None:
        super().__post_init__()
        pixels = self.image_shape[0] * self.image_shape[1]
        usable = int(np.count_nonzero(self.pixel_mask))
        if self.pixel_mask.size != pixels or len(self.abundances) != usable:
            raise InvalidInput(
                f"pixel_mask has {usable} of {self.pixel_mask.size} pixels, but there are "
                f"{len(self.abundances)} abundances of an image of {pixels}"
            )
        bands = int(np.count_nonzero(self.band_mask))
        if self.endmembers.shape[1] != bands:
            raise InvalidInput(
                f"band_mask has {bands} bands, but the endmembers have {self.endmembers.shape[1]}"
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
    def column_names(self) -> Sequence[str]:
        """Wavelengths of the bands where they are known, otherwise their numbers."""
        if self.wavelengths is None:
            return [f"band {band + 1}" for band in np.flatnonzero(self.band_mask)]
        unit = " µm" if self.wavelengths.max() < 20 else " nm"
        return [f"{wavelength:g}{unit}" for wavelength in self.wavelengths]

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of the image that each material covers; sums to 1."""
        return shares(self.abundances)

    def place_of(self, pixel: int) -> str:
        """Return row and column of a pixel of the image, both counted from 1."""
        row, column = divmod(pixel, self.image_shape[1])
        return f"row {row + 1}, column {column + 1}"

    def anchor_name(self, component: int) -> str:
        """Return the position of the pixel behind an endmember, or an empty string."""
        pixels = self.anchor_pixels
        return "" if pixels is None else self.place_of(int(pixels[self._place(component)]))

    def maps(self) -> NDArray[np.float64]:
        """Return abundance maps (k, rows, columns); NaN where a pixel was masked."""
        return self.as_maps(self.abundances)

    def as_maps(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values (pixels, maps) of the usable pixels as maps; NaN where masked."""
        if values.ndim != 2 or len(values) != np.count_nonzero(self.pixel_mask):
            raise InvalidInput(
                f"has shape {values.shape}: give a row for each of the "
                f"{np.count_nonzero(self.pixel_mask)} usable pixels",
                argument="values",
            )
        full = np.full((self.pixel_mask.size, values.shape[1]), np.nan)
        full[self.pixel_mask] = values
        return full.T.reshape(-1, *self.image_shape)

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset with the maps as images and the wavelengths of the bands."""
        dataset = super().to_xarray()
        dataset["maps"] = (("material", "y", "x"), self.maps())
        if self.wavelengths is not None:
            dataset = dataset.assign_coords(wavelength=("band", self.wavelengths))
        return dataset

    def scores(self) -> dict[str, float]:
        """Return the agreement with the reference, if one was given."""
        if self.agreement is None:
            return {}
        angle = "mean angle to the given spectra, in radians (0 is best)"
        scores = {angle: float(np.nanmean(self.agreement.angles))}
        if self.agreement.abundance_rmse is not None:
            error = "root mean square error of the abundances (0 is best)"
            scores[error] = self.agreement.abundance_rmse
        return scores

    def factorized(self) -> str:
        """Describe the factorized matrix; empty where it is the pixels themselves."""
        rows, columns = len(self.factorization.weights), self.factorization.components.shape[1]
        if self.settings.project:
            return f"{rows:,} pixels, cleared of noise outside the materials' span, {columns} bands"
        if self.group_sizes is None:
            return ""
        return f"{rows:,} means of groups of near-identical pixels, {columns} bands"

    def matrix_of(self, data: object) -> NDArray[np.float64]:
        """Return pixels, means of groups or projected pixels, scaled or not, from the cube."""
        pixels = as_cube(data, shape=self.image_shape).pixels
        return pixel_problem(pixels, self.settings).points

    def read(self, path: Path, options: ReadOptions) -> Any:
        """Read a cube."""
        return read_cube(path, key=options.key, shape=self.image_shape)

    def transform(self, data: object) -> NDArray[np.float64]:
        """Return abundances of the endmembers in new pixels.

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
        """Return pixels (n, bands) in the bands of the endmembers."""
        if isinstance(data, Cube):
            pixels = np.full((len(data.pixels), data.band_mask.size), np.nan)
            pixels[:, data.band_mask] = data.pixels
        else:
            values = numbers(data, "data").astype(np.float64)
            if values.size == 0 or values.ndim == 0:
                raise InvalidInput(f"data has shape {values.shape}: give pixels x bands")
            pixels = values.reshape(-1, values.shape[-1])
        if pixels.shape[1] == self.band_mask.size:
            return pixels[:, self.band_mask]
        if pixels.shape[1] != self.endmembers.shape[1]:
            raise InvalidInput(
                f"data has {pixels.shape[1]} bands: give the {self.band_mask.size} bands of the "
                f"cube that was unmixed, or its {self.endmembers.shape[1]} usable ones"
            )
        return pixels
