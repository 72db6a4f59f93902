"""Write weights and components back beside the data of an AnnData file (`.h5ad`)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.io.files import existing, parsing
from provenmf.io.hdf5 import member
from provenmf.io.optional import optional
from provenmf.io.output import check_target
from provenmf.results.answers import Answer, as_answer
from provenmf.results.exports import KEY, summary
from provenmf.results.factorization import Factorization

# How AnnData marks its own encodings.
ARRAY = {"encoding-type": "array", "encoding-version": "0.2.0"}
TEXT = {"encoding-type": "string", "encoding-version": "0.2.0"}
TEXTS = {"encoding-type": "string-array", "encoding-version": "0.2.0"}
MAPPING = {"encoding-type": "dict", "encoding-version": "0.1.0"}


def write_h5ad(result: Factorization | Answer, source: str | Path, target: str | Path) -> None:
    """Copy an h5ad file and add the result to the copy.

    Weights become `obsm["X_provenmf"]`, components `varm["provenmf"]` (NaN for columns that were
    not used), method, verdict and names of the components `uns["provenmf"]`.

    Parameters
    ----------
    result : Factorization or Answer
        Of the matrix in the file, rows in its order.
    source : path of the h5ad file that was factorized; it is left as it is.
    target : path of the copy.
    """
    optional("h5py", "writing an h5ad file", "files")
    answer, source, target = as_answer(result), existing(source), Path(target)
    check_target(target, source)

    with parsing(source, "h5ad file"), TemporaryDirectory(dir=target.resolve().parent) as folder:
        copy = Path(folder) / "copy.h5ad"
        shutil.copyfile(source, copy)
        _add(answer, copy)
        os.replace(copy, target.resolve())


def _add(answer: Answer, path: Path) -> None:
    """Add the groups of the result to a file."""
    import h5py

    with h5py.File(path, "r+") as content:
        rows, columns = (_length(member(content, axis, path)) for axis in ("obs", "var"))
        weights, components = np.asarray(answer.weights), whole_columns(answer, columns)
        if len(weights) != rows:
            raise InvalidInput(
                f"the file has {rows} observations, the result {len(weights)}: give the file that "
                "was factorized"
            )
        _put(_group(content, "obsm"), f"X_{KEY}", weights, ARRAY)
        _put(_group(content, "varm"), KEY, components.T, ARRAY)
        facts = _group(_group(content, "uns"), KEY)
        for name, value in summary(answer).items():
            if isinstance(value, str):
                _put(facts, name, value, TEXT)
            else:
                _put(facts, name, np.array(value, dtype=h5py.string_dtype()), TEXTS)


def whole_columns(answer: Answer, n_columns: int) -> NDArray[Any]:
    """Components over all columns of the file; NaN where an application left columns out."""
    components = np.asarray(answer.components, dtype=np.float64)
    used = getattr(answer, "word_columns", None)
    if used is None:
        used = np.arange(components.shape[1])
    if used.max(initial=-1) >= n_columns or (len(used) != n_columns and answer.kind == "matrix"):
        raise InvalidInput(
            f"the file has {n_columns} variables, the result {components.shape[1]}: give the file "
            "that was factorized"
        )
    full = np.full((len(components), n_columns), np.nan)
    full[:, used] = components
    return full


def _length(frame: Any) -> int:
    """How many rows a frame has, by its index; before AnnData 0.7 it was one array."""
    return len(frame if hasattr(frame, "shape") else frame[frame.attrs.get("_index", "_index")])


def _group(parent: Any, name: str) -> Any:
    """A group of the file itself: a link could lead to any other file that we may write."""
    import h5py

    link = parent.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink | h5py.SoftLink):
        raise InvalidInput(
            f"{name} of the h5ad file is a link, and is refused: store a group there"
        )
    group = parent.require_group(name)
    for key, value in MAPPING.items():
        group.attrs.setdefault(key, value)
    return group


def _put(group: Any, name: str, value: Any, marks: dict[str, str]) -> None:
    if name in group:
        del group[name]
    group[name] = value
    for key, mark in marks.items():
        group[name].attrs[key] = mark
