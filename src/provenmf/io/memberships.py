"""Known memberships of a graph's nodes, put in the order of the nodes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.io.matrices import read_table
from provenmf.linalg.storage import as_dense


def read_memberships(
    path: str | Path, nodes: Iterable[str], *, key: str | None = None
) -> NDArray[np.float64]:
    """Memberships (nodes, communities) from a matrix file, one row for each of the `nodes`.

    Rows with names (a first column of a csv file, cells of h5ad) are matched by name; the names may
    be numbers. Without them the nodes must be numbers that count the rows, from 0 or from 1;
    anything else is refused, for rows in another order would be compared with the wrong nodes.
    """
    table = read_table(path, key)
    matrix = as_dense(table.matrix).astype(np.float64)
    names = [str(name) for name in nodes]
    if table.row_names is not None:
        rows = _by_name(names, [str(name) for name in table.row_names], path)
    elif matrix.shape[1] > 1 and _names_all(matrix[:, 0], names):
        rows = _by_name(names, [f"{number:.0f}" for number in matrix[:, 0]], path)
        matrix = matrix[:, 1:]
    else:
        rows = _by_number(names, len(matrix), path)
    return matrix[rows]


def _names_all(column: NDArray[np.float64], nodes: list[str]) -> bool:
    """Whether a column holds different whole numbers, those of all nodes among them."""
    whole = bool((column == np.floor(column)).all()) and len(np.unique(column)) == len(column)
    return whole and {f"{number:.0f}" for number in column}.issuperset(nodes)


def _by_name(nodes: list[str], known: list[str], path: str | Path) -> list[int]:
    place = {name: row for row, name in enumerate(known)}
    missing = [name for name in nodes if name not in place]
    if len(place) < len(known) or missing:
        what = f"no row for node {missing[0]!r}" if missing else "two rows of one name"
        raise InvalidInput(f"{path} has {what}: give one row of memberships for each node")
    return [place[name] for name in nodes]


def _by_number(nodes: list[str], n_rows: int, path: str | Path) -> list[int]:
    if all(name.isdecimal() for name in nodes):
        numbers = [int(name) for name in nodes]
        for first in (0, 1):
            if min(numbers) >= first and max(numbers) == n_rows - 1 + first:
                return [number - first for number in numbers]
    raise InvalidInput(
        f"{path} has {n_rows} rows without names, and the nodes are not the numbers of its rows: "
        "name the rows, as in the first column of a csv file"
    )
