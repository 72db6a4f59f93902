"""What `unmix` says about how endmembers were found, and what is unusual about them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.fitting import found_fewer
from provenmf.applications.unmixing.choice import SETTINGS
from provenmf.applications.unmixing.noise import BandNoise, Spectra
from provenmf.applications.unmixing.points import PixelProblem
from provenmf.metrics.recovery import compare_endmembers
from provenmf.results import Factorization
from provenmf.results.answers import numbered
from provenmf.results.estimates import ErrorBars

Floats = NDArray[np.float64]

DISAGREE = 3.0  # degrees between endmembers by corners and by groups of pixels, on average
UNKNOWN_NOISE = (
    "the noise is unknown, because there are fewer than two pixels for each band or the bands "
    "determine each other exactly; endmembers are not averaged"
)
GROUPED = (
    "means of groups of similar pixels predict unseen pixels best: spectra vary within materials, "
    "or some of the purest pixels are just odd"
)
ASSUMES = (
    "pixels are mixtures of the endmembers with independent noise, and the endmembers found are "
    "off by chance alone"
)
MISFIT = (
    "the error bars hold chance only: what the materials leave exceeds the noise, so that the "
    "misfit of the model may be larger than they are"
)


def notes_on(
    problem: PixelProblem, factorization: Factorization, wanted: int | None, spectra: Spectra
) -> list[str]:
    """Return notes on the search and on unusual endmembers."""
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
    if problem.noise is not None:
        left = problem.noise.left_by(len(spectra.endmembers))
        notes.append(averaging_note(spectra, len(problem.points), left))
    return [note for note in notes if note]


def disagreement_note(spectra: Spectra, other: Floats | None, grouped: bool) -> list[str]:
    """Warn if the alternative search, among groups or by corners, gives different endmembers."""
    if other is None:
        return []
    angles = np.degrees(compare_endmembers(other, spectra.endmembers).angles)
    worst = int(np.argmax(np.nan_to_num(angles)))
    if not np.nanmean(angles) > DISAGREE:
        return []
    way = "groups of similar pixels" if grouped else "corners of all pixels"
    return [
        f"{way} would give other spectra ({np.nanmean(angles):.2g} degrees away on average, "
        f"material {worst + 1} {angles[worst]:.2g}): few pixels are pure, or spectra vary within "
        f"materials; compare with vertices={not grouped}"
    ]


def negative_note(endmembers: NDArray[np.floating]) -> list[str]:
    """Warn of spectra below zero by more than rounding, as AND and Purification may find."""
    lowest = -1e-6 * float(np.abs(endmembers).max(initial=0.0))
    count = np.count_nonzero((endmembers < lowest).any(axis=1))
    if not count:
        return []
    return [
        f"{count} spectra have negative values, down to {endmembers.min():.2g}, which no pixel "
        "has: choose another method, such as spa or merit, or fewer materials"
    ]


def averaging_note(spectra: Spectra, n_pixels: int, left: float) -> str:
    """Return a note on the pixels behind averaged endmembers, or beside extrapolated ones."""
    if spectra.pure is not None:
        numbers = np.rint(spectra.pure * n_pixels)
        shares = [f"{100 * share:.2g}" for share in np.where(numbers > 0, spectra.pure, 0.0)]
        pure = (
            f"{', '.join(shares)} % of them are pure" if numbers.any() else "none of them is pure"
        )
        alone = numbers == 1
        note = (
            "the purest pixels are not the corners of all pixels; endmembers are the corners of "
            f"the most likely simplex around the pixels, and {pure}"
        )
    elif spectra.n_averaged is None:
        return ""
    else:
        note = f"{len(spectra.endmembers)} materials leave {left:.3g} times the variance of the "
        if not spectra.n_averaged.any():
            return f"{note}noise; no other pixel lies at a corner: each endmember is a single pixel"
        counts = ", ".join(str(max(n, 1)) for n in spectra.n_averaged.tolist())
        note += f"noise; endmembers are means of {counts} pixels that lie at the corners within "
        note, alone = note + "their noise", spectra.n_averaged <= 1
    those = ", ".join(str(j + 1) for j in np.flatnonzero(alone))
    return note + (f"; material {those} has one pixel only, which may just be odd" if those else "")


def notes_on_error_bars(bars: ErrorBars, noise: BandNoise | None) -> list[str]:
    """Return what error bars hold, and a warning where the misfit may exceed them."""
    k = len(bars.standard_errors)
    misfit = noise is not None and noise.left_by(k) > SETTINGS.vary
    return [*bars.notes(numbered("Material", k)), *[MISFIT] * misfit]
