"""What is asked of row arrays, wherever they are: one array here, or parts on the workers.

Functions are given some rows of each array: all of them, or those of one part, which may be none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import NDArray

from provenmf.data.base import RowArray
from provenmf.data.parts import Parts


def of_each(function: Callable[..., Any], rows: RowArray, *others: Any) -> Iterable[Any]:
    """What the function returns for the rows, or for each of their parts."""
    return rows.each(function, *others) if isinstance(rows, Parts) else [function(rows, *others)]


def total(function: Callable[..., Any], rows: RowArray, *others: Any) -> Any:
    """The sum of that, added up where the rows are."""
    return rows.total(function, *others) if isinstance(rows, Parts) else function(rows, *others)


def by_row(function: Callable[[Any], Any], rows: RowArray) -> NDArray[Any]:
    """A few numbers for each row, brought here."""
    found: NDArray[Any] = rows.rows(function) if isinstance(rows, Parts) else function(rows)
    return found


def mapped(function: Callable[[Any], Any], rows: RowArray) -> RowArray:
    """Other rows, left where these are."""
    there: RowArray = rows.mapped(function) if isinstance(rows, Parts) else function(rows)
    return there
