"""What passes leave on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import getitem
from typing import Any
from weakref import ref
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from provenmf.blocks.on_workers import listed
from provenmf.blocks.orders import Order, carried_out, for_all, keys
from provenmf.blocks.parts import Part, Parts
from provenmf.blocks.workers import Workers

# Arrays from so many bytes on stay on the workers for later passes, and so many of them.
WORTH_KEEPING, ARRAYS_KEPT = 1 << 20, 3


class ClusterParts(Parts):
    """Parts on the workers; should one die, they are computed again from what they came from.

    Parameters
    ----------
    orders : for lists of parts, `together` in each but the last.
    number : of all parts.
    """

    def __init__(self, workers: Workers, orders: list[Order], number: int, together: int) -> None:
        self._workers, self.orders = workers, orders
        self._number, self._together = number, together

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, number: int) -> Part:
        """The part of one chunk, brought here."""
        order, place = divmod(number, self._together)
        one = Order(next(keys("part")), getitem, self.orders[order], place)
        [part] = self._workers.gathered([one])
        brought: Part = part
        return brought

    def each(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """Apply `function` on the workers; only results travel."""
        return chain.from_iterable(self._workers.gathered(self._ordered(function, ())))

    def as_they_come(self) -> Iterator[Part]:
        """All parts, brought here in order; the first ones while later ones are computed."""
        return chain.from_iterable(self._workers.one_by_one(self.orders))

    def mapped(self, function: Callable[..., Any], *others: Parts) -> ClusterParts:
        """What the function returns for each chunk, kept on the workers."""
        orders = self._ordered(function, others, kept=True)
        return ClusterParts(self._workers, orders, self._number, self._together)

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
