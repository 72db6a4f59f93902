"""Read a file in a child process, where a library's reader cannot be trusted with any bytes.

The readers of MATLAB, HDF5 and TIFF files can crash or hang on damaged ones. A child with limits on
memory and time reads the file and leaves plain arrays in a temporary folder; whatever happens to
it, the caller gets the arrays or one error.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.errors import (
    InvalidInput,
    MissingExtra,
    ProvenmfError,
    TooLarge,
    UnreadableFile,
    optional,
)
from provenmf.io.files import (
    allowed_bytes,
    check_sparse_shape,
    check_unfolded,
    read_bytes,
    too_large,
    unlimited,
)
from provenmf.linalg.storage import NUMBERS, own_rows

BASE_SECONDS, BYTES_PER_SECOND = 60.0, 5e6
# The interpreter and the libraries themselves, as a process counts its addresses.
BASE_BYTES = 3 * 2**30
CHILD = "from provenmf.io.child import main; main()"
Found = list[tuple[str, Any]]
ERRORS: dict[str, Any] = {e.__name__: e for e in (UnreadableFile, TooLarge, MissingExtra)}
WORDS = {"c": "complex numbers", "U": "text", "S": "text", "O": "cells", "V": "a struct"}


def read_in_child(reader: str, path: Path, *arguments: str | None) -> dict[str, Any]:
    """Return what `reader` ("module:function" inside provenmf.io) finds in the file.

    The function gets the path and the arguments and returns arrays, sparse matrices, lists and None
    by name. What is not numeric arrives as a text that says what it is, such as "a struct".
    """
    allowed = allowed_bytes(path)
    seconds = None if allowed is None else BASE_SECONDS + path.stat().st_size / BYTES_PER_SECOND
    with tempfile.TemporaryDirectory(prefix="provenmf-") as folder:
        task = {
            "reader": reader,
            "path": str(path),
            "arguments": arguments,
            "folder": folder,
            "bytes": None if allowed is None else BASE_BYTES + 4 * allowed,
        }
        try:
            done = subprocess.run(
                [sys.executable, "-c", CHILD],
                input=json.dumps(task).encode(),
                env=_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UnreadableFile(
                f"{path} could not be read within {error.timeout:.0f} s and is likely damaged: "
                "save it again, or as .npz"
            ) from error
        outcome = Path(folder, "outcome.json")
        if done.returncode or not outcome.exists():
            raise UnreadableFile(
                f"{path} is damaged: the reader of such files crashed on it; save it again"
            )
        found = json.loads(outcome.read_text())
        if "error" in found:
            raise ERRORS[found["error"]](found["message"])
        return {name: _received(item) for name, item in found["content"]}


def _environment() -> dict[str, str]:
    """Return the child's environment: the same packages, one thread."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _received(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    file: str = item["file"]
    return sp.load_npz(file) if file.endswith(".npz") else np.load(file, allow_pickle=False)


# The other side, in the child.


def main() -> None:
    """Run the task given as JSON on standard input."""
    run(json.load(sys.stdin))


def run(task: dict[str, Any]) -> None:
    """Read a file as the task says and write the result into the task's folder."""
    module, _, name = task["reader"].partition(":")
    reader = getattr(importlib.import_module(f"provenmf.io.{module}"), name)
    if task["bytes"]:
        limit_memory(task["bytes"])
    folder, path = Path(task["folder"]), Path(task["path"])
    outcome: dict[str, Any]
    try:
        with contextlib.nullcontext() if task["bytes"] else unlimited():
            found = reader(path, *task["arguments"])
        outcome = {"content": [[n, _sent(v, folder / str(i))] for i, (n, v) in enumerate(found)]}
    except ProvenmfError as error:
        kind = type(error).__name__
        outcome = {"error": kind if kind in ERRORS else "UnreadableFile", "message": str(error)}
    except Exception as error:  # arbitrary bytes raise many kinds of errors in the libraries
        message = f"{path} is damaged ({type(error).__name__}: {error}): save it again"
        outcome = {"error": "UnreadableFile", "message": " ".join(message.split())}
    Path(folder, "outcome.json").write_text(json.dumps(outcome))


def limit_memory(size: int) -> None:
    """Set memory and time limits of the process, and write no core file; not on every system."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _sent(value: Any, place: Path) -> Any:
    """Write arrays to files and return the files' names; return the rest unchanged."""
    if value is None or isinstance(value, list | str):
        return value
    value = value if sp.issparse(value) else np.asarray(value)
    if value.dtype.kind not in NUMBERS:
        return WORDS.get(value.dtype.kind, f"{value.dtype} entries")
    if sp.issparse(value):
        sp.save_npz(f"{place}.npz", value, compressed=False)
        return {"file": f"{place}.npz"}
    np.save(f"{place}.npy", value, allow_pickle=False)
    return {"file": f"{place}.npy"}


# Readers that run in the child. A link or storage that leads out of an HDF5 file is refused: a
# crafted file could otherwise copy any readable file of the machine into the result.


def read_mat(path: Path) -> Found:
    """Return all variables of a MATLAB file, a word for text, structs and cells."""
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
        check_self_contained(file, path)
        found: Found = []
        for name, node in file.items():
            kind = getattr(node, "attrs", {}).get("MATLAB_class", b"")
            if "MATLAB_sparse" in getattr(node, "attrs", {}):
                found.append((name, _sparse_of_new_mat(path, node)))
            elif not isinstance(node, h5py.Dataset):
                found += [(name, "a struct")] if not name.startswith("#") else []
            elif kind == b"char":
                found.append((name, "text"))
            elif node.dtype.names == ("real", "imag"):
                found.append((name, "complex numbers"))
            else:
                found.append((name, node[()].T))
        return found


def _sparse_of_new_mat(path: Path, group: Any) -> Any:
    """Return a sparse matrix of a MATLAB 7.3 file: columns in the groups data, ir and jc."""
    pointers = group["jc"][()]
    entries = group["data"][()] if "data" in group else np.zeros(0)  # without entries there is none
    rows = group["ir"][()] if "ir" in group else np.zeros(0, dtype=np.int64)
    if entries.dtype.names is not None:
        return "complex numbers"
    shape = int(group.attrs["MATLAB_sparse"]), len(pointers) - 1
    check_sparse_shape(path, shape, len(entries))
    columns = sp.csc_array((entries, rows.astype(np.int64), pointers.astype(np.int64)), shape=shape)
    return own_rows(columns, f"{path}:")


def read_mtx(path: Path) -> Found:
    """Return the matrix of a Matrix Market file."""
    import scipy.io

    content = read_bytes(path)
    rows, columns, stored, layout, field, _ = scipy.io.mminfo(io.BytesIO(content))
    if layout == "coordinate":
        check_sparse_shape(path, (rows, columns), stored)
    else:
        check_unfolded(path, 8 * rows * columns)
    if field == "complex":
        return [("matrix", "complex numbers")]
    matrix = scipy.io.mmread(io.BytesIO(content))
    return [("matrix", own_rows(matrix, f"{path}:") if sp.issparse(matrix) else matrix)]


def check_self_contained(file: Any, path: Path) -> None:
    """Refuse links and data that lead out of an HDF5 file, and data too large for it."""
    import h5py

    def problem(name: str, link: Any) -> InvalidInput | None:
        node = file.get(name) if isinstance(link, h5py.HardLink) else None
        data = node if isinstance(node, h5py.Dataset) else None
        outside = data is not None and (data.external or data.is_virtual)
        if isinstance(link, h5py.ExternalLink) or outside:
            return UnreadableFile(
                f"{path} keeps {name} in other files, and is refused: "
                "store the data in the file itself"
            )
        allowed = allowed_bytes(path)
        if data is None or allowed is None:
            return None
        size = (data.size or 0) * data.dtype.itemsize
        return too_large(path, f"declares {name} of {size} bytes") if size > allowed else None

    found = file.visititems_links(problem)  # an error that is raised inside would be lost
    if found is not None:
        raise found


def _open_h5ad(path: Path) -> Any:
    anndata = optional("anndata", "reading an h5ad file", "files")
    import h5py

    with h5py.File(path, "r") as file:
        check_self_contained(file, path)
        for group in (file, file.get("layers"), file.get("raw")):
            for node in group.values() if isinstance(group, h5py.Group) else ():
                if "shape" in getattr(node, "attrs", ()) and "data" in node:
                    check_sparse_shape(path, tuple(node.attrs["shape"]), int(node["data"].size))
    return anndata.read_h5ad(path)


def read_h5ad(path: Path, key: str | None) -> Found:
    """Return a matrix of an AnnData file (X, raw or a layer), and the names of cells and genes."""
    cells = _open_h5ad(path)
    genes = cells.var_names
    if key in (None, "X"):
        matrix = cells.X
    elif key in cells.layers:
        matrix = cells.layers[key]
    elif key == "raw" and cells.raw is not None:
        matrix, genes = cells.raw.X, cells.raw.var_names
    else:
        known = ", ".join(["X", *cells.layers, *(["raw"] if cells.raw is not None else [])])
        raise UnreadableFile(f"{path} has no layer {key!r}: it holds {known}")
    if matrix is None:
        raise UnreadableFile(f"{path} has no X: name a layer")
    if sp.issparse(matrix):
        matrix = own_rows(matrix, f"{path}:")
    return [
        ("matrix", matrix),
        ("row_names", [str(name) for name in cells.obs_names]),
        ("column_names", [str(name) for name in genes]),
    ]
