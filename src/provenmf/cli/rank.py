"""`provenmf rank`: the evidence for each number of components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provenmf.cli import options
from provenmf.cli.progress import reading
from provenmf.errors import InvalidInput
from provenmf.progress import Progress

if TYPE_CHECKING:
    from provenmf.advice.choose_rank import RankChoice

LONGEST_RANK = 6  # digits


def rank(
    data: Annotated[
        Path, typer.Argument(help="Matrix: npy, npz, csv, tsv, mtx, mat, parquet, h5ad.")
    ],
    ranks: Annotated[
        str | None,
        typer.Option(
            "--ranks", metavar="LIST", help="Numbers to compare: 2-12, or 3,5,8. Default: 1-10."
        ),
    ] = None,
    repeats: Annotated[
        int,
        typer.Option(
            "--repeats", metavar="N", help="Fits to random subsets of the rows, for each number."
        ),
    ] = 6,
    key: options.Key = None,
    transpose: options.Transpose = False,
    seed: options.Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write the table and the charts to a page (.html).",
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Show the evidence for each number of components, and the range it supports.

    For each number: the error of a fit and the least possible error, the error
    on held-out entries, and whether fits to random subsets of the rows find the
    same components again. Singular values are compared with noise.
    Large data are judged on a sample. Empty cells of a table are missing entries.

    \b
    Examples:
      provenmf rank table.csv
      provenmf rank counts.npz --ranks 2-20 -o counts-rank.html
      provenmf rank spectra.mat --key Y --transpose --json
    """  # fmt: skip
    from provenmf import choose_rank
    from provenmf.cli.fit import read_data
    from provenmf.cli.outcome import text_width
    from provenmf.io.records import strict_json

    numbers = None if ranks is None else parse_ranks(ranks)
    if output is not None:
        _check_page(output, force)
    with reading(data):
        matrix = read_data(data, key=key, transpose=transpose, missing=True).matrix
    with Progress(f"Comparing numbers of components of {data.name}") as progress:

        def done(finished: int, total: int) -> None:
            progress.steps = total
            progress.reach(finished)

        found = choose_rank(matrix, numbers, repeats=repeats, random_state=seed, progress=done)
    if output is not None:
        write_page(found, data, output)
    if as_json:
        typer.echo(strict_json(found.to_dict()))
        return
    typer.echo(found.text(text_width()))
    if output is not None:
        typer.echo(f"Page written to {output}")


def parse_ranks(text: str) -> list[int]:
    """Numbers from "2-12" or "3,5,8" or both."""
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        low, _, high = part.partition("-")
        if not low.isdecimal() or (high and not high.isdecimal()):
            raise InvalidInput(f"--ranks {text} is not a list of numbers: write 2-12 or 3,5,8")
        if max(len(low), len(high)) > LONGEST_RANK:
            raise InvalidInput(f"--ranks {text} has numbers that are too large: use smaller ones")
        numbers += range(int(low), int(high or low) + 1)
    return numbers


def _check_page(output: Path, force: bool) -> None:
    from provenmf.cli.target import PAGE_ENDINGS, refuse_overwriting
    from provenmf.io.output import check_writable

    if output.suffix.lower() not in PAGE_ENDINGS:
        raise InvalidInput(f"--output {output} must be an HTML page: end it in .html")
    if not force:
        refuse_overwriting(output)
    check_writable(output)


def write_page(found: RankChoice, data: Path, path: Path) -> None:
    """The table and the curves as one HTML file."""
    from provenmf import __version__
    from provenmf.cli.outcome import origin_of
    from provenmf.io import write_aside
    from provenmf.report.elements import Chart, Element, Paragraph, Tab, Table
    from provenmf.report.figures import Lines
    from provenmf.report.page import Top, origin_rows, page

    said = [
        (w.name, "-" if w.n_components is None else str(w.n_components), w.reason)
        for w in found.criteria
    ]
    elements: list[Element] = [
        Table("What each kind of evidence says", ("evidence", "number", "why"), said),
        *(Paragraph(f"{note}.", "note") for note in found.notes),
    ]
    for label, curves in found.curves().items():
        lines = Lines(curves, "number of components", label, dotted=("floor",))
        elements.append(Chart(label[:1].upper() + label[1:], lines))
    table = Table("The evidence for each number", found.header(), found.rows(), unbroken=True)
    elements.append(table)
    tone = "note" if found.n_components is None else "good"
    text = page(
        f"Number of components of {data.name}",
        [Tab("rank", "Evidence", elements)],
        Top(origin_rows(origin_of(data), __version__), verdict=[found.verdict], tone=tone),
    )
    write_aside(path, lambda file: file.write(text.encode(errors="replace")))
