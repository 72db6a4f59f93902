"""Parts: the component images, what uses them, and images put together again from them."""

from __future__ import annotations

import numpy as np

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.elements import Chart, Element, Gallery, Paragraph, Picture
from provenmf.report.naming import component_names, names_of, scores
from provenmf.report.pictures import data_uri
from provenmf.report.topics import shares
from provenmf.report.unmixing import image_shape

REBUILT = 12
IMAGES_IN_MAP = 120


def found(result: Factorization) -> list[Element]:
    """The elements of the first tab."""
    names = component_names(result, "Part")
    images = names_of(result, "image_names", len(result.weights), "image")
    shape = image_shape(result, result.components.shape[1])
    share = shares(result.weights * np.linalg.norm(result.components, axis=1))
    parts = [
        Picture(data_uri(component.reshape(shape)), name, f"{share[i]:.0%} of all weight")
        for i, (name, component) in enumerate(zip(names, result.components))
    ]
    chosen = np.unique(np.linspace(0, len(images) - 1, min(REBUILT, len(images))).astype(int))
    rebuilt = [
        Picture(data_uri((result.weights[i] @ result.components).reshape(shape)), images[i])
        for i in chosen
    ]
    summary = (
        f"{result.n_components} parts of {len(images):,} images, {shape[0]} × {shape[1]} each."
    )
    return [
        Paragraph(summary),
        Gallery("Parts", parts, "Each part is scaled from black (least) to white (most)."),
        Gallery(
            "Images put together again",
            rebuilt,
            "Weights times parts, for images spread evenly over the collection.",
        ),
        _weights(result, images, names),
        *scores(result),
    ]


def _weights(result: Factorization, images: list[str], names: list[str]) -> Chart:
    count = min(IMAGES_IN_MAP, len(images))
    order = np.linspace(0, len(images) - 1, count).astype(int)
    figure = figures.heat_map(
        result.weights[order],
        [images[i] for i in order],
        names,
        value_label="weight",
        show_rows=count <= 30,
    )
    shown = "all images" if count == len(images) else f"{count} images, evenly spread"
    return Chart("Which image uses which part", figure, f"Rows: {shown}.", height=460)
