"""Entries of a sparse matrix in any order, given back row by row in bounded memory.

They are shared out among temporary files by ranges of rows; each file then fits into memory and is
put in order there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.io.matrix_market import Entries

ENTRY = np.dtype([("row", "i8"), ("column", "i8"), ("value", "f8")])
FILE_BYTES = 64 * 2**20
MOST_FILES = 200  # systems allow some hundred open files


def rows_in_order(
    entries: Iterable[Entries], shape: tuple[int, int], stored: int, folder: str | None = None
) -> Iterator[sp.csr_array]:
    """Consecutive rows of the matrix; entries that repeat a place are added up.

    stored : how many entries are expected, from which the number of files follows.
    folder : for the temporary files; that of the system by default.
    """
    number = min(max(1, -(-stored * ENTRY.itemsize // FILE_BYTES)), MOST_FILES, max(shape[0], 1))
    height = -(-shape[0] // number)
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(number)]
        for rows, columns, values in entries:
            packed = np.empty(len(rows), dtype=ENTRY)
            packed["row"], packed["column"], packed["value"] = rows, columns, values
            _share_out(packed, rows // max(height, 1), files)
        for place, file in enumerate(files):
            first = place * height
            yield _in_order(file, first, min(height, shape[0] - first), shape[1])


def _share_out(
    packed: NDArray[np.void], places: NDArray[np.int64], files: Sequence[IO[bytes]]
) -> None:
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(len(files) + 1))
    for file, start, stop in zip(files, bounds[:-1], bounds[1:]):
        if stop > start:
            file.write(packed[order[start:stop]].tobytes())


def _in_order(file: IO[bytes], first: int, height: int, width: int) -> sp.csr_array:
    file.seek(0)
    packed = np.frombuffer(file.read(), dtype=ENTRY)
    places = packed["row"] - first, packed["column"]
    return sp.csr_array(sp.coo_array((packed["value"], places), shape=(max(height, 0), width)))
