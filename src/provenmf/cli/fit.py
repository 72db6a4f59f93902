"""`provenmf fit`: factorize any matrix file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provenmf.cli import options
from provenmf.cli.outcome import finish
from provenmf.cli.progress import fitting, reading
from provenmf.cli.target import plan

if TYPE_CHECKING:
    from provenmf.io import Table
    from provenmf.results import Factorization


def fit(
    data: Annotated[
        Path, typer.Argument(help="Matrix: npy, npz, csv, tsv, mtx, mat, parquet, h5ad.")
    ],
    rank: options.Rank = None,
    method: options.AnyMethod = "auto",
    output: options.Output = None,
    key: options.Key = None,
    transpose: options.Transpose = False,
    known: Annotated[
        Path | None,
        typer.Option(
            "--known",
            metavar="FILE",
            help="Known components, one per row. They stay fixed (hals and anls only).",
        ),
    ] = None,
    max_iter: options.MaxIter = None,
    seed: options.Seed = 0,
    checkpoint: options.CheckpointFolder = None,
    checkpoint_seconds: options.CheckpointSeconds = 30.0,
    memory: options.Memory = None,
    jobs: options.Jobs = None,
    no_certify: options.NoCertify = False,
    no_report: options.NoReport = False,
    csv: options.Csv = None,
    frame: options.Frame = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Factorize any matrix: rows are data points, X ≈ weights × components.

    The method auto uses hals. It uses cones or spa instead if all conditions of
    their theory hold and they fit as well. A note says which one and why.
    Matrices in .npy files, and in .npz files written by convert, are read block
    by block, unless the method needs the whole matrix, as fast_gradient does.
    Empty cells of a table are missing entries (hals and anls only).
    Ctrl-C stops an iterative method early and keeps the best result so far. A
    second Ctrl-C skips the certificate.

    \b
    Examples:
      provenmf fit counts.csv -k 10
      provenmf fit genes.mtx -k 8 --method and_descent -o genes-8.npz
      provenmf fit spectra.mat --key Y --transpose -k 3 --method spa
      provenmf fit big.npy -k 20 --method spa --no-report --json
    """
    from provenmf import Checkpoint, factorize, resources
    from provenmf.data import Blocks
    from provenmf.io import read_table
    from provenmf.methods import estimator_class

    target = plan(output, data, with_report=not no_report, tables=csv, frames=frame, force=force)
    missing = method == "auto" or estimator_class(method).traits.missing_values
    with reading(data), resources(memory=memory):  # the size of blocks follows from it
        table = read_data(data, key=key, transpose=transpose, missing=missing)
        more = {} if known is None else {"fixed_components": read_table(known).matrix}
    with fitting(data, method, rank, max_iter) as fit:
        if isinstance(table.matrix, Blocks):
            table.matrix.progress = fit.progress.rows_read
        result = factorize(
            table.matrix,
            rank,
            method=method,
            random_state=seed,
            certify=not no_certify,
            checkpoint=Checkpoint(checkpoint, checkpoint_seconds) if checkpoint else None,
            memory=memory,
            n_jobs=jobs,
            **more,
            **fit.options,
        )
    result = described(result, table, transposed=transpose)
    finish(result, target, as_json=as_json)


def described(result: Factorization, table: Table, *, transposed: bool) -> Factorization:
    """The result with the names of the table, and a hint if its columns may be the data points."""
    from provenmf.advice.diagnose import turned_note

    names: dict[str, Any] = table.names
    hint = turned_note(table.matrix.shape)
    notes = result.notes if transposed or not hint else (*result.notes, hint)
    return replace(result, **names, notes=notes)


def read_data(
    path: Path, *, key: str | None = None, transpose: bool = False, missing: bool = False
) -> Table:
    """A matrix from a file; .npy and sparse rows in .npz stay on disk and are seen as blocks.

    With `missing`, empty cells of a table are NaN.
    """
    from provenmf.data import as_blocks
    from provenmf.io import Table, read_table
    from provenmf.io.sparse_rows import open_sparse_rows

    ending = path.suffix.lower() if path.is_file() and not transpose else ""
    if ending == ".npy":
        return Table(as_blocks(path))
    if ending == ".npz" and key is None and (rows := open_sparse_rows(path)) is not None:
        return Table(as_blocks(path), *rows.names())
    table = read_table(path, key, missing=missing)
    return table.transposed if transpose else table
