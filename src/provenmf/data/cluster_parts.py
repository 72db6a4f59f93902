"""What passes leave on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import getitem
from typing import Any, TypeVar
from weakref import ref
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from provenmf.data.base import joined
from provenmf.data.on_workers import listed, summed
from provenmf.data.orders import Order, Packed, carried_out, for_all, keys
from provenmf.data.parts import Part, Parts
from provenmf.data.tree_sums import total as tree_total
from provenmf.data.workers import Workers

Item = TypeVar("Item")
# Arrays from so many bytes on stay on the workers for later passes, and so many of them.
WORTH_KEEPING, ARRAYS_KEPT = 1 << 20, 3


class Layout:
    """Which chunks each task takes: `members` has a list of chunk numbers for each."""

    def __init__(self, members: Sequence[Sequence[int]]) -> None:
        self.members = members
        self._places = {
            number: (group, place)
            for group, numbers in enumerate(members)
            for place, number in enumerate(numbers)
        }

    def __len__(self) -> int:
        """How many chunks there are."""
        return len(self._places)

    def place_of(self, number: int) -> tuple[int, int]:
        """The task that takes a chunk, and the place of the chunk in its list."""
        return self._places[number]

    def in_order(self, lists: Sequence[Sequence[Item]]) -> list[Item]:
        """What tasks returned for each of their chunks, in the order of the chunks."""
        places = map(self.place_of, range(len(self)))
        return [lists[group][place] for group, place in places]

    def split(self, values: Sequence[Item]) -> list[list[Item]]:
        """What belongs to each chunk as one list for each task."""
        return [[values[number] for number in numbers] for numbers in self.members]


class ClusterParts(Parts):
    """Parts on the workers; should one die, they are computed again from what they came from.

    Parameters
    ----------
    orders : for lists of parts.
    layout : which chunks the parts of each list belong to.
    lengths : how many rows each chunk has.
    """

    def __init__(
        self, workers: Workers, orders: list[Order], layout: Layout, lengths: Sequence[int]
    ) -> None:
        self._workers, self.orders = workers, orders
        self._layout, self._lengths = layout, lengths

    def __len__(self) -> int:
        return len(self._layout)

    def __getitem__(self, number: int) -> Part:
        """The part of one chunk, brought here."""
        group, place = self._layout.place_of(number)
        one = Order(next(keys("part")), getitem, self.orders[group], place)
        [part] = self._workers.gathered([one])
        brought: Part = part
        return brought

    def each(self, function: Callable[..., Any], *others: Parts) -> Iterator[Any]:
        """Apply `function` on the workers; only results travel."""
        return iter(self._layout.in_order(self._workers.gathered(self._ordered(function, others))))

    def total(self, function: Callable[..., Any], *others: Parts) -> Any:
        """The sum over the chunks; each task adds up what it has."""
        leaves = len(self)
        call = for_all((summed, leaves, function), len(self.orders))
        numbers = map(Packed, self._layout.members)
        lists = zip(keys("total"), self.orders, numbers, *map(_orders_of, others))
        orders = [Order(key, carried_out, call, 0, *parts) for key, *parts in lists]
        return tree_total(self._workers.gathered(orders), leaves)

    def as_they_come(self) -> Iterator[tuple[int, Part]]:
        """All parts with the numbers of their chunks; the first while others are computed."""
        lists = self._workers.one_by_one(self.orders)
        return chain.from_iterable(map(zip, self._layout.members, lists))

    def rows(self, of_part: Callable[[Any], NDArray[Any]] | None = None) -> NDArray[Any]:
        """All rows of parts that have one value for each row, written here as they come."""
        parts = self if of_part is None else self.mapped(of_part)
        stops = np.cumsum(self._lengths).tolist()
        found = (
            (stops[number] - self._lengths[number], stops[number], part)
            for number, part in parts.as_they_come()
        )
        return joined(stops[-1], found)

    def as_dask(self, columns: int, dtype: np.dtype[Any]) -> Any:
        """Parts (rows, columns) as a Dask array in the chunks of the rows."""
        from dask import array
        from dask.delayed import delayed

        futures, pieces = self._workers.futures(self.orders), []
        for number, rows in enumerate(self._lengths):
            group, place = self._layout.place_of(number)
            part = delayed(getitem)(futures[group], place)
            pieces.append(array.from_delayed(part, (rows, columns), dtype))
        return array.concatenate(pieces)

    def mapped(self, function: Callable[..., Any], *others: Parts) -> ClusterParts:
        """What the function returns for each chunk, kept on the workers."""
        orders = self._ordered(function, others, kept=True)
        return ClusterParts(self._workers, orders, self._layout, self._lengths)

    def _ordered(
        self, function: Callable[..., Any], others: Sequence[Parts], *, kept: bool = False
    ) -> list[Order]:
        call = for_all((listed, function), len(self.orders))
        lists = zip(keys("mapped"), self.orders, *(_orders_of(other) for other in others))
        return [Order(key, carried_out, call, 0, *parts, kept=kept) for key, *parts in lists]


def _orders_of(parts: Parts) -> list[Order]:
    if not isinstance(parts, ClusterParts):
        raise TypeError("parts on the workers and parts in this process do not go together")
    return parts.orders


class SentArrays:
    """Arrays of the client whose rows are on the workers too, the last few of them.

    An array is recognized by its identity and by a checksum, in case it was written to.
    """

    def __init__(self) -> None:
        self._known: list[tuple[ref[NDArray[Any]], int, ClusterParts]] = []

    def remember(self, rows: NDArray[Any], parts: ClusterParts) -> None:
        """Keep the parts as long as the array lives and no newer ones take their place."""
        if worth_keeping(rows):
            self._known = [*self._known, (ref(rows), _checksum(rows), parts)][-ARRAYS_KEPT:]

    def parts_of(self, rows: NDArray[Any]) -> ClusterParts | None:
        """Its parts on the workers, if they are there."""
        self._known = [known for known in self._known if known[0]() is not None]
        found = (k for k in reversed(self._known) if k[0]() is rows and k[1] == _checksum(rows))
        return next((parts for _, _, parts in found), None)


def worth_keeping(rows: NDArray[Any]) -> bool:
    """Whether the array is large enough to stay on the workers for later passes."""
    return rows.nbytes >= WORTH_KEEPING


def _checksum(rows: NDArray[Any]) -> int:
    return crc32(np.ascontiguousarray(rows).view(np.uint8).reshape(-1).data)
