"""Parts: the component images, what uses them, and images put together again from them."""

from __future__ import annotations

from provenmf.records import Factorization
from provenmf.report import figures
from provenmf.report.answer import Answer, evenly
from provenmf.report.elements import Chart, Element, Gallery, Paragraph, Picture
from provenmf.report.pictures import data_uri

REBUILT = 12
IMAGES_IN_MAP = 120


def found(result: Factorization, answer: Answer) -> list[Element]:
    """The elements of the first tab."""
    height, width = answer.image_shape
    share = answer.share
    parts = [
        Picture(data_uri(component.reshape(height, width)), name, f"{share[i]:.0%} of all weight")
        for i, (name, component) in enumerate(zip(answer.names, answer.components))
    ]
    summary = (
        f"{answer.n_components} parts of {len(answer.weights):,} images of "
        f"{height} × {width} pixels."
    )
    return [
        Paragraph(summary),
        Gallery("Parts", parts, "Each part is scaled from black (zero) to white (its largest)."),
        _examples(result, answer),
        _weights(answer),
    ]


def _examples(result: Factorization, answer: Answer) -> Gallery:
    """Stored images, each followed by what its parts make of it; only the latter if none are."""
    originals, rebuilt = result.extras.get("example_images"), result.extras.get("example_rebuilt")
    if originals is None or rebuilt is None:
        return _rebuilt(answer)
    pictures = []
    for name, before, after in zip(answer.row_names, originals, rebuilt):
        pictures += [Picture(data_uri(before), name), Picture(data_uri(after), name, "from parts")]
    return Gallery("Images and what their parts make of them", pictures)


def _rebuilt(answer: Answer) -> Gallery:
    pictures = [
        Picture(
            data_uri((answer.weights[i] @ answer.components).reshape(answer.image_shape)),
            answer.row_names[i],
        )
        for i in evenly(len(answer.weights), REBUILT)
    ]
    caption = "Weights times parts, for images spread evenly over the collection."
    return Gallery("Images put together from parts", pictures, caption)


def _weights(answer: Answer) -> Chart:
    n = len(answer.weights)
    order = evenly(n, IMAGES_IN_MAP)
    figure = figures.heat_map(
        answer.weights[order],
        [answer.row_names[i] for i in order],
        answer.names,
        value_label="weight",
        show_rows=len(order) <= 30,
    )
    shown = "all images" if len(order) == n else f"{len(order)} images, evenly spread"
    return Chart("Which image uses which part", figure, f"Rows: {shown}.", height=460)
