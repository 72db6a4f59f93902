"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.errors import InvalidInput
from provenmf.estimators import CATALOGUE

Rank = Annotated[
    int | None,
    typer.Option("--rank", "-k", metavar="K", help="How many components. Left out: found out."),
]
KnownRank = Annotated[int, typer.Option("--rank", "-k", metavar="K", help="How many components.")]
Method = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help=f"{', '.join(CATALOGUE)}.")
]
AnyMethod = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help=f"auto, {', '.join(CATALOGUE)}.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Result (.npz); the report stands beside it."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing result and report.")]
Csv = Annotated[
    Path | None,
    typer.Option("--csv", metavar="DIR", help="Also write the answer as CSV tables into DIR."),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write the HTML report.")]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
Seed = Annotated[int, typer.Option("--seed", metavar="NUMBER", help="Start of the random numbers.")]
NoCertify = Annotated[bool, typer.Option("--no-certify", help="Do not compute what is guaranteed.")]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="NAME", help="Array in a file with several (npz, mat)."),
]
Transpose = Annotated[
    bool, typer.Option("--transpose", help="Data points are the columns of the file.")
]
Vocabulary = Annotated[
    Path | None,
    typer.Option("--vocabulary", metavar="FILE", help="Words of a count matrix, one a line."),
]
Field = Annotated[
    str,
    typer.Option("--field", metavar="NAME", help="Field of jsonl, column of csv, with the text."),
]
Mail = Annotated[bool, typer.Option("--mail", help="Mails: drop header, quotations and signature.")]
MaxIter = Annotated[
    int | None, typer.Option("--max-iter", metavar="N", help="Most iterations allowed.")
]
Shape = Annotated[
    str | None, typer.Option("--shape", metavar="RxC", help="Size of the image, such as 95x95.")
]


def parse_shape(text: str | None) -> tuple[int, int] | None:
    """Rows and columns from "95x95"."""
    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdigit() and int(side) > 0 for side in sides):
        raise InvalidInput(f"--shape {text} is not rows x columns: write it like 95x95")
    return int(sides[0]), int(sides[1])
