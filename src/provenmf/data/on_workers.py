"""What tasks do on the workers of a Dask cluster: a function for each of several chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from provenmf.budget import at_most
from provenmf.data.allocation import kept_memory
from provenmf.data.tree_sums import Sums, sums_of

Item = TypeVar("Item")


def in_one_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function in one thread: the scheduler keeps the cores busy with other chunks."""
    with at_most(1), kept_memory:
        return function(*arguments)


def listed(function: Callable[..., Any], *lists: Iterable[Any]) -> list[Any]:
    """What the function returns for each chunk and what belongs to it."""
    return [function(*map(aligned, arguments)) for arguments in zip(*lists)]


def summed(
    leaves: int,
    function: Callable[..., Any],
    chunks: Iterable[Any],
    numbers: Sequence[int],
    *lists: Sequence[Any],
) -> Sums:
    """What can be added up of what the function returns for the chunks of these numbers."""
    return sums_of(zip(numbers, listed(function, chunks, *lists)), leaves)


def aligned(value: Any) -> Any:
    """Arrays whose numbers begin where the processor wants them.

    Those that came from another worker may begin anywhere in its message. W'W of such an array is
    another routine of BLAS, which rounds differently: without this a lost worker would change the
    last bits of an answer.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if isinstance(value, tuple):
        return tuple(aligned(each) for each in value)
    if sp.issparse(value):
        arrays = value.data, value.indices, value.indptr
        if not all(array.flags.aligned for array in arrays):
            return type(value)(aligned(arrays), shape=value.shape)
    return value


def split(values: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Neighbours in lists of the given size; the last one may be shorter."""
    return [values[i : i + size] for i in range(0, len(values), size)]
