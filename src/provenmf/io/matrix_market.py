"""Read Matrix Market text, a piece at a time and checked before it is parsed.

scipy's reader ends the process on a damaged line, so every line is matched against the format
first, and numpy turns the rest into numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

HEADER = re.compile(
    rb"%%MatrixMarket[ \t]+matrix[ \t]+(coordinate|array)[ \t]+(real|double|integer|pattern)"
    rb"[ \t]+(general|symmetric|skew-symmetric)[ \t\r]*\n",
    re.IGNORECASE,
)
_NUMBER = rb"[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+"
_VALUE = rb"(?:" + _NUMBER + rb"|[-+]?+(?:inf|nan|infinity))"
_SPACE, _END = rb"[ \t]++", rb"[ \t]*+\r?+(?:\n[ \t\r\n]*+|\Z)"
_INDICES = rb"[ \t]*+\d{1,15}+" + _SPACE + rb"\d{1,15}+"
# Lines by the number of entries on each: a value, two indices, two indices and a value.
LINES = {
    1: re.compile(rb"(?:[ \t]*+" + _VALUE + _END + rb")*+", re.IGNORECASE),
    2: re.compile(rb"(?:" + _INDICES + _END + rb")*+"),
    3: re.compile(rb"(?:" + _INDICES + _SPACE + _VALUE + _END + rb")*+", re.IGNORECASE),
}
CHUNK_BYTES = 2**20
LONGEST_LINE = 2**16
# Rows, columns and values.
Entries: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True)
class Declared:
    """What the first lines of a file say about its matrix."""

    sparse: bool
    symmetry: str
    shape: tuple[int, int]
    stored: int
    width: int


def parse_matrix_market(file: IO[bytes]) -> NDArray[np.float64] | sp.coo_array:
    """Return the matrix of a file; ValueError says what is wrong with it."""
    declared = read_header(file)
    if not declared.sparse:
        return _dense(file, declared)
    pieces = list(stream_entries(file, declared))
    empty = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    rows, columns, values = map(np.concatenate, zip(*pieces)) if pieces else empty
    return sp.coo_array((values, (rows, columns)), shape=declared.shape)


def read_header(file: IO[bytes]) -> Declared:
    """Read up to the entries; ValueError says what is wrong."""
    header = HEADER.match(file.readline(LONGEST_LINE))
    if header is None:
        raise ValueError("the first line is not that of a real matrix")
    layout, field, symmetry = (part.decode().lower() for part in header.groups())
    sizes = file.readline(LONGEST_LINE)
    while sizes.lstrip().startswith(b"%") or (sizes and not sizes.strip()):
        sizes = file.readline(LONGEST_LINE)
    wanted = 3 if layout == "coordinate" else 2
    numbers = sizes.split()
    if len(numbers) != wanted or not all(re.fullmatch(rb"\d{1,15}", n) for n in numbers):
        raise ValueError(f"{wanted} sizes are needed after the comments")
    rows, columns, stored = (int(number) for number in (*numbers, b"0")[:3])
    if symmetry != "general" and rows != columns:
        raise ValueError(f"a {symmetry} matrix must be square")
    if layout == "coordinate":
        return Declared(True, symmetry, (rows, columns), stored, 2 if field == "pattern" else 3)
    # The file runs down the columns, of a symmetric matrix down those of the lower triangle.
    stored = rows * columns
    if symmetry != "general":
        stored = rows * (rows + (1 if symmetry == "symmetric" else -1)) // 2
    return Declared(False, symmetry, (rows, columns), stored, 1)


def stream_entries(file: IO[bytes], declared: Declared) -> Iterator[Entries]:
    """Yield rows, columns and values, some ten thousand at a time, in the order of the file.

    Those that a symmetry stands for are included.
    """
    for numbers in _stream_numbers(file, declared):
        rows, columns = numbers[:, 0].astype(np.int64) - 1, numbers[:, 1].astype(np.int64) - 1
        values = np.ones(len(numbers)) if declared.width == 2 else numbers[:, 2]
        for indices, size in zip((rows, columns), declared.shape):
            if len(indices) and not (0 <= indices.min() and indices.max() < size):
                shape = declared.shape
                raise ValueError(f"an index lies outside the {shape[0]} x {shape[1]} matrix")
        if declared.symmetry != "general":
            off = rows != columns
            sign = -1.0 if declared.symmetry == "skew-symmetric" else 1.0
            rows, columns = np.append(rows, columns[off]), np.append(columns, rows[off])
            values = np.append(values, sign * values[off])
        yield rows, columns, values


def _stream_numbers(file: IO[bytes], declared: Declared) -> Iterator[NDArray[np.float64]]:
    """Yield the lines of the body as rows of numbers; there must be as many as declared."""
    found = 0
    while chunk := file.read(CHUNK_BYTES):
        lines = (chunk + file.readline()).lstrip()
        if LINES[declared.width].fullmatch(lines) is None:
            raise ValueError("an entry does not fit the format")
        numbers = np.fromstring(lines.decode("ascii"), dtype=np.float64, sep=" ")
        found += len(numbers) // declared.width
        if found > declared.stored:
            raise ValueError(f"it holds {found} entries or more, not {declared.stored} as declared")
        yield numbers.reshape(-1, declared.width)
    if found != declared.stored:
        raise ValueError(f"it holds {found} entries, not {declared.stored} as declared")


def _dense(file: IO[bytes], declared: Declared) -> NDArray[np.float64]:
    parts = [numbers[:, 0] for numbers in _stream_numbers(file, declared)]
    values = np.concatenate(parts) if parts else np.zeros(0)
    rows, columns = declared.shape
    if declared.symmetry == "general":
        return values.reshape(columns, rows).T.copy()
    skew = declared.symmetry == "skew-symmetric"
    lower = np.zeros((rows, rows))
    lower.T[np.triu_indices(rows, 1 if skew else 0)] = values
    upper = np.triu(lower.T, 1)
    return lower + (-upper if skew else upper)
