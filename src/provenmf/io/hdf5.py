"""Matrices in HDF5 files: AnnData (`.h5ad`) and MATLAB 7.3.

Runs in the child of `guarded`. A link or storage that leads out of the file is refused: a crafted
file could otherwise copy any readable file of the machine into the result.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.errors import UnreadableFile
from provenmf.io.limits import check_sparse_shape, check_unfolded
from provenmf.io.optional import optional
from provenmf.storage import own_rows

DEEPEST_LINKS = 16
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
    if dataset.external or dataset.is_virtual:
        raise UnreadableFile(
            f"{path} keeps {dataset.name} in other files, and is refused: "
            "store the data in the file itself"
        )
    check_unfolded(path, dataset.size * dataset.dtype.itemsize)
    return dataset[()]


def _matrix(node: Any, path: Path) -> Any:
    """A dense dataset, or a group with the three arrays of a sparse matrix."""
    if hasattr(node, "shape"):
        return content(node, path)
    parts = [member(node, part, path) for part in ("data", "indices", "indptr")]
    if any(not hasattr(part, "shape") for part in parts):
        raise UnreadableFile(f"{path} has a sparse matrix without data, indices or indptr")
    shape = tuple(int(length) for length in node.attrs["shape"])
    by_column = "csc" in str(node.attrs.get("encoding-type", "csr_matrix"))
    check_sparse_shape(path, shape, int(parts[0].size))
    values, indices, pointers = (content(part, path) for part in parts)
    build = sp.csc_array if by_column else sp.csr_array
    return own_rows(build((values, indices, pointers), shape=shape), f"{path}:")


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
