"""Read a corpus: documents as texts, or a ready matrix of word counts with its vocabulary."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput, UnreadableFile, counted
from provenmf.io.files import existing, read_lines, read_text, stream_lines, without_compression
from provenmf.io.mail import body_of
from provenmf.io.matrices import read_parquet, read_table
from provenmf.linalg.storage import sparse_numbers

# One cell of a table may hold a whole book; the csv module's own limit is 128 KB.
LARGEST_CELL = 2**31 - 1
JSON_LINES = (".jsonl", ".ndjson")
RECORDS = (*JSON_LINES, ".json", ".csv", ".tsv", ".parquet")
FOLDER = "folder"
# A file with one of these endings holds counts, not texts.
COUNT_ENDINGS = (".npz", ".npy", ".mtx", ".mat", ".h5ad", ".mtx.gz")


@dataclass(frozen=True)
class Corpus:
    """Documents as texts, each with a name; `notes` say what was left out."""

    texts: Sequence[str]
    names: Sequence[str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextFile:
    """Documents that stay in their file, or folder, and are read one after the other.

    The fields are those of `read_texts`; with `mail` only what the author of a mail wrote counts.
    """

    path: Path
    field: str = "text"
    encoding: str = "utf-8"
    skip_unreadable: bool = False
    mail: bool = False

    def texts(self, names: list[str], notes: list[str]) -> Iterator[str]:
        """Yield the texts as they are in the file; add names and notes to the lists given.

        They are read as they are asked for; Parquet and `.json` as a whole.
        """
        path = existing(self.path)
        if path.is_dir():
            pairs = _from_folder(path, self.encoding, self.skip_unreadable, notes)
        elif without_compression(path) in RECORDS:
            pairs = _from_records(path, self.field, self.encoding)
        else:
            pairs = _from_lines(path, self.encoding, notes)
        for name, text in pairs:
            names.append(name)
            yield text

    def at(self, places: Iterable[int]) -> dict[int, str]:
        """Return the texts at some places, found by reading up to the last of them."""
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
        line an object with `field`), `.json` (an array of texts or of such objects), `.csv`, `.tsv`
        or `.parquet` (column `field`). All but parquet may be compressed (`.gz`, `.xz`).
    field : the field or column that holds the text.
    encoding : of text files.
    skip_unreadable : leave out files of a folder that are binary or in another encoding, and
        say so in `notes`, instead of raising an error.
    """
    names: list[str] = []
    notes: list[str] = []
    texts = list(TextFile(Path(path), field, encoding, skip_unreadable).texts(names, notes))
    if not any(text.strip() for text in texts):
        raise no_text(path)
    return Corpus(texts, names, tuple(notes))


def is_count_matrix(path: Path, vocabulary: Path | None = None) -> bool:
    """Return whether the path names a matrix of counts rather than texts."""
    return vocabulary is not None or path.name.lower().endswith(COUNT_ENDINGS)


def has_text_column(path: Path) -> bool:
    """Return whether a table has the column that texts are read from by default."""
    if not path.is_file() or without_compression(path) not in (".csv", ".tsv", ".parquet"):
        return False
    try:
        _, first = next(_stream_records(path, "utf-8"), ("", {}))
    except (InvalidInput, UnreadableFile):
        return False
    return TextFile.field in first


def no_text(path: str | Path) -> InvalidInput:
    """Return the error for a corpus without a word."""
    return InvalidInput(f"{path} holds no text: give a corpus with at least two documents")


def read_column(
    path: str | Path, column: str, names: Sequence[str], encoding: str = "utf-8"
) -> list[str]:
    """Return one column (csv, tsv, parquet) or field (json): a year, an author for each document.

    names : of the documents; those in a folder have one column, "folder": where each file is.
    """
    path = existing(path)
    if path.is_dir():
        if column != FOLDER:
            raise InvalidInput(
                f"{path} is a folder, whose only column is {FOLDER!r}, not {column!r}"
            )
        return [str(PurePath(name).parent) for name in names]
    if without_compression(path) not in RECORDS:
        raise InvalidInput(f"{path} has no columns: use csv, tsv, jsonl or parquet, or a folder")
    values, known = [], {}
    for _, record in _stream_records(path, encoding):
        fields = record if isinstance(record, dict) else {}
        known.update(dict.fromkeys(fields))
        values.append("" if fields.get(column) is None else str(fields[column]))
    if column not in known:
        raise InvalidInput(
            f"{path} has no column {column!r}: choose one of {', '.join(map(str, known))}"
        )
    return values


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
    for file in _files_in(folder):
        try:
            yield str(file.relative_to(folder)), read_text(file, encoding)
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


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders in order, without hidden ones."""
    with os.scandir(folder) as entries:
        found = sorted((each for each in entries if each.name[0] != "."), key=lambda e: e.name)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _files_in(Path(entry.path))
        elif entry.is_file():
            yield Path(entry.path)


def _from_records(path: Path, field: str, encoding: str) -> Iterator[tuple[str, str]]:
    """Yield one field of each record; a record that is a text itself is taken whole."""
    strict = without_compression(path) in (*JSON_LINES, ".json")
    for name, record in _stream_records(path, encoding):
        fields = record if isinstance(record, dict) else {}
        text = record if isinstance(record, str) else fields.get(field)
        if field not in fields and not isinstance(record, str) or strict and type(text) is not str:
            fields = {name: value for name, value in fields.items() if name}
            has = ", ".join(map(str, fields)) or f"no fields but is a {type(record).__name__}"
            other = max(fields, key=lambda known: len(str(fields[known])), default="text")
            what = f"{path}: {name!r} has no text in field" if strict else f"{path} has no column"
            raise InvalidInput(
                f"{what} {field!r}",
                argument="field",
                remedy=f"it has {has}; name the one with the texts, as in {{argument={other!r}}}",
            )
        yield name, "" if text is None else str(text)


def _stream_records(path: Path, encoding: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the fields of each row of a table, line of jsonl, or item of an array."""
    ending = without_compression(path)
    if ending in JSON_LINES:
        lines = enumerate(stream_lines(path, encoding), 1)
        for number, line in lines:
            if line.strip():
                yield _named(f"line {number}", _json(path, line, f"line {number}"))
    elif ending == ".json":
        items = _json(path, read_text(path, encoding), "the file")
        if not isinstance(items, list):
            raise UnreadableFile(
                f"{path} is not an array: give an array of texts, or one object per line as .jsonl"
            )
        for number, item in enumerate(items, 1):
            yield _named(f"item {number}", item)
    elif ending == ".parquet":
        for number, row in enumerate(read_parquet(path).to_pylist(), 1):
            yield f"row {number}", row
    else:
        yield from _table_rows(path, encoding, ending)


def _named(name: str, record: Any) -> tuple[str, Any]:
    return str(record["id"]) if isinstance(record, dict) and "id" in record else name, record


def _json(path: Path, text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = "put one object on each line" if place != "the file" else "save it again"
        raise UnreadableFile(f"{path}, {place} is not JSON ({error}): {remedy}") from error


def _table_rows(path: Path, encoding: str, ending: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a csv or tsv file; the delimiter is the one that its header has most of."""
    csv.field_size_limit(LARGEST_CELL)
    lines = stream_lines(path, "utf-8-sig" if encoding == "utf-8" else encoding, ends=True)
    header = next(lines, "")
    delimiter = "\t" if ending == ".tsv" else max(",;\t|", key=header.count)
    rows = csv.DictReader(chain([header], lines), delimiter=delimiter)
    try:
        for number, row in enumerate(rows, 1):
            yield f"row {number}", row
    except csv.Error as error:
        raise UnreadableFile(f"{path}, row {rows.line_num} is not a table ({error})") from error


def read_counts(
    path: str | Path, vocabulary: str | Path | None = None, *, key: str | None = None
) -> Counts:
    """Read a matrix of word counts (documents, words) and its vocabulary, one word a line.

    Without a vocabulary the words are the names of the columns, as in a csv or h5ad file, or
    `word 0`, `word 1`, … if they have none. Names of the rows are those of the documents.
    """
    path = existing(path)
    table = read_table(path, key)
    words = table.column_names if vocabulary is None else read_vocabulary(vocabulary)
    counts = as_counts(table.matrix, words, where=str(path), source=str(vocabulary))
    return replace(counts, names=table.row_names)


def read_vocabulary(path: str | Path) -> list[str]:
    """Return the words of a file, one a line."""
    return [line.strip() for line in read_lines(existing(path)) if line.strip()]


def as_counts(
    matrix: object,
    vocabulary: Sequence[str] | None = None,
    *,
    where: str = "counts",
    source: str = "vocabulary",
) -> Counts:
    """Validate word counts (documents, words) and join them with their vocabulary."""
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
    """Join validated counts with their vocabulary."""
    notes: tuple[str, ...] = ()
    vocabulary = by_column(vocabulary)
    sequence = isinstance(vocabulary, Collection) and getattr(vocabulary, "ndim", 1) == 1
    if isinstance(vocabulary, str) or not (sequence or vocabulary is None):
        raise InvalidInput(
            "must be a list of words, one for each column", argument="vocabulary", value=vocabulary
        )
    if vocabulary is None:
        vocabulary = [f"word {number}" for number in range(counts.shape[1])]
        notes = ("no vocabulary was given: words are called by their column",)
    if len(vocabulary) != counts.shape[1]:
        raise InvalidInput(
            f"{source} has {len(vocabulary)} words but {where} has {counts.shape[1]} columns: "
            "give the vocabulary that belongs to the counts"
        )
    return Counts(counts, np.array(vocabulary, dtype=np.str_), notes=notes)


def by_column(vocabulary: Any) -> Any:
    """Return the words of a dict, as scikit-learn's `vocabulary_`, by their columns."""
    if not isinstance(vocabulary, Mapping):
        return vocabulary
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise InvalidInput("vocabulary is a dict whose values are not the columns 0, 1, …")
    return sorted(map(str, vocabulary), key=vocabulary.__getitem__)
