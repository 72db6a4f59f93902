"""Pixels as the points among which endmembers are sought, and the way back to spectra."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from provenmf.applications.unmixing.choice import LEAST_SIZE, best_spectra
from provenmf.applications.unmixing.noise import (
    MOST_WEAK,
    BandNoise,
    Spectra,
    averaged_spectra,
    band_noise,
)
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.linalg.nnls import encoder, simplex_least_squares
from provenmf.methods.separable.spa import spa
from provenmf.results import Factorization

# Groups of near-identical rows, replaced by their means.

LEAST_RADIUS = 0.05


@dataclass(frozen=True, eq=False)
class Groups:
    """Means (groups, d), how many rows are behind each, and the first of them."""

    means: NDArray[np.float64]
    sizes: NDArray[np.intp]
    first: NDArray[np.intp]
    note: str


def group_rows(rows: NDArray[np.float64], n_components: int | None) -> Groups:
    """Assign each row to the first leader within a radius, or make it a new leader.

    The rows are compared in the coordinates of their leading right singular vectors, where most of
    the noise is gone. The radius is 5 % of the root mean square length of a row, or twice the noise
    left in those coordinates, estimated from the singular values that follow, if that is more, and
    half of it as often as too few groups come out.
    """
    scale = math.sqrt(float(np.mean(np.einsum("ij,ij->i", rows, rows))))
    if scale == 0:
        raise InvalidInput("all pixels are zero: nothing can be unmixed")
    dimensions = min(2 * (n_components or 10), *rows.shape)
    squares, coordinates = _leading_coordinates(rows, dimensions)
    left = max(float(squares[dimensions:].sum()), 0.0)
    noise_per_dimension = left / max(rows.size - dimensions * len(rows), 1)
    radius = max(LEAST_RADIUS, 2 * math.sqrt(2 * dimensions * noise_per_dimension) / scale)
    labels, first = _leaders(coordinates, radius * scale)
    wanted = min(2 * (n_components or 1), len(rows))
    while len(first) < wanted and radius > LEAST_RADIUS / 1000:
        radius /= 2
        labels, first = _leaders(coordinates, radius * scale)
    sizes = np.bincount(labels)
    sums = np.zeros((len(first), rows.shape[1]))
    np.add.at(sums, labels, rows)
    means = sums / sizes[:, None]
    kept = np.flatnonzero(sizes >= LEAST_SIZE)
    dropped = len(sizes) - len(kept)
    if len(kept) < max(2 * (n_components or 1), 10):
        kept, dropped = np.arange(len(sizes)), 0
    note = f"{len(rows)} pixels were averaged in {len(kept)} groups that differ by at most "
    note += f"{radius:.1%} of their length"
    if dropped:
        note += f"; {dropped} groups of fewer than {LEAST_SIZE} pixels cannot become anchors"
    return Groups(means[kept], sizes[kept], first[kept], note)


# Materials counted in groups of pixels: another one must lower the error of the groups by a sixth.
# On drawn scenes with spectra that vary the last material lowers it by a quarter or more, the next
# direction by a tenth.
WORTH_COUNTING, LEAST_DROP = 1.2, 0.02  # the latter of the error of one material
MANY = 3  # directions beyond the materials in groups of pixels: more than chance and weak materials


def count_materials(pixels: NDArray[np.float64], noise: BandNoise) -> tuple[int | None, str]:
    """Count the materials by noise, or by groups of pixels where spectra vary; None if unknown."""
    found, weak = noise.count, noise.n_weak
    if not found or found == len(noise.eigenvalues) or weak > MOST_WEAK:
        return None, (
            f"{found} directions stand out from the noise, {weak} of them only a little: spectra "
            "vary within materials, so the noise does not determine the number of materials"
        )
    fewer = materials_in_groups(pixels, found) if found > MANY else found
    if 1 < fewer <= found - MANY:
        return fewer, (
            f"{found} directions stand out from the noise, but {fewer} materials explain groups of "
            "similar pixels: spectra vary within materials. Give the number if you know it"
        )
    return found, (
        f"number of materials chosen from the noise: {found} directions stand out, the weakest "
        f"with {noise.eigenvalues[found - 1]:.3g} times the variance of the noise, which alone "
        f"reaches {noise.edge:.3g}. Materials that are mixtures of others, or too rare, are not "
        "counted: give the number if you know it"
    )


def materials_in_groups(pixels: NDArray[np.float64], most: int) -> int:
    """Count the groups of pixels, by shape, from which the others can be mixed; at most `most`."""
    groups = group_rows(pixels, None)
    shapes = groups.means / np.maximum(groups.means.sum(axis=1, keepdims=True), 1e-300)
    anchors = spa(as_blocks(shapes), min(most + 1, len(shapes))).anchors
    assert anchors is not None  # SPA always chooses rows
    errors = []
    for k in range(1, len(anchors) + 1):
        corners = shapes[anchors[:k]]
        weights = simplex_least_squares(corners @ corners.T, shapes @ corners.T)
        squares = ((shapes - weights @ corners) ** 2).sum(axis=1)
        errors.append(float(np.sqrt(groups.sizes @ squares)))
    worth = [
        k + 1
        for k, (before, after) in enumerate(pairwise(errors), start=1)
        if before > WORTH_COUNTING * after and before - after > LEAST_DROP * errors[0]
    ]
    return min(max(worth, default=1), most)


def _leading_coordinates(
    rows: NDArray[np.float64], dimensions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return squared singular values, descending, and rows in their leading right vectors.

    The smaller Gram matrix is decomposed: spectra may have many more bands than there are pixels.
    """
    if rows.shape[0] >= rows.shape[1]:
        values, vectors = np.linalg.eigh(rows.T @ rows)
        return values[::-1], rows @ vectors[:, ::-1][:, :dimensions]
    values, vectors = np.linalg.eigh(rows @ rows.T)
    lengths = np.sqrt(np.maximum(values[::-1][:dimensions], 0.0))
    return values[::-1], vectors[:, ::-1][:, :dimensions] * lengths


def _leaders(
    points: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Group points: the first free point leads all free points within the radius.

    Returns the group of each point, and the leader of each group.
    """
    labels = np.full(len(points), -1, dtype=np.intp)
    free = np.arange(len(points))
    first: list[int] = []
    while len(free):
        leader = free[0]
        difference = points[free] - points[leader]
        near = np.einsum("ij,ij->i", difference, difference) <= radius**2
        near[0] = True
        labels[free[near]] = len(first)
        first.append(int(leader))
        free = free[~near]
    return labels, np.array(first, dtype=np.intp)


# Endmembers exchanged for rows that explain the pixels better.
#
# Divided by its sum, a dark spectrum is as long as any other: what is hardly there at all, such as
# a shore in the shade, may have a more extreme shape than a material that covers half the scene.
# The search by shape names candidates, a few for each material. As in N-FINDR (Winter 1999)
# endmembers are exchanged for candidates one by one, but what must fall is the squared error of the
# pixels, at their own brightness, when abundances are nonnegative and sum to one; the volume of the
# simplex, for which N-FINDR looks, grows with noise and odd pixels. An exchange must be worth a
# tenth of the error: shape decides unless the pixels clearly contradict.

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

CANDIDATES = 4  # rows to try for each material
WORTH = 0.1  # an exchange must lower the squared error by this share


def exchanged(rows: Floats, sizes: NDArray[np.intp], shapes: Floats, chosen: Rows) -> Rows:
    """Exchange chosen rows for candidates while the fit improves.

    Parameters
    ----------
    rows : (n, bands), each counted as often as sizes (n,) says.
    shapes : (n, bands), the rows divided by their sums.
    chosen : (k,) of the rows.
    """
    # Elimination with pivots takes the row farthest from the span of the earlier ones, as SPA does.
    candidates = qr(shapes.T, mode="r", pivoting=True)[1][: CANDIDATES * len(chosen)]
    pool = np.concatenate([chosen, np.setdiff1d(candidates, chosen)])
    gram, products = rows[pool] @ rows[pool].T, rows @ rows[pool].T
    total = float(sizes @ np.einsum("ij,ij->i", rows, rows))

    def error(places: Rows) -> float:
        inner, beside = gram[np.ix_(places, places)], products[:, places]
        weights = simplex_least_squares(inner, beside)
        gained = np.einsum("ij,ij->i", weights, 2 * beside - weights @ inner)
        return total - float(sizes @ gained)

    places = np.arange(len(chosen))
    least = error(places)
    while True:
        others = np.setdiff1d(np.arange(len(pool)), places)
        trials = [np.where(places == old, new, places) for old in places for new in others]
        errors = [error(trial) for trial in trials]
        if not errors or min(errors) >= (1 - WORTH) * least:
            return np.asarray(pool[places], dtype=np.intp)
        least, places = min(errors), trials[int(np.argmin(errors))]


@dataclass(frozen=True)
class UnmixingSettings:
    """Settings that rebuild the factorized matrix from the cube."""

    n_endmembers: int | None = None
    group: bool = True
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


def pixel_problem(
    pixels: NDArray[np.float64], settings: UnmixingSettings, noise: BandNoise | None = None
) -> PixelProblem:
    """Return the matrix to search for endmembers; `noise` is that of the pixels, if known."""
    if settings.project:
        noise = noise or band_noise(pixels)
    if noise is not None and settings.project and settings.n_endmembers is not None:
        scales = _scales(pixels, settings)
        points = noise.whitened(noise.coordinates(pixels, settings.n_endmembers))
        return PixelProblem(points / scales[:, None], scales, None, noise)
    groups = None
    if settings.group:
        groups = group_rows(pixels, settings.n_endmembers)
    points = pixels if groups is None else groups.means
    scales = _scales(points, settings)
    return PixelProblem(points / scales[:, None], scales, groups)


def endmembers_of(
    problem: PixelProblem,
    pixels: NDArray[np.float64],
    factorization: Factorization,
    grouped: NDArray[np.float64] | None = None,
    corners: bool | None = None,
) -> Spectra | None:
    """Return endmembers at their own brightness; with known noise averaged or beyond pixels.

    None where those among groups of pixels, `grouped`, are better. `corners` says whether they are
    beyond pixels, if that was decided before.
    """
    anchors, scales, groups = factorization.anchors, problem.scales, problem.groups
    components = np.asarray(factorization.components, dtype=np.float64)
    if anchors is None:  # their brightness is unknown: take the mean one
        deviations = 1.0 if problem.noise is None else problem.noise.deviations
        return Spectra(components * deviations * float(scales.mean()))
    if problem.noise is not None:
        averaged = averaged_spectra(problem.noise, pixels, scales, anchors)
        return best_spectra(problem.noise, pixels, averaged, grouped, corners)
    spectra, chosen = components * scales[anchors, None], anchors
    if groups is not None and (scales != 1.0).any():
        chosen = exchanged(groups.means, groups.sizes, problem.points, anchors)
    new = chosen != anchors
    spectra[new] = problem.points[chosen[new]] * scales[chosen[new], None]
    return Spectra(spectra, chosen)


def _scales(points: NDArray[np.float64], settings: UnmixingSettings) -> NDArray[np.float64]:
    """Return the divisor of each point: the sum of its spectrum, or one if that is zero."""
    scales = points.sum(axis=1) if settings.scale else np.ones(len(points))
    return np.where(scales > 1e-100 * scales.max(), scales, 1.0)  # one over them is a number


def abundances_of(
    pixels: NDArray[np.float64],
    endmembers: NDArray[np.float64],
    deviations: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return abundances on the simplex by least squares, weighted by the noise if known."""
    if deviations is not None:
        pixels, endmembers = pixels / deviations, endmembers / deviations
    return encoder(endmembers, np.dtype(np.float64), "simplex")(pixels)
