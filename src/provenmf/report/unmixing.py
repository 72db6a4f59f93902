"""Unmixing: spectra of the materials, and a map of each one's abundance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.elements import Chart, ChartGrid, Element, Paragraph
from provenmf.report.naming import component_names, scores
from provenmf.report.topics import shares

PIXELS_A_SIDE = 160


def found(result: Factorization) -> list[Element]:
    """The elements of the first tab."""
    names = component_names(result, "Material")
    height, width = image_shape(result, len(result.weights))
    share = shares(np.nan_to_num(result.weights))
    summary = (
        f"{result.n_components} materials in an image of {height} × {width} pixels and "
        f"{result.components.shape[1]} bands."
    )
    return [
        Paragraph(summary),
        _spectra(result, names),
        _maps(result, names, share),
        *scores(result),
    ]


def image_shape(result: Factorization, pixels: int) -> tuple[int, int]:
    """Height and width; one row of pixels where the record does not say."""
    stored = result.extras.get("image_shape")
    if stored is not None and len(stored) == 2 and math.prod(map(int, stored)) == pixels:
        return int(stored[0]), int(stored[1])
    return 1, pixels


def _spectra(result: Factorization, names: list[str]) -> Chart:
    bands = result.components.shape[1]
    wavelengths = result.extras.get("wavelengths")
    known = wavelengths is not None and len(wavelengths) == bands
    x = wavelengths if known else np.arange(1, bands + 1)
    series = [(name, x, spectrum) for name, spectrum in zip(names, result.components)]
    return Chart(
        "Spectra of the materials",
        figures.lines(series, "wavelength" if known else "band", "reflectance"),
        "Each curve is one endmember: the spectrum of a (nearly) pure pixel."
        if result.anchors is not None
        else "Each curve is one endmember.",
    )


def _maps(result: Factorization, names: list[str], share: NDArray[Any]) -> ChartGrid:
    height, width = image_shape(result, len(result.weights))
    step = max(1, math.ceil(max(height, width) / PIXELS_A_SIDE))
    charts = []
    for component, name in enumerate(names):
        abundance = result.weights[:, component].reshape(height, width)[::step, ::step]
        charts.append(
            Chart(
                f"{name}, {share[component]:.0%} of the image",
                figures.image(abundance, value_label="abundance", largest=1.0),
                height=260,
            )
        )
    caption = "From dark (none) to bright (all of the pixel); empty pixels were masked."
    if step > 1:
        caption += f" Every {step}th pixel of each direction is drawn."
    return ChartGrid("Abundance maps", charts, caption)
