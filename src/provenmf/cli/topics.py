"""`provenmf topics`: the topics of a corpus; `rank` and `convert` read texts alike."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.analysis import Analysis, read_column
from provenmf.cli.options import option


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
    field: options.Field = "text",
    encoding: Annotated[
        str, option("--encoding NAME", "Character encoding of the text files.")
    ] = "utf-8",
    vocabulary: options.Vocabulary = None,
    min_documents: Annotated[
        int,
        option("--min-documents N", "Ignore words that occur in fewer than N documents.", min=1),
    ] = 2,
    max_share: Annotated[
        float,
        option("--max-share SHARE", "Ignore words in more than this share of the documents."),
    ] = 0.5,
    stop_words: options.StopWords = "auto",
    mail: options.Mail = False,
    by: Annotated[
        str | None,
        option(
            "--by COLUMN",
            "Show the topics by a column, such as a year or an author. A folder of texts has one "
            "column, named folder.",
        ),
    ] = None,
    name_column: Annotated[
        str | None,
        option(
            "--name-column COLUMN",
            "Column (csv) or field (json) with a name or title for each document.",
        ),
    ] = None,
    reduce_to: Annotated[
        int | None,
        option("--reduce-to N", "Merge the most similar topics until N are left.", min=1),
    ] = None,
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
    analysis = Analysis(data, vocabulary)
    from provenmf.io.texts import TextFile, is_count_matrix

    texts = None
    if not is_count_matrix(data, vocabulary):
        texts = TextFile(data, field, encoding, mail=mail)
        if data.is_file():  # a pipe is read only once
            # Notice a wrong field before anything slow is imported.
            next(texts.texts([], []), None)
    from provenmf.applications.topics.corpus import counts_at
    from provenmf.applications.topics.texts import count_words

    with analysis.reading() as progress:
        if texts is None:
            counts = counts_at(data, vocabulary, options.shared().key)
        else:
            counts = count_words(
                texts,
                min_documents=min_documents,
                max_share=max_share,
                stop_words=read_stop_words(stop_words),
                n_jobs=n_processes(),
                progress=progress.documents,
            )
        of_documents = partial(read_column, data, names=counts.names or (), encoding=encoding)
        periods = None if by is None else of_documents(by)
        units = None if groups is None else of_documents(groups)
        if name_column is not None:
            counts = replace(counts, names=of_documents(name_column))
    from provenmf import confirm
    from provenmf.applications.topics import find_topics

    documents = [counts]
    del counts
    with analysis.fitting(method, n_topics) as more:
        by_group = units is not None and more["evidence"]
        result = find_topics(
            documents.pop(),  # releases the counts of words that are left out
            n_topics,
            method=method,
            **more | {"evidence": more["evidence"] and not by_group},
        )
        if by_group:
            result = confirm(None, result, groups=units)
    if reduce_to is not None:
        result = result.reduced_to(reduce_to)
    if by is not None and periods is not None:
        result = result.grouped(periods, by)
    analysis.finish(result)


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
