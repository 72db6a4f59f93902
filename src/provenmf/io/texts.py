"""Read a corpus: documents as texts, or a ready matrix of word counts with its vocabulary."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.arrays import sparse_numbers
from provenmf.io.files import (
    decoded,
    existing,
    read_bytes,
    read_lines,
    stream_lines,
    without_compression,
)
from provenmf.io.mail import body_of
from provenmf.io.matrices import read_parquet, read_table
from provenmf.io.notes import counted

# One cell of a table may hold a whole book; the csv module's own limit is 128 KB.
LARGEST_CELL = 2**31 - 1


@dataclass(frozen=True)
class Corpus:
    """Documents as texts, each with a name; `notes` say what was left out."""

    texts: Sequence[str]
    names: Sequence[str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextFile:
    """Documents that stay in their file, or folder, and are read one after the other.

    Parameters
    ----------
    path, field, encoding, skip_unreadable
        As in `read_texts`.
    mail : bool, default False
        The texts are mails: what counts is what their author wrote.
    """

    path: Path
    field: str = "text"
    encoding: str = "utf-8"
    skip_unreadable: bool = False
    mail: bool = False

    def texts(self, names: list[str], notes: list[str]) -> Iterator[str]:
        """The texts as they are in the file; adds names and notes to the lists given."""
        options = {"field": self.field, "encoding": self.encoding}
        pairs = stream_texts(self.path, notes, **options, skip=self.skip_unreadable)
        for name, text in pairs:
            names.append(name)
            yield text

    def at(self, places: Iterable[int]) -> dict[int, str]:
        """The texts at some places, found by reading up to the last of them."""
        wanted = set(places)
        found: dict[int, str] = {}
        for place, text in enumerate(self.texts([], [])):
            if place in wanted:
                found[place] = body_of(text) if self.mail else text
                if len(found) == len(wanted):
                    break
        return found


@dataclass(frozen=True, eq=False)
class Counts:
    """Word counts (documents, words) with the vocabulary and, if known, the texts.

    The matrix is a scipy csr_array, or blocks of counts that are not in memory.
    """

    matrix: Any
    vocabulary: NDArray[np.str_]
    texts: Sequence[str] | TextFile | None = None
    names: Sequence[str] | None = None
    notes: tuple[str, ...] = ()


def read_texts(
    path: str | Path,
    *,
    field: str = "text",
    encoding: str = "utf-8",
    skip_unreadable: bool = False,
) -> Corpus:
    """Read documents.

    Parameters
    ----------
    path : a folder (each file a document), a text file (each line a document), `.jsonl` (each
        line an object with `field`), `.csv`, `.tsv` or `.parquet` (column `field`). Text files,
        jsonl, csv and tsv may be compressed (`.gz`, `.xz`).
    field : the field or column that holds the text.
    encoding : of text files.
    skip_unreadable : leave out files of a folder that are binary or in another encoding, and
        say so in `notes`, instead of raising an error.
    """
    notes: list[str] = []
    pairs = list(stream_texts(path, notes, field=field, encoding=encoding, skip=skip_unreadable))
    if not any(text.strip() for _, text in pairs):
        raise no_text(path)
    return Corpus([text for _, text in pairs], [name for name, _ in pairs], tuple(notes))


def no_text(path: str | Path) -> InvalidInput:
    """The error for a corpus without a word."""
    return InvalidInput(f"{path} holds no text: give a corpus with at least two documents")


def stream_texts(
    path: str | Path,
    notes: list[str],
    *,
    field: str = "text",
    encoding: str = "utf-8",
    skip: bool = False,
) -> Iterator[tuple[str, str]]:
    """Name and text of each document, read as they are asked for; see `read_texts`.

    What was left out is added to `notes`, as it is met. Parquet alone is read as a whole.
    """
    path = existing(path)
    ending = without_compression(path)
    if path.is_dir():
        return _from_folder(path, encoding, skip, notes)
    if ending in (".jsonl", ".ndjson"):
        return _from_jsonl(path, field, encoding)
    if ending in (".csv", ".tsv"):
        return _from_table(path, field, encoding, "\t" if ending == ".tsv" else ",")
    if ending == ".parquet":
        return _from_parquet(path, field)
    return _from_lines(path, encoding, notes)


def _from_lines(path: Path, encoding: str, notes: list[str]) -> Iterator[tuple[str, str]]:
    empty = 0
    for number, line in enumerate(stream_lines(path, encoding), 1):
        if line.strip():
            yield f"line {number}", line
        else:
            empty += 1
    if empty:
        notes.append(f"{counted(empty, 'empty line')} left out")


def _from_folder(
    folder: Path, encoding: str, skip: bool, notes: list[str]
) -> Iterator[tuple[str, str]]:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    for file in files:
        try:
            yield str(file.relative_to(folder)), decoded(file, read_bytes(file), encoding)
        except UnreadableFile as error:
            if skip:
                notes.append(f"left out: {error.problem}")
                continue
            if error.argument is not None:  # the encoding helps
                raise
            raise UnreadableFile(
                error.problem,
                argument="skip_unreadable",
                remedy="take it out of the folder, or skip such files with {argument=True}",
            ) from error


def _from_jsonl(path: Path, field: str, encoding: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(stream_lines(path, encoding), 1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UnreadableFile(
                f"{path}, line {number} is not JSON ({error}): put one object on each line"
            ) from error
        if not isinstance(content, dict) or not isinstance(content.get(field), str):
            fields = ", ".join(content) if isinstance(content, dict) else type(content).__name__
            raise InvalidInput(
                f"{path}, line {number} has no text in field {field!r}",
                argument="field",
                remedy=f"it has {fields}; name the right one, as in "
                f"{{argument={fields.split(', ')[0]!r}}}",
            )
        yield str(content.get("id", f"line {number}")), content[field]


def _from_table(path: Path, field: str, encoding: str, delimiter: str) -> Iterator[tuple[str, str]]:
    csv.field_size_limit(LARGEST_CELL)
    lines = stream_lines(path, "utf-8-sig" if encoding == "utf-8" else encoding, ends=True)
    rows = csv.DictReader(lines, delimiter=delimiter)
    try:
        if rows.fieldnames is None or field not in rows.fieldnames:
            raise _missing_column(path, field, rows.fieldnames or [])
        for number, row in enumerate(rows, 1):
            yield f"row {number}", row[field] or ""
    except csv.Error as error:
        raise UnreadableFile(f"{path}, row {rows.line_num} is not a table ({error})") from error


def _from_parquet(path: Path, field: str) -> Iterator[tuple[str, str]]:
    table = read_parquet(path)
    if field not in table.column_names:
        raise _missing_column(path, field, table.column_names)
    for number, value in enumerate(table[field].to_pylist(), 1):
        yield f"row {number}", "" if value is None else str(value)


def _missing_column(path: Path, field: str, columns: Iterable[str]) -> InvalidInput:
    return InvalidInput(
        f"{path} has no column {field!r}",
        argument="field",
        remedy=f"it has {', '.join(columns)}; name the one with the texts with {{argument}}",
    )


def read_counts(
    path: str | Path, vocabulary: str | Path | None = None, *, key: str | None = None
) -> Counts:
    """Read a matrix of word counts (documents, words) and its vocabulary, one word a line.

    Without a vocabulary the words are the names of the columns, as in a csv or h5ad file, or
    `word 0`, `word 1`, … if they have none. Names of the rows are those of the documents.
    """
    path = existing(path)
    table = read_table(path, key)
    words = table.column_names
    if vocabulary is not None:
        words = read_vocabulary(vocabulary)
    counts = as_counts(table.matrix, words, where=str(path), source=str(vocabulary))
    return replace(counts, names=table.row_names)


def read_vocabulary(path: str | Path) -> list[str]:
    """Words, one a line."""
    return [line.strip() for line in read_lines(existing(path)) if line.strip()]


def as_counts(
    matrix: object,
    vocabulary: Sequence[str] | None = None,
    *,
    where: str = "counts",
    source: str = "vocabulary",
) -> Counts:
    """Check word counts (documents, words) and put them with their vocabulary."""
    counts = sparse_numbers(matrix, where)
    if counts.nnz and counts.data.min() < 0:
        raise InvalidInput(f"{where} has negative entries: word counts are needed")
    return named_counts(counts, vocabulary, where=where, source=source)


def named_counts(
    counts: Any,
    vocabulary: Sequence[str] | None = None,
    *,
    where: str = "counts",
    source: str = "vocabulary",
) -> Counts:
    """Checked counts, in memory or not, with their vocabulary."""
    notes: tuple[str, ...] = ()
    if vocabulary is None:
        vocabulary = [f"word {number}" for number in range(counts.shape[1])]
        notes = ("no vocabulary was given: words are called by their column",)
    if len(vocabulary) != counts.shape[1]:
        raise InvalidInput(
            f"{source} has {len(vocabulary)} words but {where} has {counts.shape[1]} columns: "
            "give the vocabulary that belongs to the counts"
        )
    return Counts(counts, np.array(vocabulary, dtype=np.str_), notes=notes)
