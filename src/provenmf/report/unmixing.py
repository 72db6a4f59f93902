"""Unmixing: spectra of the materials, and a map of each one's abundance."""

from __future__ import annotations

import math

import numpy as np

from provenmf.applications.unmixing import Unmixing
from provenmf.report import figures, matrix
from provenmf.report.elements import Chart, ChartGrid, Element, Paragraph

PIXELS_A_SIDE = 160


@matrix.found.register
def found(answer: Unmixing) -> list[Element]:
    """The elements of the first tab."""
    height, width = answer.image_shape
    summary = (
        f"{answer.n_components} materials in an image of {height} × {width} pixels and "
        f"{answer.components.shape[1]} bands."
    )
    return [Paragraph(summary), _spectra(answer), _maps(answer)]


def _spectra(answer: Unmixing) -> Chart:
    known = answer.wavelengths is not None
    x = answer.wavelengths if known else np.flatnonzero(answer.band_mask) + 1
    names = answer.component_names
    series = [(name, x, spectrum) for name, spectrum in zip(names, answer.endmembers)]
    caption = "Each curve is the spectrum of one material."
    if answer.anchor_pixels is not None:
        places = "; ".join(f"{name}: {answer.anchor_name(i)}" for i, name in enumerate(names))
        averaged = answer.n_averaged is not None
        caption += " It was found at a pixel that is nearly pure"
        caption += ", and is the mean of all pixels like it within their noise" if averaged else ""
        caption += f". {places}."
    return Chart(
        "Spectra of the materials",
        figures.Lines(series, "wavelength" if known else "band", "signal"),
        caption,
    )


def _maps(answer: Unmixing) -> ChartGrid:
    height, width = answer.image_shape
    step = max(1, math.ceil(max(height, width) / PIXELS_A_SIDE))
    charts = [
        Chart(
            f"{name}, {answer.share[i]:.0%} of the image",
            figures.Map(abundance[::step, ::step], "abundance", 1.0, step),
            height=300,
        )
        for i, (name, abundance) in enumerate(zip(answer.component_names, answer.maps()))
    ]
    caption = "From dark (none) to bright (all of the pixel)."
    masked = int(np.count_nonzero(~answer.pixel_mask))
    if masked:
        caption += f" {masked} pixels were masked and are left empty."
    if step > 1:
        caption += f" One pixel in {step} of each direction is drawn."
    return ChartGrid("Abundance maps", charts, caption)
