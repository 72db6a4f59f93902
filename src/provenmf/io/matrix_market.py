"""Read Matrix Market text, checked before it is parsed.

scipy's reader ends the process on a damaged line, so every line is matched against the format
first, and numpy turns the rest into numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    layout, field, symmetry = (part.decode().lower() for part in header.groups())
    sizes, _, rest = content[header.end() :].partition(b"\n")
    wanted = 3 if layout == "coordinate" else 2
    numbers = sizes.split()
    if len(numbers) != wanted or not all(re.fullmatch(rb"\d{1,15}", n) for n in numbers):
        raise ValueError(f"{wanted} sizes are needed after the comments")
    if layout == "array":
        return _dense(rest, int(numbers[0]), int(numbers[1]), symmetry)
    rows, columns, stored = (int(number) for number in numbers)
    return _sparse(rest, (rows, columns), stored, pattern=field == "pattern", symmetry=symmetry)


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


def _sparse(
    body: bytes, shape: tuple[int, int], stored: int, *, pattern: bool, symmetry: str
) -> sp.coo_array:
    values = _values(body.lstrip(), "pattern" if pattern else "coordinate", stored)
    rows, columns = values[:, 0].astype(np.int64) - 1, values[:, 1].astype(np.int64) - 1
    entries = np.ones(stored) if pattern else values[:, 2]
    for indices, size in ((rows, shape[0]), (columns, shape[1])):
        if stored and not (0 <= indices.min() and indices.max() < size):
            raise ValueError(f"an index lies outside the {shape[0]} x {shape[1]} matrix")
    if symmetry != "general":
        off = rows != columns
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        rows, columns = np.append(rows, columns[off]), np.append(columns, rows[off])
        if shape[0] != shape[1]:
            raise ValueError(f"a {symmetry} matrix must be square")
        entries = np.append(entries, sign * entries[off])
    return sp.coo_array((entries, (rows, columns)), shape=shape)


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
