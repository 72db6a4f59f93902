"""An array that stays on the workers of a cluster until it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray


class Deferred:
    """Stands for an array of the given shape.

    Parameters
    ----------
    shape : of the array.
    bring : returns the array; called once, when it is first read.
    as_dask : returns it as a Dask array, as long as it is on the workers.
    """

    def __init__(
        self, shape: tuple[int, int], bring: Callable[[], NDArray[Any]], as_dask: Callable[[], Any]
    ) -> None:
        self.shape = shape
        self.as_dask = as_dask
        self._bring = bring
        self._array: NDArray[Any] | None = None

    def array(self) -> NDArray[Any]:
        """The array, in this process from now on."""
        if self._array is None:
            self._array = self._bring()
        return self._array
