"""Matrices in HDF5 files, AnnData (`.h5ad`) and MATLAB 7.3, and in older MATLAB files.

Runs in the child of `read_in_child`. A link or storage that leads out of the file is refused: a
crafted file could otherwise copy any readable file of the machine into the result.
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
from provenmf.io.child import NotNumbers
from provenmf.io.files import check_sparse_shape, check_unfolded, optional
from provenmf.io.matrix_market import Entries
from provenmf.linalg.storage import own_rows

DEEPEST_LINKS = 16
PIECE_ENTRIES = 2**21
Found = list[tuple[str, Any]]


def read_mat(path: Path) -> Found:
    """Return all variables of a MATLAB file; what is not numbers arrives as NotNumbers."""
    import scipy.io

    try:
        variables = scipy.io.loadmat(path, squeeze_me=False)
    except NotImplementedError:  # version 7.3
        return _read_new_mat(path)
    found: Found = []
    for name, value in variables.items():
        if sp.issparse(value):
            check_sparse_shape(path, value.shape, value.nnz)
            value = own_rows(value, f"{path}:") if value.dtype.kind != "c" else value
        if not name.startswith("__"):
            found.append((name, value))
    return found


def _read_new_mat(path: Path) -> Found:
    """Return the variables of a MATLAB 7.3 file; its axes are in reversed order."""
    h5py = optional("h5py", "reading a MATLAB 7.3 file", "files")
    with h5py.File(path, "r") as file:
        found: Found = []
        for name in file:
            node = _member(file, name, path)
            kind = getattr(node, "attrs", {}).get("MATLAB_class", b"")
            if not isinstance(node, h5py.Dataset):
                found += [(name, NotNumbers("a struct"))] if not name.startswith("#") else []
            elif kind == b"char":
                found.append((name, NotNumbers("text")))
            elif node.dtype.names == ("real", "imag"):
                found.append((name, NotNumbers("complex numbers")))
            else:
                found.append((name, _content(node, path).T))
        return found


def read_h5ad(path: Path, name: str) -> Found:
    """Return the matrix of an AnnData file and the names of its rows and columns."""
    h5py = optional("h5py", "reading an h5ad file", "files")
    with h5py.File(path, "r") as file:
        node = _existing_member(file, name, path)
        if hasattr(node, "shape"):
            matrix = _content(node, path)
        else:
            shape, by_column, parts = _sparse_parts(node, path)
            build = sp.csc_array if by_column else sp.csr_array
            arrays = tuple(_content(part, path) for part in parts)
            matrix = own_rows(build(arrays, shape=shape), f"{path}:")
        names = [_names(file, axis, path) for axis in ("obs", "var")]
        return [("matrix", matrix), ("row_names", names[0]), ("column_names", names[1])]


def convert_h5ad(path: Path, key: str | None, target: str) -> Found:
    """Write the matrix of an AnnData file as rows on disk, a piece at a time; see `convert`."""
    from provenmf.io.convert import RowStream, write_rows

    h5py = optional("h5py", "reading an h5ad file", "files")
    with h5py.File(path, "r") as file:
        node = _existing_member(file, place_of(key), path)
        width, blocks = _pieces(node, path)
        rows, columns = _names(file, "obs", path), _names(file, "var", path)
        stream = RowStream(width, blocks, rows or [], columns)
        return [("sizes", list(write_rows(stream, Path(target))))]


def place_of(key: str | None) -> str:
    """Return where the matrix X or a layer stands in an AnnData file."""
    return "X" if key in (None, "X") else f"layers/{key}"


def _pieces(node: Any, path: Path) -> tuple[int, Iterator[Any]]:
    """Return the number of columns of a matrix and its rows, a piece at a time."""
    from provenmf.io.convert import rows_in_order

    if hasattr(node, "shape"):
        dataset = _in_this_file(node, path)
        if len(dataset.shape) != 2:
            raise UnreadableFile(f"{path} has a {dataset.name} of shape {dataset.shape}")
        step = max(1, PIECE_ENTRIES // max(dataset.shape[1], 1))
        bounds = [*range(0, dataset.shape[0], step), dataset.shape[0]]
        return dataset.shape[1], (dataset[a:b] for a, b in pairwise(bounds))
    shape, by_column, (values, indices, pointers) = _sparse_parts(node, path)
    ends = _content(pointers, path).astype(np.int64)
    lines = shape[1] if by_column else shape[0]
    if len(ends) != lines + 1 or ends[0] != 0 or (np.diff(ends) < 0).any():
        raise UnreadableFile(f"{path} is damaged: its index pointers do not increase from 0")
    if not ends[-1] == values.size == indices.size:
        raise UnreadableFile(f"{path} is damaged: its index pointers end at {ends[-1]}")
    pieces = _sparse_pieces(ends, _in_this_file(values, path), _in_this_file(indices, path))
    if by_column:
        entries = _turned(pieces, shape, path)
        return shape[1], rows_in_order(entries, (shape[0], shape[1]), values.size)
    return shape[1], (
        own_rows(sp.csr_array((v, i, p), shape=(len(p) - 1, shape[1])), f"{path}:")
        for _, v, i, p in pieces
    )


def _sparse_pieces(ends: NDArray[np.int64], values: Any, indices: Any) -> Iterator[Any]:
    """Yield first line, values, indices and pointers of some lines with a few million entries."""
    start = 0
    while start < len(ends) - 1:
        wanted = np.searchsorted(ends, ends[start] + PIECE_ENTRIES, "right") - 1
        stop = max(int(wanted), start + 1)
        a, b = int(ends[start]), int(ends[stop])
        yield start, values[a:b], indices[a:b], ends[start : stop + 1] - a
        start = stop


def _turned(pieces: Iterator[Any], shape: tuple[int, ...], path: Path) -> Iterator[Entries]:
    """Yield rows, columns and values of pieces of columns."""
    for start, values, indices, pointers in pieces:
        rows = indices.astype(np.int64)
        if len(rows) and not (0 <= rows.min() and rows.max() < shape[0]):
            raise UnreadableFile(f"{path} is damaged: an index lies outside its {shape[0]} rows")
        columns = start + np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
        yield rows, columns, values.astype(np.float64)


def _existing_member(file: Any, name: str, path: Path) -> Any:
    node = _member(file, name, path)
    if node is None:
        raise UnreadableFile(f"{path} has no {name}: it holds {', '.join(file)}")
    return node


def _member(group: Any, name: str, path: Path, depth: int = 0) -> Any:
    """Return an object inside the file, or None; links inside it are followed, others refused."""
    import h5py

    node = group
    for part in filter(None, name.split("/")):
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
            node = _member(start, link.path, path, depth + 1)
        else:
            node = node[part]
    return node


def _content(dataset: Any, path: Path) -> Any:
    """Return the numbers or texts of a dataset that is stored in the file."""
    return _in_this_file(dataset, path)[()]


def _in_this_file(dataset: Any, path: Path) -> Any:
    """Return the dataset; refuse it if it is kept elsewhere or larger than the file should hold."""
    if dataset.external or dataset.is_virtual:
        raise UnreadableFile(
            f"{path} keeps {dataset.name} in other files, and is refused: "
            "store the data in the file itself"
        )
    check_unfolded(path, dataset.size * dataset.dtype.itemsize)
    return dataset


def _sparse_parts(node: Any, path: Path) -> tuple[tuple[int, ...], bool, list[Any]]:
    """Return shape, whether it is stored by columns, and values, indices and index pointers."""
    parts = [_member(node, part, path) for part in ("data", "indices", "indptr")]
    if any(not hasattr(part, "shape") for part in parts):
        raise UnreadableFile(f"{path} has a sparse matrix without data, indices or indptr")
    shape = tuple(int(length) for length in node.attrs["shape"])
    by_column = "csc" in str(node.attrs.get("encoding-type", "csr_matrix"))
    check_sparse_shape(path, shape, int(parts[0].size))
    return shape, by_column, parts


def _names(file: object, axis: str, path: Path) -> list[str] | None:
    """Return the index of the frame `obs` or `var`, if it is a plain column of text."""
    frame = _member(file, axis, path)
    if not hasattr(frame, "keys"):  # before AnnData 0.7 frames were stored in another way
        return None
    index = _member(frame, str(frame.attrs.get("_index", "_index")), path)
    if getattr(index, "dtype", np.dtype(float)).kind not in "OS" or index.ndim != 1:
        return None
    return [str(name) for name in _in_this_file(index, path).asstr()[()]]
