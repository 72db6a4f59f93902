"""Parts of images: component images, and how much of each is in every image.

Images of one size as rows of pixels in [0, 1]: pixels (images, size) ≈ weights @ components, which
is the Factorization. HALS is the default: its components have no negative pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from provenmf.applications.confirm import confirm
from provenmf.applications.fitting import (
    at_hand,
    check_number,
    fit_matrix,
    for_real_data,
    largest_first,
)
from provenmf.arguments import checked
from provenmf.errors import InvalidInput
from provenmf.io.images import as_images, read_images
from provenmf.methods import options_of_method
from provenmf.methods.certify import weights_of
from provenmf.results.answers import Answer, ReadOptions, Words, names_of_largest
from provenmf.results.states import Shape

N_EXAMPLES = 3


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Answer):
    """Component images and their weights in every image, which are those of the factorization.

    Parameters
    ----------
    factorization, notes, component_names
        As in every `Answer`.
    image_shape : tuple of int
        Rows and columns of one image.
    names : tuple of str
        Names of the images.
    pixel_scale : float
        What pixels were divided by to lie in [0, 1].
    example_images : ndarray of shape (examples, rows, columns) or None
        The first images.

    See Also
    --------
    find_parts : Makes one from images.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.applications import find_parts
    >>> images = np.random.default_rng(0).random((9, 4, 4))
    >>> parts = find_parts(images, 3, random_state=0)
    >>> parts
    Parts(3 parts of 9 images, method='hals')
    >>> parts.transform(images[:2]).shape
    (2, 3)
    """

    kind: ClassVar[str] = "parts"
    words: ClassVar[Words] = Words("Parts", "part", "image", "pixel", "images that use it most")

    image_shape: tuple[int, int]
    names: tuple[str, ...]
    pixel_scale: float = 1.0
    example_images: Annotated[NDArray[np.float64], Shape("examples", "rows", "columns")] | None = (
        None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, columns = self.image_shape
        if (len(self.weights), self.components.shape[1]) != (len(self.names), rows * columns):
            raise InvalidInput(
                f"{len(self.names)} names and an image_shape of {rows} x {columns} for "
                f"{len(self.weights)} images of {self.components.shape[1]} pixels"
            )

    @property
    def parts(self) -> NDArray[np.float64]:
        """Component images (k, rows, columns), each scaled to a largest value of one."""
        components = np.asarray(self.components, dtype=np.float64)
        largest = components.max(axis=1, keepdims=True)
        shown = np.divide(components, largest, out=np.zeros_like(components), where=largest > 0)
        return np.asarray(np.clip(shown, 0.0, None).reshape(-1, *self.image_shape))

    @property
    def row_names(self) -> Sequence[str]:
        """Names of the images."""
        return self.names

    def largest(self, n: int = 10) -> list[list[str]]:
        """Return the images that use a part most."""
        return names_of_largest(self.weights.T, self.names, n)

    def rebuilt(self, images: slice) -> NDArray[np.float64]:
        """Rebuild some of the images from the parts: (images, rows, columns)."""
        pixels = np.asarray(self.weights, dtype=np.float64)[images] @ self.components
        return np.asarray(pixels.reshape(-1, *self.image_shape))

    def matrix_of(self, data: object) -> NDArray[np.float64]:
        """Return pixels in [0, 1], an image a row."""
        return np.asarray(as_images(data, shape=self.image_shape).pixels)

    def read(self, path: Path, options: ReadOptions) -> Any:
        """Read images."""
        return read_images(path, key=options.key, shape=self.image_shape)

    def transform(self, data: object) -> NDArray[np.float64]:
        """Return weights of the parts in new images.

        Parameters
        ----------
        data : Images, or array of shape (images, rows, columns) or (images, pixels)
            Pixels in the units of the images that the parts were found in.

        Returns
        -------
        ndarray of shape (images, k)
        """
        images = as_images(data, shape=self.image_shape, scale=self.pixel_scale)
        if images.shape != self.image_shape:
            raise InvalidInput(
                f"data has images of {images.shape[0]} x {images.shape[1]} pixels, not "
                f"{self.image_shape[0]} x {self.image_shape[1]}: resize them"
            )
        return weights_of(images.pixels, self.factorization)


@checked(options_of=options_of_method)
def find_parts(
    images: object,
    n_parts: int,
    *,
    method: str = "hals",
    shape: tuple[int, int] | None = None,
    evidence: bool = True,
    random_state: int | np.random.RandomState | None = None,
    **options: object,
) -> Parts:
    """Find the parts of which images are made.

    Parameters
    ----------
    images : Images or array
        From `read_images`, or an array (images, rows, columns) or (images, pixels).
    n_parts : int
        Number of parts.
    method : str, default="hals"
        Any method of `provenmf.factorize`. "hals" has no negative pixels; "and_descent", which may
        have them, works with the settings of its paper.
    shape : tuple of int, optional
        Rows and columns of one image, if images is a matrix and the images are not square.
    evidence : bool, default=True
        Whether to find the answer again in two halves of the images and judge each part by the
        other half (see `provenmf.confirm`); takes about as long as the answer itself.
    random_state, **options
        Passed to the method's estimator.

    Returns
    -------
    Parts

    See Also
    --------
    provenmf.io.read_images : Reads images from files.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf.applications import find_parts
    >>> images = np.random.default_rng(0).random((9, 4, 4))
    >>> find_parts(images, 3, random_state=0).parts.shape
    (3, 4, 4)
    """
    images = as_images(at_hand(images, "find_parts"), shape=shape)
    if len(images.pixels) < 2:
        raise InvalidInput("there is one image: parts need at least two")
    check_number("n_parts", n_parts, len(images.pixels), "images")
    notes = list(images.notes)
    options = {**for_real_data(method, n_parts), "random_state": random_state, **options}
    factorization = largest_first(
        fit_matrix(images.pixels, n_parts, method, options, argument="n_parts")
    )
    if factorization.components.min() < 0:
        notes.append("components have negative pixels; they are shown as black")
    found = Parts(
        factorization=factorization,
        notes=tuple(notes),
        image_shape=images.shape,
        names=tuple(map(str, images.names)),
        pixel_scale=images.scale,
        example_images=images.pixels[:N_EXAMPLES].reshape(-1, *images.shape),
    )
    return confirm(images, found) if evidence else found
