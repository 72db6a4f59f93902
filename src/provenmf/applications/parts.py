"""Parts of images: component images, and how much of each is in every image.

Images of one size as rows of pixels in [0, 1]: pixels (images, size) ≈ weights @ components.
AND is the default: its components need no start from a good factorization and its weights are
sparse, so that parts stay apart.

The Factorization is that of the solver on the pixels. Its extras hold, besides those of
`answers`:

    image_shape     (2,)          rows and columns of one image
    image_names     (images,)     text
    parts           (k, rows, columns)  component images, each scaled to a largest value of one
    part_share      (k,)          share of the squared length of all images explained by each part
    example_images  (3, rows, columns)  the first images
    example_rebuilt (3, rows, columns)  the same from their weights
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.answers import (
    check_number,
    fit_matrix,
    for_real_data,
    with_answer,
)
from provenmf.errors import InvalidInput
from provenmf.io.images import as_images
from provenmf.records import Factorization

N_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class PartsResult:
    """Component images (k, rows, columns) and weights (images, k)."""

    factorization: Factorization
    parts: NDArray[np.float64]
    weights: NDArray[np.float64]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def find_parts(
    images: Any,
    n_parts: int,
    *,
    method: str = "hals",
    shape: tuple[int, int] | None = None,
    random_state: Any = None,
    **options: Any,
) -> PartsResult:
    """Find the parts of which images are made.

    Parameters
    ----------
    images : from `read_images`, or an array (images, rows, columns) or (images, pixels).
    n_parts : how many.
    method : any method of `provenmf.factorize`. "hals" has no negative pixels; "and_descent", which
        may have them, works with the settings of its paper.
    shape : rows and columns of one image, where images is a matrix and they are not square.
    random_state, options : passed to the method's estimator.
    """
    images = as_images(images, shape=shape)
    if len(images.pixels) < 2:
        raise InvalidInput("there is one image: parts need at least two")
    check_number("n_parts", n_parts, len(images.pixels), "images")
    notes = list(images.notes)
    options = {**for_real_data(method, n_parts), "random_state": random_state, **options}
    factorization = fit_matrix(images.pixels, n_parts, method, options)
    components = np.asarray(factorization.components, dtype=np.float64)
    if components.min() < 0:
        notes.append("components have negative pixels; they are shown as black")
    largest = components.max(axis=1, keepdims=True)
    shown = np.divide(components, largest, out=np.zeros_like(components), where=largest > 0)
    parts = np.clip(shown, 0.0, None).reshape(-1, *images.shape)
    weights = np.asarray(factorization.weights, dtype=np.float64)
    energy = np.einsum("ij,ij->j", weights, weights) * np.einsum("ij,ij->i", components, components)
    rebuilt = np.clip(weights[:N_EXAMPLES] @ components, 0.0, 1.0)
    arrays = {
        "image_shape": images.shape,
        "image_names": np.array(images.names, dtype=np.str_),
        "parts": parts,
        "part_share": energy / energy.sum() if energy.sum() > 0 else energy,
        "example_images": images.pixels[:N_EXAMPLES].reshape(-1, *images.shape),
        "example_rebuilt": rebuilt.reshape(-1, *images.shape),
    }
    factorization = with_answer(factorization, "parts", arrays, notes, {"n_parts": n_parts})
    return PartsResult(factorization, parts, weights, tuple(images.names), tuple(notes))
