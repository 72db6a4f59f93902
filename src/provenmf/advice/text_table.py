"""Tables as lines of text that fit a width."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 80
GAP = 2

Line = Sequence[str]


def table_lines(header: Line, rows: Sequence[Line], width: int = WIDTH) -> list[str]:
    """A table in blocks that fit: columns that have no room beside the others follow below them.

    Every block begins with the first column, which names the rows. Names are flush left, numbers
    flush right.

    >>> rows = [("spa", "0.125", "0.120"), ("merit", "0.250", "0.120")]
    >>> print(*table_lines(("method", "error", "floor"), rows, 15), sep="\\n")
    method  error
    spa     0.125
    merit   0.250
    <BLANKLINE>
    method  floor
    spa     0.120
    merit   0.120
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    flush = ">" if all(row[0].isdecimal() for row in rows) else "<"
    blocks = [_block(lines, widths, columns, flush) for columns in _fitting(widths, width)]
    return [
        line for number, block in enumerate(blocks) for line in ([""] if number else []) + block
    ]


def _fitting(widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns after the first, in blocks that fit beside it; at least one in each."""
    blocks: list[list[int]] = [[]]
    used = widths[0]
    for column in range(1, len(widths)):
        if blocks[-1] and used + GAP + widths[column] > width:
            blocks.append([])
            used = widths[0]
        blocks[-1].append(column)
        used += GAP + widths[column]
    return blocks


def _block(
    lines: Sequence[Line], widths: Sequence[int], columns: Sequence[int], flush: str
) -> list[str]:
    """The first column and some others, as text."""
    return [
        f"{line[0]:{flush}{widths[0]}}" + "".join(f"{line[c]:>{GAP + widths[c]}}" for c in columns)
        for line in lines
    ]
