"""Tables of numbers written as text: csv, tsv, or columns between spaces.

A header line and a first column of names are recognised.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from provenmf.errors import UnreadableFile
from provenmf.io.files import parsing, stream_lines
from provenmf.io.tables import Table

# What people write where there is no value.
_MISSING = frozenset(["", "na", "n/a", "nan", "null", "none", "?"])


def text_tables(
    path: Path, *, missing: bool = False, characters: float = math.inf
) -> Iterator[Table]:
    """The rows of a table in pieces of about so many characters, each with its names."""
    lines = (
        line
        for line in stream_lines(path, "utf-8-sig")
        if line.strip() and not line.startswith("#")
    )
    start = list(islice(lines, 2))
    layout = _layout_of(path, start)
    row = 1
    for piece in _pieces(chain(start[int(layout.header is not None) :], lines), characters):
        yield _parsed(path, piece, layout, row, missing)
        row += len(piece)


def _pieces(lines: Iterable[str], characters: float) -> Iterator[list[str]]:
    piece: list[str] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= characters:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


@dataclass(frozen=True)
class _Layout:
    """How a table is written: its columns' names if it has a header, and those of its rows."""

    delimiter: str | None
    header: list[str] | None
    names: bool
    width: int


def _layout_of(path: Path, lines: list[str]) -> _Layout:
    """From the first two lines."""
    if not lines:
        raise UnreadableFile(f"{path} has no rows: give a file with data")
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in lines[0]), None)
    with parsing(path, "table"):
        cells = [_cells(line, delimiter) for line in lines]
    header = any(not _is_value(cell) for cell in cells[0][1:] or cells[0])
    if header and len(lines) == 1:
        raise UnreadableFile(f"{path} has a header but no rows: give a file with data")
    first = cells[1 if header else 0]
    names = len(first) > 1 and not _is_value(first[0])
    width = len(first) - int(names)
    # the corner above a column of names may be left out
    return _Layout(delimiter, cells[0][-width:] if header else None, names, width)


def _parsed(path: Path, lines: list[str], layout: _Layout, row: int, missing: bool) -> Table:
    """Some lines of a table, the first of which is the given row."""
    delimiter, names = layout.delimiter, layout.names
    with parsing(path, "table of numbers"):
        try:
            matrix = np.loadtxt(
                lines,
                delimiter=delimiter,
                usecols=range(1, layout.width + 1) if names else None,
                quotechar='"',
                ndmin=2,
            )
        except ValueError:
            _check_cells(path, lines, layout, row, missing=missing)
            if not missing:
                raise
            rows = (_cells(line, delimiter)[int(names) :] for line in lines)
            matrix = np.array([[_value(cell) for cell in row] for row in rows])
        if matrix.shape[1] != layout.width:
            raise ValueError(f"row {row} has {matrix.shape[1]} columns, row 1 {layout.width}")
        row_names = [_cells(line, delimiter)[0] for line in lines] if names else None
    return Table(matrix, row_names, layout.header)


def _check_cells(
    path: Path, lines: list[str], layout: _Layout, first: int, *, missing: bool
) -> None:
    """Name the first cell that is empty or no number, rows of data and columns counted from 1."""
    for row, line in enumerate(lines, first):
        with parsing(path, "table"):
            cells = _cells(line, layout.delimiter)
        start = int(layout.names)
        for column, cell in enumerate(cells[start:], 1 + start):
            if _is_numeral(cell) or (missing and _is_value(cell)):
                continue
            gone = "the value is missing"
            what = gone if _is_value(cell) else f"{cell!r} is not a number"
            remedy = "fill in a number, or leave the row or column out"
            remedy += "; hals and anls work with missing values" if what == gone else ""
            raise UnreadableFile(f"{path}, row {row}, column {column}: {what}; {remedy}")


def _cells(line: str, delimiter: str | None) -> list[str]:
    return line.split() if delimiter is None else next(csv.reader([line], delimiter=delimiter))


def _is_value(cell: str) -> bool:
    """Whether a cell is a number or says that there is none."""
    return cell.strip().lower() in _MISSING or _is_numeral(cell)


def _value(cell: str) -> float:
    return math.nan if cell.strip().lower() in _MISSING else float(cell)


def _is_numeral(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
