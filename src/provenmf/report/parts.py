"""Parts: the component images, what uses them, and images put together again from them."""

from __future__ import annotations

import numpy as np

from provenmf.applications.parts import Parts
from provenmf.report import matrix
from provenmf.report.elements import Element, Gallery, Paragraph, Picture
from provenmf.report.figures import data_uri

CAPTION = "The largest part comes first. Black is zero, white is the brightest pixel of the part."


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
    return [Paragraph(summary), Gallery("Parts", parts, CAPTION), *_examples(answer)]


def _examples(answer: Parts) -> list[Element]:
    """Show stored images, each beside its reconstruction."""
    originals = answer.example_images
    if originals is None or originals.shape[1:] != answer.image_shape:
        return []
    pictures = []
    rebuilt = np.clip(answer.rebuilt(slice(len(originals))), 0.0, 1.0)
    for name, before, after in zip(answer.names, originals, rebuilt):
        pictures += [Picture(data_uri(before), name), Picture(data_uri(after), name, "from parts")]
    return [Gallery("Images, and the same images rebuilt from the parts", pictures)]
