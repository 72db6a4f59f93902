"""Parts: the component images, what uses them, and images put together again from them."""

from __future__ import annotations

import numpy as np

from provenmf.applications.parts import Parts
from provenmf.report import figures, matrix
from provenmf.report.elements import Chart, Element, Gallery, Paragraph, Picture
from provenmf.report.figures import data_uri
from provenmf.report.matrix import evenly

REBUILT = 12
IMAGES_IN_MAP = 120
CAPTION = "The largest part comes first. Black is zero, white is the brightest pixel of the part."


@matrix.found.register
def found(answer: Parts) -> list[Element]:
    """Return the elements of the first tab."""
    height, width = answer.image_shape
    share = answer.share
    parts = [
        Picture(
            data_uri(answer.components[i].reshape(height, width)),
            answer.component_names[i],
            f"{share[i]:.0%} of all weight",
            i + 1,
        )
        for i in matrix.by_size(answer)
    ]
    summary = (
        f"{answer.n_components} parts of {len(answer.weights):,} images of "
        f"{height} × {width} pixels."
    )
    return [
        Paragraph(summary),
        Gallery("Parts", parts, CAPTION),
        _examples(answer),
        _weights(answer),
    ]


def _examples(answer: Parts) -> Gallery:
    """Show stored images, each beside its reconstruction; only the latter if none are stored."""
    originals = answer.example_images
    if originals is None or originals.shape[1:] != answer.image_shape:
        return _rebuilt(answer)
    pictures = []
    rebuilt = np.clip(answer.rebuilt(slice(len(originals))), 0.0, 1.0)
    for name, before, after in zip(answer.names, originals, rebuilt):
        pictures += [Picture(data_uri(before), name), Picture(data_uri(after), name, "from parts")]
    return Gallery("Images, and the same images rebuilt from the parts", pictures)


def _rebuilt(answer: Parts) -> Gallery:
    chosen = evenly(len(answer.weights), REBUILT)
    pictures = [
        Picture(data_uri(image), answer.names[i])
        for i, image in zip(chosen, answer.rebuilt(chosen))
    ]
    caption = "Weights times parts, for images spread evenly over the collection."
    return Gallery("Images put together from parts", pictures, caption)


def _weights(answer: Parts) -> Chart:
    n = len(answer.weights)
    order = evenly(n, IMAGES_IN_MAP)
    figure = figures.HeatMap(
        answer.weights[order],
        [answer.names[i] for i in order],
        list(answer.component_names),
        value_label="weight",
        show_rows=len(order) <= 30,
    )
    caption = "Each row is an image."
    if len(order) < n:
        caption += f" Shown: {len(order)} of {n:,} images, evenly spread."
    return Chart("Which image uses which part", figure, caption, height=460)
