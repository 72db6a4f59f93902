"""The chunks of a Dask array as blocks are: whole rows, numbers, sparse rows in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from dask.base import optimize
from numpy.typing import NDArray

from provenmf.data.base import Block
from provenmf.data.orders import Packed
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import (
    float_type,
    in_row_order,
    numbers_among_objects,
    own_rows,
    plain,
)

# How chunks are made is sent along with every pass, up to so many bytes a chunk.
RECIPE_BYTES = 1 << 14


def in_rows(array: Any, sparse: bool, block_rows: int | None) -> Any:
    """The array in chunks of whole rows, none of them empty, as blocks are."""
    dtype = np.dtype(float) if array.dtype == object else float_type(array.dtype)
    meta = sp.csr_array((0, 0)) if sparse else np.empty((0, 0), dtype)
    array = array.map_blocks(_as_rows, dtype, sparse, dtype=dtype, meta=meta)
    some = tuple(rows for rows in array.chunks[0] if rows)  # chunks may be empty
    return array.rechunk({0: block_rows or some or array.chunks[0], 1: -1})


def _as_rows(chunk: object, dtype: np.dtype[Any], sparse: bool, block_info: Any = None) -> Block:
    """A chunk as blocks are: an array of numbers, or sparse rows in order."""
    if sparse != sp.issparse(chunk):
        raise InvalidInput(
            f"X is a Dask array with a chunk of type {type(chunk).__name__} that is declared "
            f"{'sparse' if sparse else 'dense'}: give the array the right meta, for sparse chunks "
            "meta=scipy.sparse.csr_array((0, 0))"
        )
    place, shape = block_info[0]["chunk-location"], block_info[None]["chunk-shape"]
    try:
        rows = own_rows(chunk).astype(dtype, copy=False) if sparse else _numbers(chunk, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"chunk {place} of X, a Dask array, is not an array of numbers ({error}): see "
            "how it is computed"
        ) from error
    if rows.shape != shape:
        raise InvalidInput(
            f"chunk {place} of X, a Dask array, has shape {rows.shape} and is declared {shape}: "
            "give the array the right chunks"
        )
    return rows


def _numbers(chunk: object, dtype: np.dtype[Any]) -> NDArray[Any]:
    """What a chunk holds, whatever was declared: numpy would drop masks and imaginary parts."""
    values = np.asarray(plain(chunk))
    if values.dtype == object:
        values = numbers_among_objects(values)
    float_type(values.dtype)
    return in_row_order(np.asarray(values, dtype=dtype))


def optimized(rows: Any) -> tuple[dict[Any, Any], list[Any]]:
    """The graph of an array of one column of chunks, and their keys."""
    [found] = optimize(rows)
    return dict(found.__dask_graph__()), [key for [key] in found.__dask_keys__()]


class Recipe(Packed):
    """How one chunk is made, for a task that makes and forgets it."""

    def value(self) -> Block:
        """The chunk."""
        from dask.local import get_sync

        graph, key = super().value()
        chunk: Block = get_sync(graph, key)
        return chunk


def recipes(graph: Mapping[Any, Any], keys: Sequence[Any]) -> list[Recipe] | None:
    """One for each chunk.

    None where they would not be small, as with arrays of the client, or need what is on a worker.
    """
    from dask.optimization import cull

    found, size = [], 0
    for key in keys:
        steps = cull(graph, [key])[0]
        needs = (getattr(step, "dependencies", ()) for step in steps.values())
        if not steps.keys() >= set().union(*needs):
            return None
        found.append(Recipe((dict(steps), key)))
        size += len(found[-1])
        if size > RECIPE_BYTES * len(keys):
            return None
    return found
