"""The first of the nearly largest rows, found where the rows are.

`linalg.orthogonal.first_largest` chooses among all scores at once. Where rows are in blocks, each
block names those of its rows that may be chosen, a few with what is asked of them; one number for
each row need not travel.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from provenmf.data import Block
from provenmf.linalg.storage import as_dense

Floats = NDArray[np.float64]
# Row numbers, their scores, these with their slack, what is asked of the rows, and the largest
# score of the block.
Leaders = tuple[NDArray[np.intp], Floats, Floats, Floats, Floats]


class Chosen(NamedTuple):
    """The row chosen, its score and what was asked of it; the largest score of all."""

    row: int
    score: float
    asked: Floats
    largest: float


def leaders(
    block: Block, rows: range, scores: Floats, slack: Floats | float, *columns: NDArray[Any]
) -> Leaders:
    """Rows of a block of which `first_chosen` may choose one; `rows` are their numbers.

    A row whose score with its slack does not exceed that of a row before it is never first. Asked
    of each are its entries and, behind them, its entries of `columns`, arrays (n,) or (n, m).
    """
    largest = scores.max()
    if largest > 0:
        raised = scores + slack
        near = np.flatnonzero((raised >= largest) & (scores > 0))
        before = np.maximum.accumulate(np.concatenate([[-np.inf], raised[near][:-1]]))
        near = near[raised[near] > before]
    else:  # also −inf, where no row may be chosen
        raised = scores
        near = np.array([np.argmax(scores)])
    entries = as_dense(block[near]).astype(np.float64)
    asked = np.column_stack([entries, *(column[near] for column in columns)])
    return near + rows.start, scores[near], raised[near], asked, np.array([largest])


def first_chosen(found: Iterable[Leaders]) -> Chosen:
    """Lowest row whose score comes within its slack of the largest one of all blocks.

    As `first_largest`: where no score is positive, the first of the largest ones.
    """
    blocks = list(found)
    largest = max(float(top[0]) for *_, top in blocks)
    for numbers, scores, raised, asked, _ in blocks:
        if raised.max() >= largest:
            place = int(np.argmax(raised >= largest))
            return Chosen(int(numbers[place]), float(scores[place]), asked[place], largest)
    raise AssertionError("the block with the largest score names a row that has it")


def leaders_in(part: tuple[Any, ...]) -> Leaders:
    """The leaders at the end of what a pass kept of a block."""
    numbers, scores, raised, asked, largest = part[-5:]
    return numbers, scores, raised, asked, largest


def places_in(rows: range, numbers: Iterable[int]) -> list[int]:
    """Where the rows of the given numbers are among those of a block."""
    return [number - rows.start for number in numbers if number in rows]
