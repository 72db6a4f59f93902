"""Read a file in a process of its own, where a library's reader cannot be trusted with any bytes.

The readers of MATLAB and HDF5 files can crash or hang on damaged ones. A child with limits on
memory and time reads the file and leaves plain arrays in a temporary folder; whatever happens to
it, the caller gets the arrays or one error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.errors import MissingExtra, TooLarge, UnreadableFile
from provenmf.io.limits import allowed_bytes

BASE_SECONDS, BYTES_PER_SECOND = 60.0, 5e6
# The interpreter and the libraries themselves, as a process counts its addresses.
BASE_BYTES = 3 * 2**30
ERRORS: dict[str, type[Exception]] = {"UnreadableFile": UnreadableFile, "TooLarge": TooLarge}
CHILD = "from provenmf.io.child import main; main()"


def read_in_child(reader: str, path: Path, *arguments: str | None) -> dict[str, Any]:
    """What `reader` ("module:function" inside provenmf.io) finds in the file.

    The function gets the path and the arguments and returns arrays, sparse matrices, lists of text
    and None by name.
    """
    allowed = allowed_bytes(path)
    seconds = None if allowed is None else BASE_SECONDS + path.stat().st_size / BYTES_PER_SECOND
    with tempfile.TemporaryDirectory(prefix="provenmf-") as folder:
        task = {
            "reader": reader,
            "path": str(path),
            "arguments": arguments,
            "folder": folder,
            "unlimited": allowed is None,
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
        return _received(json.loads(outcome.read_text()), Path(folder))


def _environment() -> dict[str, str]:
    """The child finds the same packages; one thread is enough for reading."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _received(outcome: dict[str, Any], folder: Path) -> dict[str, Any]:
    if "error" in outcome:
        if outcome["error"] == "MissingExtra":
            raise MissingExtra(outcome["message"])
        raise ERRORS[outcome["error"]](outcome["message"])
    return {name: _value(item, folder) for name, item in outcome["content"]}


def _value(item: object, folder: Path) -> Any:
    if not isinstance(item, dict):
        return item
    arrays = [np.load(folder / file, allow_pickle=False) for file in item["files"]]
    if "shape" not in item:
        return arrays[0]
    build = {"csr": sp.csr_array, "csc": sp.csc_array}[item["format"]]
    return build(tuple(arrays), shape=tuple(item["shape"]))
