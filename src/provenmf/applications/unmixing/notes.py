"""What there is to say about how endmembers were found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.fitting import found_fewer
from provenmf.applications.unmixing.band_noise import Spectra
from provenmf.applications.unmixing.pixel_points import PixelProblem
from provenmf.results import Factorization

UNKNOWN_NOISE = (
    "the noise is unknown, because there are fewer than two pixels for each band or the bands "
    "determine each other exactly; endmembers are not averaged"
)


def notes_on(
    problem: PixelProblem, factorization: Factorization, wanted: int | None, spectra: Spectra
) -> list[str]:
    """How endmembers were sought, and what there is to say about those found."""
    notes = [] if problem.groups is None else [problem.groups.note]
    notes += found_fewer(factorization, wanted, "endmembers")
    if spectra.anchors is not None and factorization.anchors is not None:
        moved = np.count_nonzero(spectra.anchors != factorization.anchors)
        if moved:
            notes.append(
                f"groups of pixels that explain the image better replaced {moved} of "
                f"{len(spectra.anchors)} endmembers found by the shape of their spectra"
            )
    notes += negative_note(spectra.endmembers)
    if problem.noise is not None and spectra.n_averaged is not None:
        left = problem.noise.left_by(len(spectra.endmembers))
        notes.append(averaging_note(spectra.n_averaged, left))
    if spectra.pure is not None:
        notes.append(simplex_note(spectra.pure, len(problem.points)))
    return notes


def negative_note(endmembers: NDArray[np.floating]) -> list[str]:
    """Said of spectra below zero, more than by rounding, as AND and Purification may find them."""
    lowest = -1e-6 * float(np.abs(endmembers).max(initial=0.0))
    count = np.count_nonzero((endmembers < lowest).any(axis=1))
    if not count:
        return []
    return [
        f"{count} spectra have negative values, down to {endmembers.min():.2g}, which no pixel "
        "has: choose another method, such as spa or merit, or fewer materials"
    ]


def simplex_note(pure: NDArray[np.floating], n_pixels: int) -> str:
    """Why endmembers are no means of pixels, and how many pixels are pure."""
    numbers = np.rint(pure * n_pixels)
    shares = [f"{100 * share:.2g}" for share in np.where(numbers > 0, pure, 0.0)]
    some = f"{', '.join(shares)} % of them are pure" if numbers.any() else "none of them is pure"
    return (
        "the purest pixels are not the corners of all pixels; endmembers are the corners of the "
        f"most likely simplex around the pixels, and {some}{alone(numbers == 1)}"
    )


def averaging_note(n_averaged: NDArray[np.intp], left: float) -> str:
    """Over how many pixels endmembers were averaged, and which ones rest on one pixel."""
    return (
        f"{len(n_averaged)} materials leave {left:.3g} times the variance of the noise; endmembers "
        f"are means of {', '.join(str(n) for n in n_averaged)} pixels that lie at the corners "
        f"within their noise{alone(n_averaged <= 1)}"
    )


def alone(these: NDArray[np.bool_]) -> str:
    """Said of materials with a single pixel."""
    numbers = ", ".join(str(j + 1) for j in np.flatnonzero(these))
    return f"; material {numbers} has one pixel only, which may just be odd" if numbers else ""
