"""Read a graph: edge list, GraphML, GML, Pajek, adjacency matrix, networkx graph."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile, counted, optional
from provenmf.io.files import (
    existing,
    parsing,
    read_bytes,
    read_lines,
    without_compression,
)
from provenmf.io.matrices import read_matrix
from provenmf.linalg.storage import sparse_numbers

NETWORKX = (".graphml", ".gml", ".net")


@dataclass(frozen=True, eq=False)
class Graph:
    """Symmetric adjacency (n, n) without self-loops, node names, and what was done to get it."""

    adjacency: sp.csr_array
    names: NDArray[np.str_]
    notes: tuple[str, ...] = ()


def read_graph(path: str | Path, *, key: str | None = None) -> Graph:
    """Read a graph.

    Parameters
    ----------
    path : `.graphml`, `.gml` or Pajek (`.net`); an adjacency matrix (`.npz`, `.mtx`, `.npy`,
        `.mat`); anything else is an edge list: two node names and perhaps a weight on each line,
        separated by spaces, tabs or commas, lines that begin with `#` or `%` being comments. Text
        may be compressed.
    key : name of the matrix in a file that holds several.
    """
    path = existing(path)
    ending = without_compression(path)
    if ending in NETWORKX:
        return _from_networkx_file(path, ending)
    if ending in (".npz", ".npy", ".mtx", ".mat"):
        return as_graph(read_matrix(path, key), where=str(path))
    return _from_edge_list(path)


def as_graph(
    graph: object,
    names: Sequence[str] | None = None,
    *,
    where: str = "graph",
    directed: bool = False,
) -> Graph:
    """Return an adjacency matrix, edges as rows of two numbers, or a networkx graph as a `Graph`.

    Directed edges are made mutual (the larger of the two weights), self-loops are dropped,
    weights are kept; `notes` say which of this happened.
    """
    if isinstance(graph, Graph):
        return graph
    if hasattr(graph, "nodes") and hasattr(graph, "is_directed"):
        return _from_networkx(graph, where)
    if _is_edge_list(graph):
        return _from_edge_array(np.asarray(graph), where)
    adjacency = sparse_numbers(graph, where).copy()  # it is changed below
    if adjacency.shape[0] != adjacency.shape[1]:
        raise InvalidInput(
            f"{where} has shape {adjacency.shape}: give a square adjacency matrix, or edges as "
            "rows of two node numbers"
        )
    notes: list[str] = []
    adjacency.eliminate_zeros()
    if adjacency.nnz and adjacency.data.min() < 0:
        raise InvalidInput(f"{where} has negative weights: communities need weights >= 0")
    loops = int(np.count_nonzero(adjacency.diagonal()))
    if loops:
        adjacency = sp.csr_array(adjacency - sp.diags_array(adjacency.diagonal()))
        adjacency.eliminate_zeros()
        notes.append(f"{counted(loops, 'self-loop')} dropped")
    if directed or abs(adjacency - adjacency.T).sum() > 0:
        adjacency = sp.csr_array(adjacency.maximum(adjacency.T))
        notes.append("directed edges were made mutual, the larger weight kept")
    if adjacency.shape[0] < 2 or adjacency.nnz == 0:
        raise InvalidInput(
            f"{where} has {counted(adjacency.shape[0], 'node')} and "
            f"{counted(adjacency.nnz // 2, 'edge')}: communities need two nodes and an edge"
        )
    if not np.all(adjacency.data == 1):
        low, high = adjacency.data.min(), adjacency.data.max()
        notes.append(f"edge weights from {low:g} to {high:g} are used as given")
    adjacency.sort_indices()
    if names is None:
        names = [str(node) for node in range(adjacency.shape[0])]
    return Graph(adjacency, np.array(names, dtype=np.str_), tuple(notes))


def _is_edge_list(graph: object) -> bool:
    """Tell whether an array has a row of two node numbers for each edge; 2 x 2 is an adjacency."""
    if not isinstance(graph, np.ndarray) or graph.ndim != 2 or graph.shape[1] != 2:
        return False
    whole = np.issubdtype(graph.dtype, np.integer)
    return whole and graph.shape[0] != 2 and bool(graph.min(initial=0) >= 0)


def _from_edge_array(edges: NDArray[Any], where: str) -> Graph:
    """Return a graph whose nodes are the numbers that occur, in their order."""
    nodes, ends = np.unique(edges, return_inverse=True)
    first, second = ends.reshape(edges.shape).T
    size = (len(nodes), len(nodes))
    adjacency = sp.csr_array((np.ones(len(edges)), (first, second)), shape=size)
    mutual = sp.csr_array(((adjacency + adjacency.T) > 0).astype(np.float64))
    return as_graph(mutual, [str(node) for node in nodes], where=where)


def _from_networkx(graph: Any, where: str) -> Graph:
    networkx = optional("networkx", "a networkx graph", "files")
    nodes = list(graph.nodes)
    if not nodes:
        raise InvalidInput(f"{where} has no nodes: communities need at least two nodes")
    try:
        adjacency = networkx.to_scipy_sparse_array(graph, nodelist=nodes, format="csr", dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{where} has edge weights that are not numbers ({error})") from error
    names = [str(node) for node in nodes]
    return as_graph(adjacency, names, where=where, directed=graph.is_directed())


def _from_networkx_file(path: Path, ending: str) -> Graph:
    networkx = optional("networkx", f"reading a {ending} file", "files")
    with parsing(path, f"{ending} file"):
        if ending == ".graphml":
            graph = networkx.read_graphml(io.BytesIO(read_bytes(path)))
        elif ending == ".net":
            graph = networkx.parse_pajek(read_lines(path))
        else:
            lines = read_lines(path)
            try:
                graph = networkx.parse_gml(lines)
            except networkx.NetworkXError:  # nodes without labels, or two of one label
                graph = networkx.parse_gml(lines, label="id")
    return _from_networkx(graph, str(path))


def _from_edge_list(path: Path) -> Graph:
    """Read undirected edges, one a line; of lines that repeat one the largest weight counts."""
    numbers: dict[str, int] = {}
    edges: dict[tuple[int, int], float] = {}
    repeated = 0
    for line_number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.lstrip()[0] in "#%":
            continue
        cells = line.replace(",", " ").replace(";", " ").split()
        if len(cells) not in (2, 3):
            raise UnreadableFile(
                f"{path}, line {line_number} has {len(cells)} entries: "
                "an edge is two node names and perhaps a weight"
            )
        try:
            weight = float(cells[2]) if len(cells) == 3 else 1.0
        except ValueError as error:
            raise UnreadableFile(
                f"{path}, line {line_number} has the weight {cells[2]!r}: a number is needed"
            ) from error
        ends = [numbers.setdefault(name, len(numbers)) for name in cells[:2]]
        edge = min(ends), max(ends)
        repeated += edge in edges
        edges[edge] = max(weight, edges.get(edge, weight))
    if not edges:
        raise InvalidInput(f"{path} has no edges: communities need at least one edge")
    names = _in_order(list(numbers))
    place = np.empty(len(names), dtype=np.intp)
    place[[numbers[name] for name in names]] = np.arange(len(names))
    low, high = place[np.array(list(edges)).T]
    one_way = sp.coo_array((list(edges.values()), (low, high)), shape=(len(names),) * 2)
    graph = as_graph(one_way.maximum(one_way.T), names, where=str(path))
    if not repeated:
        return graph
    note = f"{repeated} lines repeat an edge, in either direction: the largest weight was kept"
    return replace(graph, notes=(*graph.notes, note))


def _in_order(names: list[str]) -> list[str]:
    """Sort node numbers by size; keep other names in order of appearance."""
    if all(name.isdecimal() and len(name) < 20 for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return names
