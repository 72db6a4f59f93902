"""The state of a computation as one file: plain values, arrays and mappings of them, no pickle.

A digest of everything goes with it: compiled loops trust the arrays of a state, so a file that is
not what was written must not come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile
from provenmf.io.files import existing, parsing
from provenmf.io.numpy_files import read_npz
from provenmf.io.output import write_aside
from provenmf.io.strict_json import exact_json, from_exact_json

# How an array and a set are written inside the JSON text.
ARRAY, SET = "@array", "@set"
REMEDY = "delete it to begin anew"


def save_snapshot(path: Path, content: Mapping[str, Any]) -> None:
    """Write nested mappings of numbers, texts and arrays, completely and durably or not at all.

    Records become mappings of their fields, tuples lists; every number comes back exactly.
    """
    arrays: dict[str, NDArray[Any]] = {}
    text = exact_json(_written(content, arrays))
    arrays["content"] = np.frombuffer(text.encode(), dtype=np.uint8)
    arrays["digest"] = _digest(arrays)
    write_aside(path, lambda file: np.savez(file, **arrays), durable=True)  # type: ignore[arg-type]


def load_snapshot(path: Path) -> dict[str, Any]:
    """Read what `save_snapshot` wrote, and nothing else."""
    path, damaged = existing(path), f"{path} is not a checkpoint, or damaged: {REMEDY}"
    try:
        arrays = read_npz(path, any_name=True)
    except UnreadableFile as error:
        raise UnreadableFile(damaged) from error
    stored = arrays.pop("digest", None)
    if stored is None or not np.array_equal(stored, _digest(arrays)):
        raise UnreadableFile(damaged)
    with parsing(path, "checkpoint", REMEDY):
        text = arrays.pop("content").tobytes().decode()
        content: dict[str, Any] = _read(from_exact_json(text), arrays)
        return content


def _digest(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """A hash of all names, types, shapes and bytes."""
    found = blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return np.frombuffer(found.digest(), dtype=np.uint8)


def _written(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {ARRAY: name}
    if is_dataclass(value):
        value = {part.name: getattr(value, part.name) for part in fields(value)}
    if isinstance(value, Mapping):
        return {name: _written(item, arrays) for name, item in value.items()}
    if isinstance(value, frozenset):
        return {SET: sorted(value)}
    return [_written(v, arrays) for v in value] if isinstance(value, (list, tuple)) else value


def _read(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return [_read(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {ARRAY}:
        return arrays[value[ARRAY]]
    if value.keys() == {SET}:
        return frozenset(value[SET])
    return {name: _read(item, arrays) for name, item in value.items()}
