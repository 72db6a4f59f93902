"""Save and load a result: one zip of plain arrays and a JSON text, never a pickle."""

from __future__ import annotations

import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.fields import Arrays, pack, unpack
from provenmf.io.files import existing, parsing
from provenmf.io.numpy_files import read_npz
from provenmf.io.output import write_aside
from provenmf.io.strict_json import exact_json, from_exact_json
from provenmf.io.version_one import upgraded
from provenmf.results import Factorization
from provenmf.results.answers import ANSWERS, Answer

FORMAT = "provenmf-factorization"
FORMAT_VERSION = 2


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
    stored["record"] = np.frombuffer(exact_json(record).encode(), dtype=np.uint8)
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

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from provenmf import factorize, load
    >>> result = factorize(np.eye(3), 2, method="spa", certify=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(Path(folder) / "result.npz")
    ...     load(Path(folder) / "result.npz") == result
    True
    """
    path = existing(path)
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder: give the file of a result")
    if not zipfile.is_zipfile(path):
        raise UnreadableFile(
            f"{path} is not a provenmf result: give the .npz file that a command or `save` wrote"
        )
    with parsing(path, "provenmf result"):
        arrays = read_npz(path, any_name=True)
        if "record" not in arrays:
            raise UnreadableFile(f"{path} is not a provenmf result: it holds no record")
        record = from_exact_json(arrays.pop("record").tobytes().decode())
        _check_format(record, path)
        return _assemble(record, arrays)


def _check_format(record: object, path: Path) -> None:
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


def _answer_type(kind: object) -> type[Answer]:
    """The class of a kind of answer; a file can name a kind, never a module."""
    if kind not in ANSWERS:
        import_module("provenmf.applications")  # whose answers enter themselves
    if not isinstance(kind, str) or kind not in ANSWERS:
        raise ValueError(f"there is no kind of answer called {kind!r}")
    return ANSWERS[kind]
