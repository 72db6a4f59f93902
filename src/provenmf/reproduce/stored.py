"""Outcomes that were written before, in a folder or with the package: plain data, quickly read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from provenmf.reproduce.experiment import Row

RECORD = "recorded.json"
# A result as JSON knows it.
Stored = dict[str, Any]


def read_results(folder: Path) -> dict[str, Stored]:
    """The outcomes in a folder by name; other files are ignored."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text("utf-8"))
        except ValueError:
            continue
        if isinstance(content, dict) and {"name", "verdict", "tables"} <= content.keys():
            found[content["name"]] = content
    return found


def read_record() -> dict[str, Stored]:
    """The outcomes that come with the package, of which docs/reproduction.md has the tables."""
    text = resources.files("provenmf.reproduce").joinpath(RECORD).read_text("utf-8")
    record: dict[str, Stored] = json.loads(text)
    return record


def record_of(results: Mapping[str, Stored]) -> str:
    """What the package keeps of results."""
    kept = {
        name: {key: result[key] for key in ("holds", "quick", "verdict")}
        for name, result in results.items()
    }
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def columns_of(rows: list[Row]) -> list[str]:
    """All columns of a table, in the order of their first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def cell(value: object) -> str:
    """A value as a reader wants it."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
