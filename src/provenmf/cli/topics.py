"""`provenmf topics`: the topics of a corpus, with anchor words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provenmf.cli import options
from provenmf.cli.checkpoint import command_checkpoint
from provenmf.cli.outcome import finish
from provenmf.cli.progress import fitting, reading
from provenmf.cli.target import plan

if TYPE_CHECKING:
    from provenmf.io import Counts

Data = Annotated[
    Path,
    typer.Argument(
        help="Texts: a folder (one document per file), txt (one per line), jsonl, csv, tsv, "
        "parquet. Or word counts: npz, npy, mtx, mat, h5ad."
    ),
]
Features = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="NAME",
        help="counts, or tf-idf as in Nguyen et al. 2022. Only for methods with anchor words.",
    ),
]
Encoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="Character encoding of the text files."),
]
MinDocuments = Annotated[
    int,
    typer.Option(
        "--min-documents", metavar="N", help="Ignore words that occur in fewer than N documents."
    ),
]
MaxShare = Annotated[
    float,
    typer.Option(
        "--max-share",
        metavar="SHARE",
        help="Ignore words that occur in more than this share of the documents.",
    ),
]
MaxWords = Annotated[
    int | None,
    typer.Option("--max-words", metavar="N", help="Keep only the N most frequent words."),
]
StopWords = Annotated[
    str,
    typer.Option(
        "--stop-words",
        metavar="WORDS",
        help="english, german, french, spanish, italian, portuguese, dutch, none, or a file "
        "with one word per line.",
    ),
]
SkipUnreadable = Annotated[
    bool,
    typer.Option("--skip-unreadable", metavar="", help="Skip files in a folder that are not text."),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Show the topics by a column, such as a year or an author. A folder of texts has "
        "one column, named folder.",
    ),
]
ReduceTo = Annotated[
    int | None,
    typer.Option(
        "--reduce-to", metavar="N", min=1, help="Merge the most similar topics until N are left."
    ),
]


def topics(
    data: Data,
    rank: options.Rank = None,
    method: options.Method = "spa",
    features: Features = "counts",
    output: options.Output = None,
    field: options.Field = "text",
    encoding: Encoding = "utf-8",
    vocabulary: options.Vocabulary = None,
    key: options.Key = None,
    min_documents: MinDocuments = 2,
    max_share: MaxShare = 0.5,
    max_words: MaxWords = None,
    stop_words: StopWords = "english",
    skip_unreadable: SkipUnreadable = False,
    mail: options.Mail = False,
    memory: options.Memory = None,
    jobs: options.TextJobs = None,
    by: By = None,
    reduce_to: ReduceTo = None,
    resamples: options.Resamples = 0,
    max_iter: options.MaxIter = None,
    seed: options.Seed = 0,
    checkpoint: options.CheckpointFolder = None,
    checkpoint_seconds: options.CheckpointSeconds = 30.0,
    no_certify: options.NoCertify = False,
    no_report: options.NoReport = False,
    csv: options.Csv = None,
    frame: options.Frame = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find the topics of a collection of texts, with their words and example documents.

    Topics are found from anchor words: words that occur in one topic only.
    The methods spa (default), merit, xray, fast_anchor and fast_gradient use
    anchor words. Any other method, such as hals, factorizes documents x words.
    Without -k, the number of topics is chosen from the data.

    \b
    Examples:
      provenmf topics letters/ -k 10                      a folder of text files
      provenmf topics abstracts.txt -k 20                 one document per line
      provenmf topics posts.jsonl.xz -k 20 --field body --mail
      provenmf topics letters.csv -k 10 --by year         topics over time
      provenmf topics letters/ -k 30 --reduce-to 12       merge similar topics
      provenmf topics counts.npz --vocabulary words.txt -k 5
      provenmf topics posts.csv -k 8 --method spa -o spa.npz --json
    """
    kept = command_checkpoint("topics", locals())
    from provenmf import find_topics, resources

    target = plan(
        output, data, vocabulary, with_report=not no_report, tables=csv, frames=frame, force=force
    )
    with resources(memory=memory, n_jobs=jobs), reading(data) as progress:
        counts = read_corpus(
            data,
            field=field,
            encoding=encoding,
            vocabulary=vocabulary,
            key=key,
            min_documents=min_documents,
            max_share=max_share,
            max_words=max_words,
            stop_words=stop_words,
            skip_unreadable=skip_unreadable,
            mail=mail,
            n_jobs=options.number_of_jobs(jobs),
            progress=progress.documents,
        )
        groups = None if by is None else read_groups(data, by, counts, encoding)
    documents = [counts]
    del counts
    limits = resources(memory=memory, n_jobs=jobs)
    with kept, limits, fitting(data, method, rank, max_iter) as fit:
        result = find_topics(
            documents.pop(),  # nobody else holds the counts of words that are left out
            rank,
            method=method,
            features=features,
            n_resamples=resamples,
            random_state=seed,
            certify=not no_certify,
            **fit.options,
        )
    if reduce_to is not None:
        result = result.reduced_to(reduce_to)
    if by is not None and groups is not None:
        result = result.grouped(groups, by)
    finish(result, target, as_json=as_json)


def read_groups(path: Path, column: str, counts: Counts, encoding: str) -> list[str]:
    """A value of the column for each document."""
    from provenmf.errors import InvalidInput
    from provenmf.io.texts import read_column

    if counts.texts is None:
        raise InvalidInput(f"{path} holds counts, which have no column {column!r}: leave out --by")
    return read_column(path, column, counts.names or (), encoding)


def read_corpus(
    path: Path,
    *,
    field: str,
    encoding: str,
    vocabulary: Path | None,
    key: str | None,
    min_documents: int,
    max_share: float,
    max_words: int | None,
    stop_words: str,
    skip_unreadable: bool,
    mail: bool,
    n_jobs: int,
    progress: Callable[[int], None],
) -> Counts:
    """Word counts from texts or from a matrix file, whichever the path holds."""
    from provenmf.applications.topics.given import counts_at, is_count_matrix
    from provenmf.applications.topics.texts import count_words
    from provenmf.io import TextFile

    if is_count_matrix(path, vocabulary):
        return counts_at(path, vocabulary, key)
    return count_words(
        TextFile(path, field, encoding, skip_unreadable, mail),
        min_documents=min_documents,
        max_share=max_share,
        max_words=max_words,
        stop_words=read_stop_words(stop_words),
        n_jobs=n_jobs,
        progress=progress,
    )


def read_stop_words(given: str) -> str | list[str] | None:
    """The name of a language, the words of a file, or nothing for "none"."""
    from provenmf.applications.topics.languages import LANGUAGES
    from provenmf.errors import InvalidInput
    from provenmf.io import read_texts

    if given == "none" or given in LANGUAGES:
        return None if given == "none" else given
    if not Path(given).exists():
        raise InvalidInput(
            "is neither a language nor a file",
            argument="stop_words",
            value=given,
            remedy=f"choose {', '.join(LANGUAGES)}, none, or a file with one word per line",
        )
    return [word for line in read_texts(Path(given)).texts for word in line.lower().split()]
