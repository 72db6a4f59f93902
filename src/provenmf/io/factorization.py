"""Save and load a Factorization: one zip of plain arrays and a JSON text, never a pickle."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.records import Certificate, Factorization, MethodState, StopReason, Trace

FORMAT = "provenmf-factorization"
FORMAT_VERSION = 1


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


def save(factorization: Factorization, path: str | Path) -> None:
    """Write a Factorization to `path` (usually `.npz`)."""
    record = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "method": factorization.method,
        "stop_reason": factorization.stop_reason,
        "parameters": dict(factorization.parameters),
        "versions": dict(factorization.versions),
        "state": factorization.state and type(factorization.state).__name__,
        "certificate": factorization.certificate and factorization.certificate.to_dict(),
    }
    text = json.dumps(record)
    arrays: dict[str, Any] = factorization.arrays()
    arrays |= {f"trace/{name}": column for name, column in factorization.trace.columns.items()}
    refused = [name for name, array in arrays.items() if array.dtype.hasobject]
    if refused:
        raise InvalidInput(f"cannot save object arrays {refused}: convert them to text or numbers")
    arrays["record"] = np.frombuffer(text.encode(), dtype=np.uint8)
    write_aside(path, lambda file: np.savez_compressed(file, **arrays))


def load(path: str | Path) -> Factorization:
    """Read a Factorization written by `save`."""
    path = Path(path)
    if not path.exists():
        raise UnreadableFile(f"{path} does not exist: check the path")
    try:
        with np.load(path, allow_pickle=False) as stored:
            if not hasattr(stored, "files") or "record" not in stored.files:
                raise UnreadableFile(f"{path} is not a provenmf result: it holds no record")
            arrays = {name: stored[name] for name in stored.files}
        record = json.loads(arrays.pop("record").tobytes().decode())
    except UnreadableFile:
        raise
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableFile(
            f"{path} is damaged or not a provenmf result ({error}): save it again"
        ) from error
    _check_format(record, path)
    return _assemble(record, arrays)


def _check_format(record: Any, path: Path) -> None:
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UnreadableFile(f"{path} is not a provenmf result")
    if record["format_version"] > FORMAT_VERSION:
        raise UnreadableFile(
            f"{path} was written by a newer provenmf (format {record['format_version']}, "
            f"this one reads up to {FORMAT_VERSION}): upgrade provenmf"
        )


def _assemble(record: dict[str, Any], arrays: dict[str, Any]) -> Factorization:
    def group(prefix: str) -> dict[str, Any]:
        return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

    certificate = record["certificate"]
    return Factorization(
        method=record["method"],
        weights=arrays["weights"],
        components=arrays["components"],
        anchors=arrays.get("anchors"),
        labels=arrays.get("labels"),
        trace=Trace(group("trace/")),
        stop_reason=StopReason(record["stop_reason"]),
        certificate=certificate and Certificate.from_dict(certificate),
        parameters=record["parameters"],
        versions=record["versions"],
        state=_state(record.get("state"), group("state/")),
        extras=group("extras/"),
    )


def _state(name: str | None, values: dict[str, Any]) -> MethodState | None:
    """What a method kept; single numbers are stored as arrays without axes."""
    if name is None:
        return None
    kinds = {kind.__name__: kind for kind in MethodState.__subclasses__()}
    return kinds[name](**{n: a.item() if a.ndim == 0 else a for n, a in values.items()})
