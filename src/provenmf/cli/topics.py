"""`provenmf topics`: the topics of a corpus; `rank` and `convert` read texts alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provenmf.cli import options
from provenmf.cli.analysis import Analysis
from provenmf.errors import InvalidInput

if TYPE_CHECKING:
    from provenmf.io import Counts

By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Show the topics by a column, such as a year or an author. A folder of texts has "
        "one column, named folder.",
    ),
]
NameColumn = Annotated[
    str | None,
    typer.Option(
        "--name-column",
        metavar="COLUMN",
        help="Column (csv) or field (json) with a name or title for each document.",
    ),
]
ReduceTo = Annotated[
    int | None,
    typer.Option(
        "--reduce-to", metavar="N", min=1, help="Merge the most similar topics until N are left."
    ),
]


def topics(
    data: Annotated[
        Path,
        typer.Argument(
            help="Texts: a folder (one document per file), txt (one per line), jsonl, json, csv, "
            "tsv, parquet. Or word counts: npz, npy, mtx, mat, h5ad."
        ),
    ],
    n_topics: Annotated[int | None, options.number_of("topics")] = None,
    method: options.Method = "spa",
    output: options.Output = None,
    tables: options.Tables = None,
    field: options.Field = "text",
    encoding: options.Encoding = "utf-8",
    vocabulary: options.Vocabulary = None,
    key: options.Key = None,
    min_documents: options.MinDocuments = 2,
    max_share: options.MaxShare = 0.5,
    stop_words: options.StopWords = "auto",
    skip_unreadable: options.SkipUnreadable = False,
    mail: options.Mail = False,
    by: By = None,
    name_column: NameColumn = None,
    reduce_to: ReduceTo = None,
    n_resamples: options.NResamples = 0,
    groups: options.Groups = None,
) -> None:
    """Find the topics of a collection of texts, with their words and example documents.

    Without -k, the number of topics is chosen from the data, and a note says how;
    "provenmf rank TEXTS" compares numbers. The methods spa (default), merit, xray,
    fast_anchor and fast_gradient use anchor words. Any other method, such as
    hals, factorizes documents x words.

    \b
    Examples:
      provenmf topics letters/ -k 10                      a folder of text files
      provenmf topics abstracts.txt -k 20                 one document per line
      provenmf topics posts.jsonl.xz -k 20 --field body --mail
      provenmf topics letters.csv -k 10 --by year         topics over time
      provenmf topics news.csv -k 10 --name-column title  titles in tables
      provenmf topics letters/ -k 30 --reduce-to 12       merge similar topics
      provenmf topics counts.npz --vocabulary words.txt -k 5
      provenmf topics posts.csv -k 8 --method spa -o spa.npz --json
    """
    analysis = Analysis("topics", locals(), vocabulary)
    source = {
        "field": field,
        "encoding": encoding,
        "skip_unreadable": skip_unreadable,
        "mail": mail,
    }
    check_first_text(data, vocabulary, source)
    from provenmf import confirm
    from provenmf.applications.topics import find_topics

    with analysis.reading() as progress:
        counts = read_corpus(
            data,
            key,
            vocabulary,
            progress.documents,
            source=source,
            words={
                "min_documents": min_documents,
                "max_share": max_share,
                "stop_words": read_stop_words(stop_words),
            },
        )
        periods = None if by is None else read_groups(data, by, counts, encoding)
        units = None if groups is None else read_groups(data, groups, counts, encoding)
        if name_column is not None:
            counts = replace(counts, names=read_groups(data, name_column, counts, encoding))
    documents = [counts]
    del counts
    with analysis.fitting(method, n_topics) as more:
        by_group = units is not None and more["evidence"]
        result = find_topics(
            documents.pop(),  # releases the counts of words that are left out
            n_topics,
            method=method,
            n_resamples=n_resamples,
            **more | {"evidence": more["evidence"] and not by_group},
        )
        if by_group:
            result = confirm(None, result, groups=units)
    if reduce_to is not None:
        result = result.reduced_to(reduce_to)
    if by is not None and periods is not None:
        result = result.grouped(periods, by)
    analysis.finish(result)


def check_first_text(path: Path, vocabulary: Path | None, source: dict[str, Any]) -> None:
    """Read the first text, so that a wrong field is noticed before anything slow is imported."""
    from provenmf.io.texts import TextFile, is_count_matrix

    if path.is_file() and not is_count_matrix(path, vocabulary):  # a pipe is read only once
        next(TextFile(path, **source).texts([], []), None)


def read_groups(path: Path, column: str, counts: Counts, encoding: str) -> list[str]:
    """Return a value for each document: of the column, or the lines of a file of this name."""
    from provenmf.io.texts import read_column

    if Path(column).is_file():
        return Path(column).read_text(encoding=encoding).splitlines()
    if counts.texts is None:
        raise InvalidInput(
            f"{path} holds counts, which have no column {column!r}: leave it out, or name a file"
        )
    return read_column(path, column, counts.names or (), encoding)


def read_corpus(
    path: Path,
    key: str | None,
    vocabulary: Path | None,
    progress: Callable[[int], None],
    *,
    source: dict[str, Any],
    words: dict[str, Any],
) -> Counts:
    """Return word counts from texts or from a matrix file, whichever the path holds."""
    from provenmf.applications.topics.corpus import counts_at
    from provenmf.applications.topics.texts import count_words
    from provenmf.io.texts import TextFile, is_count_matrix

    if is_count_matrix(path, vocabulary):
        return counts_at(path, vocabulary, key)
    return count_words(TextFile(path, **source), **words, n_jobs=n_processes(), progress=progress)


def n_processes() -> int:
    """Return how many processes count words: those asked for, or one for each core."""
    from provenmf.budget import available_threads, threads_of

    asked = options.shared().n_jobs
    return available_threads() if asked is None else threads_of(asked)


def read_stop_words(given: str) -> str | list[str] | None:
    """Return the name of a language, the words of a file, or nothing for "none"."""
    from provenmf.io import read_texts

    if given in ("none", "auto", *options.LANGUAGES):
        return None if given == "none" else given
    return [word for line in read_texts(Path(given)).texts for word in line.lower().split()]
