"""What a pass found for each block and later passes need again, kept where the block is."""

from __future__ import annotations

import math
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput

# The arrays of one block: a single one, or a tuple of them.
Part = NDArray[Any] | tuple[NDArray[Any], ...]


def _itself(part: Any) -> Any:
    return part


class Parts(ABC):
    """One part for each block, in the order of the blocks."""

    @abstractmethod
    def __getitem__(self, number: int) -> Part:
        """The part of one block, brought here."""

    @abstractmethod
    def __len__(self) -> int: ...

    def each(self, function: Callable[..., Any], *others: Parts) -> Iterator[Any]:
        """Apply `function(part, *parts of others)` where they are; results come in order."""
        for number in range(len(self)):
            yield function(self[number], *(other[number] for other in others))

    def total(self, function: Callable[..., Any], *others: Parts) -> Any:
        """The sum of what `function(part, *parts of others)` returns for each block."""
        return added(self.each(function, *others))

    @abstractmethod
    def mapped(self, function: Callable[..., Any], *others: Parts) -> Parts:
        """What `function(part, *parts of others)` returns for each block, kept where they are."""

    def rows(self, of_part: Callable[[Any], NDArray[Any]] = _itself) -> NDArray[Any]:
        """All parts here as one array, or one array of each."""
        found = list(self.each(of_part))
        return found[0] if len(found) == 1 else np.concatenate(found)


class LocalParts(Parts):
    """Parts of this process: in memory up to `in_memory` bytes, the others in temporary files."""

    def __init__(self, in_memory: float = math.inf) -> None:
        self._parts: list[Part | Path] = []
        self._in_memory = self._room = in_memory
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __len__(self) -> int:
        return len(self._parts)

    def append(self, part: Part) -> None:
        """Keep the part of the next block."""
        size = sum(array.nbytes for array in _arrays(part))
        if size <= self._room:
            self._room -= size
            self._parts.append(part)
        else:
            self._parts.append(self._written(part))

    def __getitem__(self, number: int) -> Part:
        """The part of one block; one that is in a file is read."""
        part = self._parts[number]
        return _read(part) if isinstance(part, Path) else part

    def mapped(self, function: Callable[..., Any], *others: Parts) -> LocalParts:
        """What the function returns for each block, kept in memory or in files as these are."""
        found = LocalParts(self._in_memory)
        for number in range(len(self)):
            found.append(function(self[number], *(other[number] for other in others)))
        return found

    def _written(self, part: Part) -> Path:
        try:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="provenmf-")
            path = Path(self._folder.name) / f"{len(self._parts)}.npy"
            with path.open("wb") as file:
                np.save(file, np.array(len(part) if isinstance(part, tuple) else 0))
                for array in _arrays(part):
                    np.save(file, array)
        except OSError as error:
            raise InvalidInput(
                f"the state of the rows cannot be written to {tempfile.gettempdir()} ({error}): "
                "make room there, or name another folder in the environment variable TMPDIR"
            ) from error
        return path


def added(results: Iterable[Any]) -> Any:
    """The sum of numbers, arrays or tuples of them, in the given order."""
    total: Any = None
    for result in results:
        if total is None:
            total = result
        elif isinstance(result, tuple):
            total = tuple(a + b for a, b in zip(total, result))
        else:
            total = total + result
    return total


def _arrays(part: Part) -> tuple[NDArray[Any], ...]:
    return part if isinstance(part, tuple) else (part,)


def _read(path: Path) -> Part:
    with path.open("rb") as file:
        number = int(np.load(file))
        if number == 0:
            return np.asarray(np.load(file))
        return tuple(np.load(file) for _ in range(number))
