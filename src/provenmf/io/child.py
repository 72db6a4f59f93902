"""The other side of `guarded`: read one file under limits and leave plain arrays behind."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf.errors import InvalidInput, MissingExtra, TooLarge
from provenmf.io.limits import unlimited
from provenmf.linalg.storage import NUMBERS


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
        with unlimited() if task["unlimited"] else contextlib.nullcontext():
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
    """Write arrays to files and say which; everything else but text is None."""
    if sp.issparse(value):
        matrix = value if value.format in ("csr", "csc") else value.tocsr()
        arrays = [matrix.data, matrix.indices, matrix.indptr]
        more = {"format": matrix.format, "shape": [int(length) for length in matrix.shape]}
    elif isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        arrays, more = [value], {}
    else:
        return value if isinstance(value, list) else None
    files = [f"{name}-{number}.npy" for number in range(len(arrays))]
    for file, array in zip(files, arrays):
        np.save(folder / file, array, allow_pickle=False)
    return {"files": files, **more}
