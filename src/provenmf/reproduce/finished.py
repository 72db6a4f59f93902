"""Measurements kept in a file as they come, so that a long experiment can go on after a stop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from provenmf.errors import InvalidInput

Measurement = dict[str, Any]


class Finished:
    """Lines {"key": {...}, "row": {...}} of a file; without a path nothing is kept.

    The file knows nothing of the program that measured: remove it to measure again. With
    `nothing_new` only what is in the file counts.
    """

    def __init__(self, path: Path | None, *, nothing_new: bool = False) -> None:
        self._path = path
        self._nothing_new = nothing_new
        self._rows: dict[str, Measurement] = {}
        if path is not None and path.exists():
            for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
                try:
                    entry = json.loads(line)
                    self._rows[_text(entry["key"])] = entry["row"]
                except (ValueError, KeyError, TypeError) as error:
                    raise InvalidInput(
                        f"{path}, line {number} is not a finished measurement: remove that line, "
                        "or the file to measure everything again"
                    ) from error

    def measure(self, key: Measurement, function: Callable[[], Measurement]) -> Measurement | None:
        """Key and row together: the row of the file, or that of the function, then kept."""
        name = _text(key)
        if name not in self._rows:
            if self._nothing_new:
                return None
            self._rows[name] = function()
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "row": self._rows[name]}) + "\n")
        return {**key, **self._rows[name]}


def _text(key: Measurement) -> str:
    return json.dumps(key, sort_keys=True)
