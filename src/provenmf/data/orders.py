"""What travels to the workers of a Dask cluster: for each pass one graph of few tasks.

What tasks have to know is packed once for all of a pass, and the scheduler passes it on as it is;
unpacking functions and packing them again for each task took it much of its time. What stays on the
workers is ordered together with the first pass that needs it, in one message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from provenmf.data.on_workers import in_one_thread

# What a pass has to know travels with its tasks up to so many bytes in all of them.
BYTES_IN_TASKS = 1 << 20


class Held:
    """A value for tasks of this process. Dask does not look into it, as it would into a list."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def value(self) -> Any:
        """What is held."""
        return self._value


class Packed(Held):
    """A value for tasks of other processes, as bytes."""

    def __init__(self, value: Any) -> None:
        buffers: list[Any] = []
        frame = _pickle().dumps(value, buffer_callback=buffers.append)
        self._frame = frame
        self._buffers = [bytearray(buffer) for buffer in buffers]  # arrays can be written to

    def __len__(self) -> int:
        return len(self._frame) + sum(map(len, self._buffers))

    def value(self) -> Any:
        """What was packed."""
        return _pickle().loads(self._frame, buffers=self._buffers)


def _pickle() -> Any:
    from distributed.protocol import pickle

    return pickle


class Order:
    """What one task returns: on a worker already, or to be made there with the next pass.

    Parameters
    ----------
    key : of the task.
    call : a function and its arguments; orders among these stand for what they return.
    kept : whether later passes need it.
    future : of what is on a worker already.
    """

    def __init__(self, key: Any, *call: Any, kept: bool = False, future: Any = None) -> None:
        self.key, self.kept, self.future = key, kept, future
        self._call = call

    def needed(self) -> Iterator[Order]:
        """The orders that this one builds on and that are not there yet."""
        return (each for each in self._call if isinstance(each, Order) and each.future is None)

    def task(self) -> tuple[Any, ...]:
        """The call as Dask writes it."""
        return tuple(each.named() if isinstance(each, Order) else each for each in self._call)

    def named(self) -> Any:
        """How other tasks name what this one returns."""
        return self.key if self.future is None else _reference(self.future)

    def settle(self) -> None:
        """Forget what it was made from: the scheduler remembers it."""
        self._call = ()


def _reference(future: Any) -> Any:
    """The name of a future in a graph; the future itself, unpacked elsewhere, would ask for it."""
    try:
        from dask._task_spec import TaskRef
    except ImportError:  # before Dask 2024.11
        return future
    return TaskRef(future.key)


def keys(what: str) -> Iterator[tuple[str, int]]:
    """Keys for the tasks of one pass."""
    name, number = f"provenmf_{what}-{uuid4().hex}", 0
    while True:
        yield name, number
        number += 1


def for_all(value: Any, tasks: int) -> Packed | Order:
    """What all tasks have to know: with each of them if it is small, else by a task of its own."""
    packed = Packed(value)
    if len(packed) * tasks <= BYTES_IN_TASKS:
        return packed
    return Order(next(keys("shared")), itself, packed)


def itself(value: Any) -> Any:
    """Whatever it is given: a task that can be run again should its worker die."""
    return value


def unpacked(value: Held) -> Any:
    """What was packed, for a task that leaves it on a worker."""
    return value.value()


def carried_out(call: Held, chunks: int, *values: Any) -> Any:
    """Call (function, *arguments) with the chunks, which come first, and one more list for each.

    A chunk that is read or made here is made when its turn comes: one at a time is held.
    """
    lists = map(_value_of, values[chunks:])
    return in_one_thread(*call.value(), *_chunks(values[:chunks]), *lists)


def _chunks(values: Sequence[Any]) -> list[Iterator[Any]]:
    return [_one_by_one(values)] if values else []


def _one_by_one(values: Sequence[Any]) -> Iterator[Any]:
    """Chunks that are given one by one, or several as a list."""
    for value in values:
        yield from value if isinstance(value, list) else [_value_of(value)]


def _value_of(value: Any) -> Any:
    return value.value() if isinstance(value, Held) else value


def graph_of(orders: Sequence[Order]) -> tuple[dict[Any, Any], list[Order]]:
    """All tasks that the orders need and that were not sent yet; and those that are to be named."""
    found: dict[Any, Order] = {}
    waiting = [order for order in orders if order.future is None]
    asked = {order.key for order in waiting}
    while waiting:
        order = waiting.pop()
        if order.key not in found:
            found[order.key] = order
            waiting.extend(order.needed())
    named = [order for order in found.values() if order.kept or order.key in asked]
    return {order.key: order.task() for order in found.values()}, named
