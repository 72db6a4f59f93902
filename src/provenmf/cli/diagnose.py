"""`provenmf diagnose`: before a fit, how many components, and whose theory applies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.progress import reading
from provenmf.progress import Progress


def diagnose(
    data: Annotated[
        Path, typer.Argument(help="Matrix: npy, npz, csv, tsv, mtx, mat, parquet, h5ad.")
    ],
    rank: options.Rank = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="NAMES", help="Methods to try, separated by commas."),
    ] = None,
    key: options.Key = None,
    transpose: options.Transpose = False,
    as_json: options.Json = False,
) -> None:
    """Show how many components the data support, and which method is backed by its theory.

    It tries every method, so it takes as long as all of them together.

    \b
    Examples:
      provenmf diagnose table.csv
      provenmf diagnose counts.npz -k 10 --methods spa,merit
    """
    from provenmf.advice.diagnose import advised_methods
    from provenmf.advice.diagnose import diagnose as diagnose_matrix
    from provenmf.cli.fit import read_data
    from provenmf.cli.outcome import text_width
    from provenmf.io.records import strict_json

    with reading(data):
        matrix = read_data(data, key=key, transpose=transpose).matrix
    names = None if methods is None else methods.replace(",", " ").split()
    with Progress(f"Trying {', '.join(names or advised_methods())} on {data.name}"):
        diagnosis = diagnose_matrix(matrix, rank, methods=names)
    typer.echo(strict_json(diagnosis.to_dict()) if as_json else diagnosis.text(text_width()))
