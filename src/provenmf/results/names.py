"""Names of components, rows and columns: stored, or made from a word and a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def names_of_largest(entries: NDArray[Any], names: Sequence[str], n: int) -> list[list[str]]:
    """For each row of `entries` the names of its n largest columns, largest first."""
    order = np.argsort(-entries, axis=1, kind="stable")[:, :n]
    return [[names[column] for column in row] for row in order]


def numbered(word: str, length: int) -> tuple[str, ...]:
    """`word 1`, `word 2`, …"""
    return tuple(f"{word} {number}" for number in range(1, length + 1))


def stored_or_numbered(
    stored: NDArray[np.str_] | Sequence[str] | None, word: str, length: int
) -> Sequence[str]:
    """The names stored, or numbers where there are none."""
    return numbered(word, length) if stored is None else [str(name) for name in stored]


def plural(word: str) -> str:
    """`topics`, `communities`."""
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
