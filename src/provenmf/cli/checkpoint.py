"""Checkpoints of whole commands: all iterations inside write to one folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

# Options that change neither the data nor what the iterations compute.
FREE = (
    "data output csv frame maps by force as_json no_report no_certify max_iter "
    "checkpoint checkpoint_seconds jobs"
).split()


@contextmanager
def command_checkpoint(command: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Keep the iterations inside; a folder of another command, data or options is refused.

    `options` are all arguments of the command by name, `locals()` at its beginning.
    """
    if options["checkpoint"] is None:
        yield
        return
    import provenmf
    from provenmf.methods.checkpoint import Checkpoint, Keeper, checkpointing

    identity = {
        "command": command,
        "data": content_hash(options["data"]),
        "version": provenmf.__version__,
    }
    for name, value in options.items():
        if name not in FREE:
            identity[f"option {name}"] = str(value)
    setting = Checkpoint(options["checkpoint"], options["checkpoint_seconds"])
    with checkpointing(Keeper(setting, identity)):
        yield


def content_hash(path: Path) -> str:
    """A hash of the bytes of a file, or of the names and bytes of all files in a folder."""
    found = blake2b(digest_size=16)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        if not file.is_file():
            continue
        found.update(os.fsencode(file.relative_to(path)))  # a name may have no encoding
        with open(file, "rb") as stream:
            while piece := stream.read(1 << 20):
                found.update(piece)
    return found.hexdigest()
