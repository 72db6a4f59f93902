"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.errors import InvalidInput

Rank = Annotated[
    int | None,
    typer.Option("--rank", "-k", min=1, help="How many components. Without it: found out."),
]
Method = Annotated[
    str,
    typer.Option("--method", "-m", help="merit, spa, xray, fast_anchor, and_descent, cones, …"),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Result file (.npz). The report stands beside it."),
]
Report = Annotated[
    bool, typer.Option("--report/--no-report", help="Write the HTML report beside the result.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON on standard output.")]
Seed = Annotated[int, typer.Option("--seed", help="Start of the random numbers.")]
Certify = Annotated[
    bool, typer.Option("--certify/--no-certify", help="Compute what is guaranteed.")
]
Key = Annotated[
    str | None,
    typer.Option("--key", help="Name of the array in a file that holds several (npz, mat)."),
]
Vocabulary = Annotated[
    Path | None,
    typer.Option("--vocabulary", help="Words of a count matrix, one a line."),
]
Field = Annotated[
    str, typer.Option("--field", help="Field of jsonl, or column of csv, that holds the text.")
]
MaxIter = Annotated[int | None, typer.Option("--max-iter", min=1, help="Most iterations allowed.")]
Shape = Annotated[
    str | None, typer.Option("--shape", help="Rows x columns of the image, such as 95x95.")
]


def parse_shape(text: str | None) -> tuple[int, int] | None:
    """Rows and columns from "95x95"."""
    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) != 2 or not all(side.strip().isdigit() and int(side) > 0 for side in sides):
        raise InvalidInput(f"--shape {text} is not rows x columns: write it like 95x95")
    return int(sides[0]), int(sides[1])


def default_output(data: Path) -> Path:
    """The result file in the current folder, named after the data."""
    return Path(f"{data.resolve().name.split('.')[0] or 'data'}-result.npz")
