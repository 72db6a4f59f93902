"""Noise of each band of a cube, and the signal above it.

Bands of a cube repeat each other: what the other bands cannot explain of a band is its noise
(Roger & Arnold 1996; Bioucas-Dias & Nascimento 2008). The residual variance of the regression of
band b on all others is 1 / (G⁻¹)_bb / (n − bands + 1) with the Gram matrix G. Pixels divided by
these deviations have white noise of variance one, so the eigenvalues of their second moments show
how many directions hold more than noise: those above (1 + √(bands / n))², the edge of Marchenko
and Pastur.

A band that follows from others adds no independent noise: the noise is that of independent bands
(`independent_bands`), and what follows from them has what they pass on.

In these coordinates k materials span k directions. Where noise explains all that they leave,
pixels are projected onto them, and endmembers are means over the pixels that lie at a corner
within their noise (`methods/separable/vertices.py`). Where they leave much more, spectra vary
within a material: no pixel lies at a corner within its noise, and averaging has nothing to rest
on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from provenmf.data import as_blocks
from provenmf.methods.separable.vertices import average_vertices, lean_of_members

# Bands of a cube of which none follows from the others.
#
# A band may be stored twice, or be the sum or the mean of others, exactly or rounded. Exact ones
# show in elimination. Where a band follows but for rounding, its noise is nearly that of other
# bands: the correlation of the two, given all other bands, is near one. Several bands in a row that
# were interpolated and rounded leave others whose noise is only alike; these are not told apart.

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # of the largest step of elimination, and of cosines
# Correlation of two bands' noise beyond which they are one band, rounded. Cubes of the model have
# up to .97 (12 bands, 4 materials); rounding by a seventh of the noise gives .99.
SAME = 0.99


def number_of_copies(alike: Floats) -> int:
    """Return the number of bands that are multiples of an earlier one, from their cosines."""
    return int(np.count_nonzero(np.tril(alike > 1.0 - ROUNDING, -1).any(axis=1)))


def independent_bands(alike: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return linearly independent bands, and all bands as combinations of them.

    alike : the bands' cosines. Elimination takes the band that the earlier ones explain least,
    until they explain all but rounding.
    """
    _, upper, order = qr(alike, mode="economic", pivoting=True)
    steps = np.abs(np.diag(upper))
    rank = int(np.count_nonzero(steps > ROUNDING * steps[0]))
    kept = without_copies(alike, np.sort(order[:rank]))
    if len(kept) == len(alike):
        return kept, np.eye(len(alike))
    return kept, np.asarray(np.linalg.solve(alike[np.ix_(kept, kept)], alike[kept]), np.float64)


def without_copies(alike: Floats, bands: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the bands without those that are linearly dependent up to rounding.

    Of the two bands whose noise is most alike, the later one goes.
    """
    while len(bands) > 2:
        precision = np.linalg.inv(alike[np.ix_(bands, bands)])
        roots = np.sqrt(np.abs(np.diag(precision)))  # below zero by rounding alone
        correlations = np.tril(np.abs(precision) / np.multiply.outer(roots, roots), -1)
        if correlations.max() <= SAME:
            break
        bands = np.delete(bands, correlations.argmax() // len(bands))
    return bands


LEAST_PIXELS = 2  # for each band, below which the regression explains noise by noise
# Variance beyond k materials, in units of the noise. Cubes of the model have 1 and the three scenes
# of the benchmark 14 to 161. On drawn scenes with spectra that vary, corners of all pixels were
# sometimes better than groups up to 8, sometimes worse: more than twice the noise is not noise.
EXPLAINED = 2.0
# Directions with less than ten times the variance of noise. Cubes of the model have few of them; in
# real scenes spectra vary within materials, and the eigenvalues fade into the noise (13, 20 and 49
# directions in the three scenes).
WEAK = 10.0
MOST_WEAK = 6


@dataclass(frozen=True, eq=False)
class Spectra:
    """Endmembers (k, bands) at their own brightness.

    anchors : (k,), the points of the search that each comes from; None if from none.
    n_averaged : (k,), pixels that each is the mean of; None where they are not averaged.
    lean : (k, bands), the most that choosing these pixels may have moved the mean.
    pure : (k,), shares of the pixels that hold one material only, where endmembers are the corners
    of a simplex around all pixels; else None.
    """

    endmembers: Floats
    anchors: NDArray[np.intp] | None = None
    n_averaged: NDArray[np.intp] | None = None
    lean: Floats | float = 0.0
    pure: Floats | None = None

    def ordered(self, order: NDArray[np.intp]) -> Spectra:
        """Return the endmembers in another order."""
        return Spectra(
            *(
                value[order] if isinstance(value, np.ndarray) else value
                for value in (getattr(self, field.name) for field in fields(self))
            )
        )


@dataclass(frozen=True, eq=False)
class BandNoise:
    """Standard deviation of each band's noise, and the second moments of the whitened pixels.

    deviations : (bands,). eigenvalues : (kept,), descending. directions : (kept, kept), the
    eigenvectors in its columns. edge : the largest eigenvalue that noise alone would have. kept :
    bands of which none follows from the others. lift : (kept, bands), all bands from those.
    """

    deviations: Floats
    eigenvalues: Floats
    directions: Floats
    edge: float
    kept: NDArray[np.intp]
    lift: Floats

    @property
    def count(self) -> int:
        """Number of directions with variance above the noise."""
        return int(np.count_nonzero(self.eigenvalues > self.edge))

    @property
    def n_weak(self) -> int:
        """Number of those with less than ten times the noise."""
        return self.count - int(np.count_nonzero(self.eigenvalues > WEAK * self.edge))

    def left_by(self, k: int) -> float:
        """Return the mean variance outside the k leading directions, in units of the noise."""
        return float(self.eigenvalues[k:].mean()) if k < len(self.eigenvalues) else 1.0

    def explains(self, k: int) -> bool:
        """Return whether the spectrum is that of k materials and noise."""
        return 1 < k <= self.count and k < len(self.eigenvalues) and self.left_by(k) <= EXPLAINED

    def widened(self, k: int) -> BandNoise:
        """Return the noise plus the residual of k materials, whose spectra vary."""
        factor = np.sqrt(max(self.left_by(k), 1.0))
        return replace(self, deviations=factor * self.deviations)

    def coordinates(self, pixels: Floats, k: int) -> Floats:
        """Return whitened pixels (n, k) in the k leading directions."""
        directions = self.directions[:, :k] / self.deviations[self.kept, None]
        return np.asarray(pixels[:, self.kept] @ directions)

    def in_bands(self, coordinates: Floats) -> Floats:
        """Return points back in all bands (n, bands), in units of the noise."""
        back = coordinates @ self.directions[:, : coordinates.shape[1]].T
        return np.asarray((back * self.deviations[self.kept]) @ self.lift / self.deviations)

    def whitened(self, coordinates: Floats) -> Floats:
        """Return the points in all bands, with negative values set to zero."""
        return np.maximum(self.in_bands(coordinates), 0.0)


def band_noise(pixels: Floats) -> BandNoise | None:
    """Estimate the noise of the bands; None with too few pixels or too few independent bands.

    Copies of a single band count as that band.
    """
    n, bands = pixels.shape
    if n < LEAST_PIXELS * bands:
        return None
    gram = pixels.T @ pixels
    lengths = np.sqrt(np.diag(gram))
    if not np.all(lengths > 0):
        return None
    alike = gram / np.multiply.outer(lengths, lengths)
    kept, lift = independent_bands(alike)
    if 2 * len(kept) <= bands - number_of_copies(alike):
        return None
    lift = lift * lengths / lengths[kept, None]
    inverse_diagonal = np.diag(np.linalg.inv(alike[np.ix_(kept, kept)])) / lengths[kept] ** 2
    variances = 1.0 / (inverse_diagonal * (n - len(kept) + 1))
    deviations = np.sqrt(variances @ lift**2)
    own = deviations[kept]
    whitened = gram[np.ix_(kept, kept)] / np.multiply.outer(own, own) / n
    eigenvalues, directions = np.linalg.eigh(whitened)
    edge = (1.0 + np.sqrt(len(kept) / n)) ** 2
    return BandNoise(deviations, eigenvalues[::-1], directions[:, ::-1], float(edge), kept, lift)


def averaged_spectra(
    noise: BandNoise, pixels: Floats, scales: Floats, anchors: NDArray[np.intp]
) -> Spectra:
    """Return means over the pixels that lie at the corners within their noise.

    Parameters
    ----------
    pixels : (n, bands), not whitened.
    scales : (n,), what each pixel was divided by; its error was divided too.
    anchors : (k,) pixels near the corners.
    """
    noise = noise.widened(len(anchors))
    points = noise.coordinates(pixels, len(anchors)) / scales[:, None]
    vertices = average_vertices(as_blocks(points), anchors, 1.0 / scales)
    some = vertices.n_members > 0
    sums = scales @ vertices.members
    brightness = np.where(some, sums / np.where(some, vertices.n_members, 1), scales[anchors])
    back = noise.deviations * brightness[:, None]
    lean = noise.in_bands(lean_of_members(vertices, 1.0 / scales))
    return Spectra(noise.whitened(vertices.points) * back, anchors, vertices.n_members, lean * back)
