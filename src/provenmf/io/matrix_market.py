"""Read Matrix Market text, checked before it is parsed.

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
    rb"[ \t]+(general|symmetric|skew-symmetric)[ \t\r]*\n(?:[ \t]*%[^\n]*\n|[ \t\r]*\n)*+",
    re.IGNORECASE,
)
_NUMBER = rb"[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+"
_VALUE = rb"(?:" + _NUMBER + rb"|[-+]?+(?:inf|nan|infinity))"
_SPACE, _END = rb"[ \t]++", rb"[ \t]*+\r?+(?:\n[ \t\r\n]*+|\Z)"
_INDEX = rb"[ \t]*+\d{1,15}+"
CHUNK_BYTES = 2**20
LONGEST_LINE = 2**16
# Rows, columns and values.
Entries: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
LINES = {
    "coordinate": re.compile(
        rb"(?:" + _INDEX + _SPACE + rb"\d{1,15}+" + _SPACE + _VALUE + _END + rb")*+", re.IGNORECASE
    ),
    "pattern": re.compile(rb"(?:" + _INDEX + _SPACE + rb"\d{1,15}+" + _END + rb")*+"),
    "array": re.compile(rb"(?:[ \t]*+" + _VALUE + _END + rb")*+", re.IGNORECASE),
}


def parse_matrix_market(content: bytes) -> NDArray[np.float64] | sp.coo_array:
    """The matrix of a file's content; ValueError says what is wrong with it."""
    header = HEADER.match(content)
    if header is None:
        raise ValueError("the first line is not that of a real matrix")
    sizes, _, rest = content[header.end() :].partition(b"\n")
    declared = _declared(header, sizes)
    if declared.layout == "array":
        return _dense(rest, *declared.shape, declared.symmetry)
    return _sparse(rest, declared)


@dataclass(frozen=True)
class Declared:
    """What the first lines of a file say about its matrix."""

    layout: str
    pattern: bool
    symmetry: str
    shape: tuple[int, int]
    stored: int


def stream_matrix_market(file: IO[bytes]) -> tuple[Declared, Iterator[Entries]]:
    """What a file declares, and its entries, some ten thousand at a time.

    Entries are rows, columns and values in the order of the file, those that a symmetry stands for
    included. Only files that list entries can be read so; ValueError says what is wrong.
    """
    first = file.readline(LONGEST_LINE)
    header = HEADER.match(first)
    if header is None:
        raise ValueError("the first line is not that of a real matrix")
    sizes = file.readline(LONGEST_LINE)
    while sizes.lstrip().startswith(b"%") or (sizes and not sizes.strip()):
        sizes = file.readline(LONGEST_LINE)
    declared = _declared(header, sizes)
    return declared, _stream_entries(file, declared)


def _stream_entries(file: IO[bytes], declared: Declared) -> Iterator[Entries]:
    layout, width = ("pattern", 2) if declared.pattern else ("coordinate", 3)
    found = 0
    while chunk := file.read(CHUNK_BYTES):
        lines = (chunk + file.readline()).lstrip()
        if lines:
            values = _numbers_of(lines, layout).reshape(-1, width)
            found += len(values)
            yield _entries(values, declared)
    if found != declared.stored:
        raise ValueError(f"it holds {found} entries, not {declared.stored} as declared")


def _declared(header: re.Match[bytes], sizes: bytes) -> Declared:
    layout, field, symmetry = (part.decode().lower() for part in header.groups())
    wanted = 3 if layout == "coordinate" else 2
    numbers = sizes.split()
    if len(numbers) != wanted or not all(re.fullmatch(rb"\d{1,15}", n) for n in numbers):
        raise ValueError(f"{wanted} sizes are needed after the comments")
    rows, columns, stored = (int(number) for number in (*numbers, b"0")[:3])
    if symmetry != "general" and layout == "coordinate" and rows != columns:
        raise ValueError(f"a {symmetry} matrix must be square")
    return Declared(layout, field == "pattern", symmetry, (rows, columns), stored)


def _values(body: bytes, layout: str, wanted: int) -> NDArray[np.float64]:
    """All numbers of the body, which must have so many lines of one layout."""
    if wanted > len(body):
        raise ValueError(f"{wanted} entries are declared, more than the file has room for")
    width = {"coordinate": 3, "pattern": 2, "array": 1}[layout]
    parts = [_numbers_of(chunk, layout) for chunk in _chunks(body)]
    values = np.concatenate(parts) if parts else np.zeros(0)
    if values.size != wanted * width:
        raise ValueError(f"it holds {values.size // width} entries, not {wanted} as declared")
    return values.reshape(wanted, width)


def _chunks(body: bytes) -> Iterator[bytes]:
    """Whole lines, about a megabyte at a time: a match remembers every line that it has passed."""
    start = 0
    while start < len(body):
        stop = body.find(b"\n", start + CHUNK_BYTES) + 1 or len(body)
        yield body[start:stop]
        start = stop


def _numbers_of(chunk: bytes, layout: str) -> NDArray[np.float64]:
    matched = LINES[layout].fullmatch(chunk)
    if matched is None:
        raise ValueError("an entry does not fit the format")
    return np.fromstring(chunk.decode("ascii"), dtype=np.float64, sep=" ")


def _sparse(body: bytes, declared: Declared) -> sp.coo_array:
    layout = "pattern" if declared.pattern else "coordinate"
    rows, columns, values = _entries(_values(body.lstrip(), layout, declared.stored), declared)
    return sp.coo_array((values, (rows, columns)), shape=declared.shape)


def _entries(numbers: NDArray[np.float64], declared: Declared) -> Entries:
    """Rows, columns and values of some lines, in both halves of a symmetric matrix."""
    rows, columns = numbers[:, 0].astype(np.int64) - 1, numbers[:, 1].astype(np.int64) - 1
    values = np.ones(len(numbers)) if declared.pattern else numbers[:, 2]
    for indices, size in zip((rows, columns), declared.shape):
        if len(indices) and not (0 <= indices.min() and indices.max() < size):
            shape = declared.shape
            raise ValueError(f"an index lies outside the {shape[0]} x {shape[1]} matrix")
    if declared.symmetry == "general":
        return rows, columns, values
    off = rows != columns
    sign = -1.0 if declared.symmetry == "skew-symmetric" else 1.0
    both = np.append(rows, columns[off]), np.append(columns, rows[off])
    return *both, np.append(values, sign * values[off])


def _dense(body: bytes, rows: int, columns: int, symmetry: str) -> NDArray[np.floating]:
    if symmetry == "general":
        return _values(body.lstrip(), "array", rows * columns).reshape(columns, rows).T.copy()
    if rows != columns:
        raise ValueError(f"a {symmetry} matrix must be square")
    skew = symmetry == "skew-symmetric"
    # The file runs down the columns of the lower triangle: the upper one, row by row.
    values = _values(body.lstrip(), "array", rows * (rows + (-1 if skew else 1)) // 2)[:, 0]
    matrix = np.zeros((rows, rows))
    matrix.T[np.triu_indices(rows, 1 if skew else 0)] = values
    upper = matrix.T.copy()
    np.fill_diagonal(upper, 0.0)
    return matrix + (-upper if skew else upper)
