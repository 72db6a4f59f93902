"""Matrices in HDF5 files: AnnData (`.h5ad`) and MATLAB 7.3.

Runs in the child of `guarded`. A link or storage that leads out of the file is refused: a crafted
file could otherwise copy any readable file of the machine into the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile
from provenmf.io.limits import check_sparse_shape, check_unfolded
from provenmf.io.matrix_market import Entries
from provenmf.io.optional import optional
from provenmf.io.row_order import rows_in_order
from provenmf.linalg.storage import own_rows

DEEPEST_LINKS = 16
PIECE_ENTRIES = 2**21
Found = list[tuple[str, Any]]


def read_h5ad(path: Path, name: str) -> Found:
    """The matrix of an AnnData file and the names of its rows and columns."""
    h5py = optional("h5py", "reading an h5ad file", "files")
    with h5py.File(path, "r") as file:
        node = member(file, name, path)
        if node is None:
            raise UnreadableFile(f"{path} has no {name}: it holds {', '.join(file)}")
        matrix = _matrix(node, path)
        return [
            ("matrix", matrix),
            ("row_names", _names(file, "obs", path)),
            ("column_names", _names(file, "var", path)),
        ]


def convert_h5ad(path: Path, key: str | None, target: str) -> Found:
    """Write the matrix of an AnnData file as rows on disk, a piece at a time; see `convert`."""
    from provenmf.io.convert import RowStream, write_rows

    h5py = optional("h5py", "reading an h5ad file", "files")
    name = "X" if key in (None, "X") else f"layers/{key}"
    with h5py.File(path, "r") as file:
        node = member(file, name, path)
        if node is None:
            raise UnreadableFile(f"{path} has no {name}: it holds {', '.join(file)}")
        shape, blocks = _pieces(node, path)
        rows, columns = _names(file, "obs", path), _names(file, "var", path)
        return [
            (
                "sizes",
                list(write_rows(RowStream(shape[1], blocks, rows or [], columns), Path(target))),
            )
        ]


def _pieces(node: Any, path: Path) -> tuple[tuple[int, ...], Iterator[Any]]:
    """The shape of a matrix and its rows, a piece at a time."""
    if hasattr(node, "shape"):
        dataset = in_this_file(node, path)
        if len(dataset.shape) != 2:
            raise UnreadableFile(f"{path} has a {dataset.name} of shape {dataset.shape}")
        step = max(1, PIECE_ENTRIES // max(dataset.shape[1], 1))
        bounds = [*range(0, dataset.shape[0], step), dataset.shape[0]]
        return dataset.shape, (dataset[a:b] for a, b in pairwise(bounds))
    shape, by_column, (values, indices, pointers) = _sparse_parts(node, path)
    ends = content(pointers, path).astype(np.int64)
    lines = shape[1] if by_column else shape[0]
    if len(ends) != lines + 1 or ends[0] != 0 or (np.diff(ends) < 0).any():
        raise UnreadableFile(f"{path} is damaged: its index pointers do not increase from 0")
    if not ends[-1] == values.size == indices.size:
        raise UnreadableFile(f"{path} is damaged: its index pointers end at {ends[-1]}")
    pieces = _sparse_pieces(ends, in_this_file(values, path), in_this_file(indices, path))
    if not by_column:
        return shape, (
            own_rows(sp.csr_array((v, i, p), shape=(len(p) - 1, shape[1])), f"{path}:")
            for _, v, i, p in pieces
        )
    return shape, rows_in_order(_turned(pieces, shape, path), (shape[0], shape[1]), values.size)


def _sparse_pieces(ends: NDArray[np.int64], values: Any, indices: Any) -> Iterator[Any]:
    """First line, values, indices and pointers of some lines with a few million entries."""
    start = 0
    while start < len(ends) - 1:
        wanted = np.searchsorted(ends, ends[start] + PIECE_ENTRIES, "right") - 1
        stop = max(int(wanted), start + 1)
        a, b = int(ends[start]), int(ends[stop])
        yield start, values[a:b], indices[a:b], ends[start : stop + 1] - a
        start = stop


def _turned(pieces: Iterator[Any], shape: tuple[int, ...], path: Path) -> Iterator[Entries]:
    """Rows, columns and values of pieces of columns."""
    for start, values, indices, pointers in pieces:
        rows = indices.astype(np.int64)
        if len(rows) and not (0 <= rows.min() and rows.max() < shape[0]):
            raise UnreadableFile(f"{path} is damaged: an index lies outside its {shape[0]} rows")
        columns = start + np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
        yield rows, columns, values.astype(np.float64)


def read_matlab(path: Path) -> Found:
    """The datasets of a MATLAB 7.3 file; columns come first there, so the axes are reversed."""
    h5py = optional("h5py", "reading a MATLAB 7.3 file", "files")
    with h5py.File(path, "r") as file:
        nodes = [(name, member(file, name, path)) for name in file]
        return [(n, content(v, path).T) for n, v in nodes if isinstance(v, h5py.Dataset)]


def member(group: Any, name: str, path: Path, depth: int = 0) -> Any:
    """An object inside the file, or None; links inside the file are followed, others refused."""
    import h5py

    node = group
    for part in name.split("/"):
        if not part:
            continue
        link = node.get(part, getlink=True) if isinstance(node, h5py.Group) else None
        if link is None:
            return None
        if isinstance(link, h5py.ExternalLink) or depth > DEEPEST_LINKS:
            raise UnreadableFile(
                f"{path} has a link at {name} that leads out of the file, and is refused: "
                "store the data in the file itself"
            )
        if isinstance(link, h5py.SoftLink):
            start = node.file if link.path.startswith("/") else node
            node = member(start, link.path, path, depth + 1)
        else:
            node = node[part]
    return node


def content(dataset: Any, path: Path) -> Any:
    """The numbers or texts of a dataset that is stored in the file."""
    return in_this_file(dataset, path)[()]


def in_this_file(dataset: Any, path: Path) -> Any:
    """The dataset, refused if it is kept elsewhere or larger than the file should hold."""
    if dataset.external or dataset.is_virtual:
        raise UnreadableFile(
            f"{path} keeps {dataset.name} in other files, and is refused: "
            "store the data in the file itself"
        )
    check_unfolded(path, dataset.size * dataset.dtype.itemsize)
    return dataset


def _matrix(node: Any, path: Path) -> Any:
    """A dense dataset, or a group with the three arrays of a sparse matrix."""
    if hasattr(node, "shape"):
        return content(node, path)
    shape, by_column, parts = _sparse_parts(node, path)
    values, indices, pointers = (content(part, path) for part in parts)
    build = sp.csc_array if by_column else sp.csr_array
    return own_rows(build((values, indices, pointers), shape=shape), f"{path}:")


def _sparse_parts(node: Any, path: Path) -> tuple[tuple[int, ...], bool, list[Any]]:
    """Shape, whether it is stored by columns, and values, indices and index pointers."""
    parts = [member(node, part, path) for part in ("data", "indices", "indptr")]
    if any(not hasattr(part, "shape") for part in parts):
        raise UnreadableFile(f"{path} has a sparse matrix without data, indices or indptr")
    shape = tuple(int(length) for length in node.attrs["shape"])
    by_column = "csc" in str(node.attrs.get("encoding-type", "csr_matrix"))
    check_sparse_shape(path, shape, int(parts[0].size))
    return shape, by_column, parts


def _names(file: object, axis: str, path: Path) -> list[str] | None:
    """The index of the frame `obs` (cells) or `var` (genes), if it is a plain column of text."""
    frame = member(file, axis, path)
    if not hasattr(frame, "keys"):  # before AnnData 0.7 frames were stored in another way
        return None
    index = member(frame, str(frame.attrs.get("_index", "_index")), path)
    if getattr(index, "dtype", np.dtype(float)).kind not in "OS" or index.ndim != 1:
        return None
    content(index, path)
    return [str(name) for name in index.asstr()[()]]
