"""Standard errors of endmembers: they are found again in pixels drawn with replacement.

Where endmembers are means over the pixels at a corner, choosing these pixels moves the mean by an
amount that all resamples have in common: the most it can be is added to the variance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.fitting import fit_matrix
from provenmf.applications.unmixing.band_noise import Spectra
from provenmf.applications.unmixing.pixel_points import (
    UnmixingSettings,
    endmembers_of,
    pixel_problem,
)
from provenmf.methods.resampling import error_bars, resampled
from provenmf.results.error_bars import ErrorBars

Floats = NDArray[np.float64]

ASSUMES = (
    "pixels are mixtures of the endmembers with independent noise, and the endmembers found are "
    "off by chance alone"
)


def endmember_error_bars(
    pixels: Floats,
    found: Spectra,
    settings: UnmixingSettings,
    method: str,
    options: Mapping[str, Any],
    n_resamples: int,
) -> ErrorBars:
    """Error bars of the endmembers found in these pixels with these settings."""
    quiet = {**options, "certify": False, "callback": None, "checkpoint": None}

    def refit(drawn: NDArray[np.intp]) -> tuple[Floats, Floats]:
        again = pixels[drawn]
        problem = pixel_problem(again, settings)
        factorization = fit_matrix(problem.points, settings.n_endmembers, method, quiet)
        spectra = endmembers_of(problem, again, factorization).endmembers
        return spectra, spectra

    spread = resampled(
        refit,
        found.endmembers,
        len(pixels),
        n_resamples,
        np.random.default_rng(0),
        callback=options.get("callback"),
        verbose=options.get("verbose") or 0,
    )
    spread = replace(spread, errors=np.hypot(spread.errors, found.lean))
    return error_bars(found.endmembers, spread, ASSUMES)
