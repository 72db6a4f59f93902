"""Tables as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

WIDTH = 80

Line = Sequence[str]


def table_lines(header: Line, rows: Sequence[Line]) -> list[str]:
    """Return a table: names of the rows flush left (numbers flush right), values flush right.

    >>> print(*table_lines(("method", "error"), [("spa", "0.125"), ("merit", "0.25")]), sep="\\n")
    method  error
    spa     0.125
    merit    0.25
    """
    lines = [header, *rows]
    first, *others = [max(map(len, column)) for column in zip(*lines)]
    flush = ">" if all(row[0].isdecimal() for row in rows) else "<"
    return [
        f"{line[0]:{flush}{first}}" + "".join(f"  {c:>{w}}" for c, w in zip(line[1:], others))
        for line in lines
    ]


def wrapped(*sentences: str) -> list[str]:
    """Return sentences in lines of at most 80 characters, each on a new line."""
    return [line for sentence in sentences for line in wrap(sentence, WIDTH)]
