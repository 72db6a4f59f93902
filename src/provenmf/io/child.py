"""Read a file in a child process, where a library's reader cannot be trusted with any bytes.

The readers of MATLAB, HDF5 and TIFF files can crash or hang on damaged ones. A child with limits on
memory and time reads the file and leaves plain arrays in a temporary folder; whatever happens to
it, the caller gets the arrays or one error.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.errors import InvalidInput, MissingExtra, TooLarge, UnreadableFile
from provenmf.io.files import allowed_bytes, unlimited
from provenmf.linalg.storage import NUMBERS

BASE_SECONDS, BYTES_PER_SECOND = 60.0, 5e6
# The interpreter and the libraries themselves, as a process counts its addresses.
BASE_BYTES = 3 * 2**30
CHILD = "from provenmf.io.child import main; main()"
ERRORS: dict[str, Any] = {e.__name__: e for e in (UnreadableFile, TooLarge, MissingExtra)}
WORDS = {"c": "complex numbers", "U": "text", "S": "text", "O": "cells", "V": "a struct"}


@dataclass(frozen=True)
class NotNumbers:
    """Something else that a file holds, in words."""

    what: str


def read_in_child(reader: str, path: Path, *arguments: str | None) -> dict[str, Any]:
    """Return what `reader` ("module:function" inside provenmf.io) finds in the file.

    The function gets the path and the arguments and returns arrays, sparse matrices, lists of text,
    texts and None by name; anything else arrives as NotNumbers.
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
        return {name: _received(item, Path(folder)) for name, item in found["content"]}


def _environment() -> dict[str, str]:
    """Let the child find the same packages; one thread is enough for reading."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _received(item: Any, folder: Path) -> Any:
    if not isinstance(item, dict):
        return item
    if "other" in item:
        return NotNumbers(item["other"])
    arrays = [np.load(folder / file, allow_pickle=False) for file in item["files"]]
    if "shape" not in item:
        return arrays[0]
    build = {"csr": sp.csr_array, "csc": sp.csc_array}[item["format"]]
    return build(tuple(arrays), shape=tuple(item["shape"]))


# The other side, in the child.


def main() -> None:
    """Do the task on standard input."""
    run(json.load(sys.stdin))


def run(task: dict[str, Any]) -> None:
    """Read a file as a task says, and write what came of it into the task's folder."""
    module, _, name = task["reader"].partition(":")
    reader = getattr(importlib.import_module(f"provenmf.io.{module}"), name)
    if task["bytes"]:
        limit_memory(task["bytes"])
    folder, path = Path(task["folder"]), Path(task["path"])
    outcome: dict[str, Any]
    try:
        with contextlib.nullcontext() if task["bytes"] else unlimited():
            found = reader(path, *task["arguments"])
        outcome = {"content": [[n, _sent(v, folder, str(i))] for i, (n, v) in enumerate(found)]}
    except MissingExtra as error:
        outcome = {"error": "MissingExtra", "message": str(error)}
    except InvalidInput as error:
        kind = "TooLarge" if isinstance(error, TooLarge) else "UnreadableFile"
        outcome = {"error": kind, "message": str(error)}
    except Exception as error:  # the libraries meet arbitrary bytes and fail in many ways
        message = f"{path} is damaged ({type(error).__name__}: {error}): save it again"
        outcome = {"error": "UnreadableFile", "message": " ".join(message.split())}
    Path(folder, "outcome.json").write_text(json.dumps(outcome))


def limit_memory(size: int) -> None:
    """Let the system refuse what goes beyond, and write no core file; not on every system."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _sent(value: Any, folder: Path, name: str) -> Any:
    """Write arrays to files and say which; texts go as they are."""
    if value is None or isinstance(value, list | str):
        return value
    if isinstance(value, NotNumbers):
        return {"other": value.what}
    more: dict[str, Any] = {}
    if sp.issparse(value):
        value = value if value.format in ("csr", "csc") else value.tocsr()
        arrays = [value.data, value.indices, value.indptr]
        more = {"format": value.format, "shape": [int(length) for length in value.shape]}
    else:
        arrays = [np.asarray(value)]
    if arrays[0].dtype.kind not in NUMBERS:
        return {"other": WORDS.get(arrays[0].dtype.kind, f"{arrays[0].dtype} entries")}
    files = [f"{name}-{number}.npy" for number in range(len(arrays))]
    for file, array in zip(files, arrays):
        np.save(folder / file, array, allow_pickle=False)
    return {"files": files, **more}
