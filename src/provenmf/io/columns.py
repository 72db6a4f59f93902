"""One column of a file of texts: a year, an author or the like for each document."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path, PurePath

from provenmf.errors import InvalidInput
from provenmf.io.files import (
    decoded,
    existing,
    parsing,
    read_bytes,
    read_lines,
    without_compression,
)
from provenmf.io.matrices import read_parquet

FOLDER = "folder"


def read_column(
    path: str | Path, column: str, names: Sequence[str], encoding: str = "utf-8"
) -> list[str]:
    """The values of a column (csv, tsv, parquet) or field (jsonl), one for each document.

    names : of the documents; those in a folder have one column, "folder": where each file is.
    """
    path = existing(path)
    ending = without_compression(path)
    if path.is_dir():
        if column != FOLDER:
            raise InvalidInput(
                f"{path} is a folder, whose only column is {FOLDER!r}, not {column!r}"
            )
        return [str(PurePath(name).parent) for name in names]
    if ending not in (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"):
        raise InvalidInput(f"{path} has no columns: use csv, tsv, jsonl or parquet, or a folder")
    with parsing(path, "table"):
        rows = _rows(path, ending, encoding)
    known = dict.fromkeys(name for row in rows for name in row)
    if column not in known:
        raise InvalidInput(
            f"{path} has no column {column!r}: choose one of {', '.join(map(str, known))}"
        )
    return ["" if row.get(column) is None else str(row[column]) for row in rows]


def _rows(path: Path, ending: str, encoding: str) -> list[dict[str, object]]:
    """The rows of a table by the names of its columns."""
    if ending == ".parquet":
        return list(read_parquet(path).to_pylist())
    if ending in (".jsonl", ".ndjson"):
        objects = [json.loads(line) for line in read_lines(path, encoding) if line.strip()]
        return [o if isinstance(o, dict) else {} for o in objects]
    text = decoded(path, read_bytes(path), "utf-8-sig" if encoding == "utf-8" else encoding)
    delimiter = "\t" if ending == ".tsv" else ","
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
