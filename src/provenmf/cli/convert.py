"""`provenmf convert`: a matrix or texts as rows on disk, which are read block by block."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.analysis import naming
from provenmf.cli.messages import say
from provenmf.cli.target import check_output
from provenmf.cli.topics import n_processes, read_stop_words
from provenmf.errors import printable
from provenmf.io.files import existing, without_compression
from provenmf.progress import Progress

TEXTS = (".jsonl", ".ndjson", ".json")


def convert(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="Matrix: mtx, csv, tsv, txt, h5ad, npz, npy, mat, parquet. Texts: json, jsonl or "
            "a folder; with --texts also txt, csv, tsv, parquet.",
        ),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Sparse rows (.npz) or dense rows (.npy).")
    ],
    key: options.Key = None,
    texts: Annotated[
        bool,
        typer.Option("--texts", metavar="", help="IN holds texts; count their words."),
    ] = False,
    field: options.Field = "text",
    encoding: options.Encoding = "utf-8",
    min_documents: options.MinDocuments = 2,
    max_share: options.MaxShare = 0.5,
    stop_words: options.StopWords = "auto",
    skip_unreadable: options.SkipUnreadable = False,
    mail: options.Mail = False,
) -> None:
    """Convert a matrix or texts to a file that fit and topics can read block by block.

    IN is read once, piece by piece, so it can be larger than memory; only mat,
    parquet and compressed npz files are read as a whole. From texts, words are
    counted. OUT is written completely or not at all. The .npz format is that of
    scipy.sparse.save_npz without compression.

    \b
    Examples:
      provenmf convert genes.mtx genes.npz
      provenmf convert cells.h5ad cells.npz --key counts
      provenmf convert table.csv.gz table.npy
      provenmf convert posts.jsonl.xz posts.npz --field body
    """
    data = existing(data)
    check_output(output, (".npz", ".npy"), "OUT", data)
    with naming(data), Progress(f"Reading {printable(data.name)}") as progress:
        if texts or data.is_dir() or without_compression(data) in TEXTS:
            from provenmf.applications.topics.texts import write_counts
            from provenmf.io import TextFile

            n_rows, stored = write_counts(
                TextFile(data, field, encoding, skip_unreadable, mail),
                output,
                min_documents=min_documents,
                max_share=max_share,
                stop_words=read_stop_words(stop_words),
                n_jobs=n_processes(),
                progress=progress.documents,
            )
        else:
            from provenmf.io.rows import convert as convert_matrix

            n_rows, stored = convert_matrix(data, output, key=key)
    say(f"{n_rows:,} rows with {stored:,} entries written to {output}")
