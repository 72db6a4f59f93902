"""Save and load a result: one zip of plain arrays and a JSON text, never a pickle."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.fields import Arrays, pack, unpack
from provenmf.io.version_one import upgraded
from provenmf.records import Factorization
from provenmf.records.answers import ANSWERS, Answer

FORMAT = "provenmf-factorization"
FORMAT_VERSION = 2


def write_aside(path: str | Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file completely or not at all: to a neighbour first, then rename."""
    path = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InvalidInput(
            f"cannot write {path} ({error.strerror}): choose an existing, writable folder"
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def save(result: Factorization | Answer, path: str | Path) -> None:
    """Write a Factorization or an answer to `path` (usually `.npz`)."""
    if type(result) is Answer:  # the answer of a plain matrix is its factorization
        result = result.factorization
    plain, arrays = pack(result)
    refused = [name for name, array in arrays.items() if array.dtype.hasobject]
    if refused:
        raise InvalidInput(f"cannot save object arrays {refused}: convert them to text or numbers")
    record = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": result.kind,
        "content": plain,
    }
    stored: dict[str, Any] = dict(arrays)
    stored["record"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    write_aside(path, lambda file: np.savez_compressed(file, **stored))


def load(path: str | Path) -> Factorization | Answer:
    """Read what `save` wrote: a Factorization, or an answer of its own type.

    Parameters
    ----------
    path : str or Path
        File written by `save`, by this or an earlier version of provenmf.

    Returns
    -------
    Factorization or Answer
        `Topics`, `Communities`, `Unmixing` or `Parts` for what an application found; a
        `Factorization` for any other matrix.

    Raises
    ------
    UnreadableFile
        The file is missing, damaged, foreign, or from a newer version.
    """
    path = Path(path)
    if not path.exists():
        raise UnreadableFile(f"{path} does not exist: check the path")
    try:
        with np.load(path, allow_pickle=False) as stored:
            if not hasattr(stored, "files") or "record" not in stored.files:
                raise UnreadableFile(f"{path} is not a provenmf result: it holds no record")
            arrays = {name: stored[name] for name in stored.files}
        record = json.loads(arrays.pop("record").tobytes().decode())
        _check_format(record, path)
        return _assemble(record, arrays)
    except UnreadableFile:
        raise
    except DAMAGE as error:
        reason = " ".join(str(error).split())
        raise UnreadableFile(
            f"{path} is damaged or not a provenmf result ({reason}): save it again"
        ) from error


# Whatever a file can be wrong in, from its zip to the values of a record.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def _check_format(record: Any, path: Path) -> None:
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UnreadableFile(f"{path} is not a provenmf result")
    version = record.get("format_version")
    if type(version) is not int or version < 1:
        raise UnreadableFile(f"{path} is not a provenmf result: its format is {version!r}")
    if version > FORMAT_VERSION:
        raise UnreadableFile(
            f"{path} was written by a newer provenmf (format {version}, "
            f"this one reads up to {FORMAT_VERSION}): upgrade provenmf"
        )


def _assemble(record: dict[str, Any], arrays: Arrays) -> Factorization | Answer:
    if record["format_version"] == 1:
        kind, plain, arrays = upgraded(record, arrays)
    else:
        kind, plain = record["kind"], record["content"]
    if kind == Factorization.kind:
        return unpack(Factorization, plain, arrays)
    return unpack(_answer_type(kind), plain, arrays)


def _answer_type(kind: Any) -> type[Answer]:
    """The class of a kind of answer; a file can name a kind, never a module."""
    if kind not in ANSWERS:
        import_module("provenmf.applications")  # whose answers enter themselves
    if not isinstance(kind, str) or kind not in ANSWERS:
        raise ValueError(f"there is no kind of answer called {kind!r}")
    return ANSWERS[kind]
