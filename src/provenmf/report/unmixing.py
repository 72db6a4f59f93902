"""Unmixing: spectra of the materials, and a map of each one's abundance."""

from __future__ import annotations

import math

import numpy as np

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.answer import Answer
from provenmf.report.elements import Chart, ChartGrid, Element, Paragraph

PIXELS_A_SIDE = 160


def found(result: Factorization, answer: Answer) -> list[Element]:
    """The elements of the first tab."""
    height, width = answer.image_shape
    masked = int(np.isnan(answer.weights).any(axis=1).sum())
    summary = (
        f"{answer.n_components} materials in an image of {height} × {width} pixels and "
        f"{answer.components.shape[1]} bands."
    )
    return [Paragraph(summary), _spectra(result, answer), _maps(answer, masked)]


def _spectra(result: Factorization, answer: Answer) -> Chart:
    bands = answer.components.shape[1]
    wavelengths = result.extras.get("wavelengths")
    known = wavelengths is not None and len(wavelengths) == bands
    mask = result.extras.get("band_mask", np.ones(bands, dtype=bool))
    x = wavelengths if known else np.flatnonzero(mask) + 1
    series = [(name, x, spectrum) for name, spectrum in zip(answer.names, answer.components)]
    caption = "Each curve is the spectrum of one material."
    if answer.anchors is not None:
        places = "; ".join(
            f"{name}: {answer.anchor_name(i)}" for i, name in enumerate(answer.names)
        )
        caption += f" It was found at a pixel that is nearly pure. {places}."
    return Chart(
        "Spectra of the materials",
        figures.lines(series, "wavelength" if known else "band", "signal"),
        caption,
    )


def _maps(answer: Answer, masked: int) -> ChartGrid:
    height, width = answer.image_shape
    step = max(1, math.ceil(max(height, width) / PIXELS_A_SIDE))
    charts = [
        Chart(
            f"{name}, {answer.share[i]:.0%} of the image",
            figures.image(
                answer.weights[:, i].reshape(height, width)[::step, ::step],
                value_label="abundance",
                largest=1.0,
            ),
            height=300,
        )
        for i, name in enumerate(answer.names)
    ]
    caption = "From dark (none) to bright (all of the pixel)."
    if masked:
        caption += f" {masked} pixels were masked and are left empty."
    if step > 1:
        caption += f" One pixel in {step} of each direction is drawn."
    return ChartGrid("Abundance maps", charts, caption)
