"""One column of a file of texts: a year, an author or the like for each document."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path, PurePath

from provenmf.errors import InvalidInput
from provenmf.io.files import decoded, existing, read_bytes, read_lines, without_compression
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
    if ending in (".jsonl", ".ndjson"):
        objects = [json.loads(line) for line in read_lines(path, encoding) if line.strip()]
        rows: list[dict[str, object]] = [o if isinstance(o, dict) else {} for o in objects]
    elif ending in (".csv", ".tsv"):
        text = decoded(path, read_bytes(path), "utf-8-sig" if encoding == "utf-8" else encoding)
        delimiter = "\t" if ending == ".tsv" else ","
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    elif ending == ".parquet":
        rows = read_parquet(path).to_pylist()
    else:
        raise InvalidInput(f"{path} has no columns: use csv, tsv, jsonl or parquet, or a folder")
    known = dict.fromkeys(name for row in rows for name in row)
    if column not in known:
        raise InvalidInput(
            f"{path} has no column {column!r}: choose one of {', '.join(map(str, known))}"
        )
    return ["" if row.get(column) is None else str(row[column]) for row in rows]
