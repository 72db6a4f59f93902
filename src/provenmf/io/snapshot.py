"""The state of a computation as one file: plain values, arrays and mappings of them, no pickle."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import UnreadableFile
from provenmf.io.files import parsing
from provenmf.io.limits import unlimited
from provenmf.io.numpy_files import read_npz
from provenmf.io.output import write_aside
from provenmf.io.strict_json import exact_json, from_exact_json

# How an array and a set are written inside the JSON text.
ARRAY, SET = "@array", "@set"


def save_snapshot(path: Path, content: Mapping[str, Any]) -> None:
    """Write nested mappings of numbers, texts and arrays, completely and durably or not at all.

    Records become mappings of their fields, tuples lists; every number comes back exactly.
    """
    arrays: dict[str, NDArray[Any]] = {}
    text = exact_json(_written(content, arrays))
    arrays["content"] = np.frombuffer(text.encode(), dtype=np.uint8)
    write_aside(path, lambda file: np.savez(file, **arrays), durable=True)  # type: ignore[arg-type]


def load_snapshot(path: Path) -> dict[str, Any]:
    """Read what `save_snapshot` wrote."""
    remedy = "delete it to begin anew"
    if not zipfile.is_zipfile(path):
        raise UnreadableFile(f"{path} is not a checkpoint: {remedy}")
    with parsing(path, "checkpoint"), unlimited():
        arrays = read_npz(path, any_name=True)
        if "content" not in arrays:
            raise UnreadableFile(f"{path} is not a checkpoint: {remedy}")
        content: dict[str, Any] = _read(
            from_exact_json(arrays.pop("content").tobytes().decode()), arrays
        )
        return content


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
