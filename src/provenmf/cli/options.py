"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.budget import available_threads, threads_of
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE


def at_least_one(number: int | None) -> int | None:
    """A number of components that there can be."""
    if number is not None and number < 1:
        raise InvalidInput("must be at least 1", argument="n_components", value=number)
    return number


Rank = Annotated[
    int | None,
    typer.Option(
        "--rank",
        "-k",
        metavar="K",
        callback=at_least_one,
        help="Number of components. If omitted, chosen if the data are clear about it.",
    ),
]
KnownRank = Annotated[
    int,
    typer.Option("--rank", "-k", metavar="K", callback=at_least_one, help="Number of components."),
]
Method = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help=f"One of {', '.join(CATALOGUE)}.")
]
AnyMethod = Annotated[
    str,
    typer.Option("--method", "-m", metavar="NAME", help=f"One of auto, {', '.join(CATALOGUE)}."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Result file (.npz). The report gets the same name with .html.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", metavar="", help="Overwrite existing output files.")
]
Csv = Annotated[
    Path | None,
    typer.Option("--csv", metavar="DIR", help="Also write the result as CSV tables to DIR."),
]
Frame = Annotated[
    Path | None,
    typer.Option("--frame", metavar="DIR", help="Also write the tables as Parquet files to DIR."),
]
NoReport = Annotated[
    bool, typer.Option("--no-report", metavar="", help="Do not write the HTML report.")
]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="NUMBER", help="Random seed.")]
NoCertify = Annotated[
    bool,
    typer.Option("--no-certify", metavar="", help="Do not compute the certificate."),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="NAME",
        help="Name of the array, if the file holds several (npz, mat), or of a layer (h5ad).",
    ),
]
Transpose = Annotated[
    bool, typer.Option("--transpose", metavar="", help="Data points are columns, not rows.")
]
Vocabulary = Annotated[
    Path | None,
    typer.Option("--vocabulary", metavar="FILE", help="The words of a count matrix, one per line."),
]
Field = Annotated[
    str,
    typer.Option(
        "--field", metavar="NAME", help="Field (jsonl) or column (csv) that holds the text."
    ),
]
Mail = Annotated[
    bool,
    typer.Option(
        "--mail",
        metavar="",
        help="Texts are emails: remove headers, quotations, attachments and signatures.",
    ),
]
MaxIter = Annotated[
    int | None, typer.Option("--max-iter", metavar="N", help="Maximum number of iterations.")
]
CheckpointFolder = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Save the state to DIR; running the same command again resumes from there.",
    ),
]
CheckpointSeconds = Annotated[
    float,
    typer.Option(
        "--checkpoint-seconds",
        metavar="S",
        help="Seconds between checkpoints. 0 saves after every iteration.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory budget, such as 2GB. A fit that needs more is refused before it starts.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Number of threads. Default: one per core (-1).",
    ),
]
TextJobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Number of cores. Default: all (-1). Texts are counted in this many processes; "
        "everything else runs in this many threads.",
    ),
]
Resamples = Annotated[
    int,
    typer.Option(
        "--resamples",
        metavar="N",
        help="Compute standard errors from N resamples of the data. 0 means none.",
    ),
]
Shape = Annotated[
    str | None, typer.Option("--shape", metavar="RxC", help="Size of the image, such as 95x95.")
]


def parse_shape(text: str | None) -> tuple[int, int] | None:
    """Rows and columns from "95x95"."""
    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdecimal() and int(side) > 0 for side in sides):
        raise InvalidInput(f"--shape {text} is not rows x columns: write it like 95x95")
    return int(sides[0]), int(sides[1])


def number_of_jobs(jobs: int | None) -> int:
    """Processes to use: those asked for, or one for each core."""
    return available_threads() if jobs is None else threads_of(jobs)
