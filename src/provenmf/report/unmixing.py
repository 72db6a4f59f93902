"""Unmixing: spectra of the materials, maps of their abundance, and what they leave."""

from __future__ import annotations

import math
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.unmixing import Unmixing
from provenmf.report import figures, matrix
from provenmf.report.elements import Chart, ChartGrid, Element, Gallery, Paragraph, Picture
from provenmf.report.figures import data_uri

PIXELS_A_SIDE = 160
CELLS = 300_000  # of all maps, so that the page stays small


def found(answer: Unmixing) -> list[Element]:
    """Return the elements of the first tab."""
    height, width = answer.image_shape
    summary = (
        f"{answer.n_components} materials in an image of {height} × {width} pixels and "
        f"{answer.components.shape[1]} bands."
    )
    return [
        Paragraph(summary),
        _spectra(answer),
        _maps(answer),
        *_picture(answer),
        *_residuals(answer),
    ]


def _spectra(answer: Unmixing) -> Chart:
    known = answer.wavelengths is not None
    x = answer.wavelengths if known else np.flatnonzero(answer.band_mask) + 1
    names = answer.component_names
    series = [(name, x, spectrum) for name, spectrum in zip(names, answer.endmembers)]
    caption = "Each curve is the spectrum of one material."
    given = [] if answer.reference is None else _reference(answer)
    colours = [*range(len(names)), *(place for place, _, _ in given)]
    if given:
        caption += " Dotted curves are the given spectra, each scaled to its match."
    if answer.anchor_pixels is not None:
        places = "; ".join(f"{name}: {answer.anchor_name(i)}" for i, name in enumerate(names))
        if answer.n_averaged is not None:
            caption += " Each is the mean of the pixels equal within noise to a nearly pure one"
        elif answer.settings.project:
            caption += " Each is a corner of the simplex around the pixels; the search began at"
        else:
            caption += " Each material was found at a nearly pure pixel"
        caption += f" ({places})."
    series += [(name, x, spectrum) for _, name, spectrum in given]
    return Chart(
        "Spectra of the materials",
        figures.Lines(
            series,
            _unit(answer) if known else "band",
            "signal",
            dotted=[name for _, name, _ in given],
            colours=colours,
        ),
        caption,
        height=420,
    )


def _unit(answer: Unmixing) -> str:
    """Guess the unit: wavelengths of 400 to 2500 are nanometers, of 0.4 to 2.5 micrometers."""
    assert answer.wavelengths is not None
    largest = float(answer.wavelengths.max())
    unit = "µm" if largest < 20 else "nm" if 300 <= largest < 20_000 else ""
    return f"wavelength ({unit})" if unit else "wavelength"


def _reference(answer: Unmixing) -> list[tuple[int, str, NDArray[np.float64]]]:
    """Return place and name of the match of each given spectrum, scaled to it by least squares."""
    assert answer.reference is not None
    order = [] if answer.agreement is None else np.ravel(answer.agreement.order).tolist()
    named = []
    for number, spectrum in enumerate(answer.reference):
        if number >= len(order) or not 0 <= order[number] < answer.n_components:
            named.append((number, f"given {number + 1}, without a match", spectrum))
            continue
        match = answer.endmembers[order[number]]
        scale = float(match @ spectrum) / (float(spectrum @ spectrum) or 1.0)
        name = f"{answer.component_names[order[number]]}, given"
        named.append((order[number], name, scale * spectrum))
    return sorted(named, key=itemgetter(0))


def _step(answer: Unmixing) -> int:
    """Return the step between the pixels that are drawn."""
    side = min(PIXELS_A_SIDE, math.isqrt(CELLS // (answer.n_components + 1)))
    return max(1, math.ceil(max(answer.image_shape) / side))


def _maps(answer: Unmixing) -> ChartGrid:
    step = _step(answer)
    charts = [
        Chart(
            answer.component_names[i],
            figures.Map(answer.maps()[i][::step, ::step], "abundance", 1.0, step),
            f"{answer.share[i]:.0%} of the image",
            height=300,
            component=i + 1,
        )
        for i in matrix.by_size(answer)
    ]
    caption = "The share of each material in each pixel; the most frequent material comes first."
    masked = int(np.count_nonzero(~answer.pixel_mask))
    if masked:
        caption += f" {masked} pixels were masked and are left empty."
    if step > 1:
        caption += f" In each direction, one pixel in {step} is drawn."
    return ChartGrid("Abundance maps", charts, caption)


def _picture(answer: Unmixing) -> list[Element]:
    if answer.picture is None or answer.picture.size == 0:
        return []
    bands = ", ".join(map(str, answer.picture_bands))
    caption = f"Red, green and blue are the bands {bands}."
    picture = Picture(data_uri(answer.picture), "The image", caption)
    return [Gallery("False-colour image", [picture], half=True)]


def _residuals(answer: Unmixing) -> list[Element]:
    """Draw where the materials do not explain a pixel."""
    if answer.residuals is None:
        return []
    step = _step(answer)
    shown = answer.as_maps(answer.residuals[:, None])[0][::step, ::step]
    finite = answer.residuals[np.isfinite(answer.residuals)]
    largest = float(np.quantile(finite, 0.99)) if finite.size else 1.0
    caption = (
        "The part of each pixel that the materials do not explain, as a share of its length. "
        f"The median is {np.median(finite) if finite.size else 0:.1%}. Bright spots are another "
        "material, or noise."
    )
    figure = figures.Map(shown, "residual", largest or 1.0, step)
    return [Chart("Residual", figure, caption, height=420, half=True)]
