"""`provenmf certify`: what can be believed about a saved result, recomputed from its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.outcome import console
from provenmf.progress import Progress


def certify(
    result: Annotated[Path, typer.Argument(help="Result file written by another command.")],
    data: Annotated[Path, typer.Argument(help="The data that the result was computed from.")],
    key: options.Key = None,
    transpose: options.Transpose = False,
    vocabulary: options.Vocabulary = None,
    field: options.Field = "text",
    mail: options.Mail = False,
    as_json: options.Json = False,
) -> None:
    """Recompute the certificate of a saved result from scratch, without trusting the file.

    Only the factors are taken from the result file, and no solver runs.

    \b
    Examples:
      provenmf certify counts-result.npz counts.csv
      provenmf certify samson-result.npz samson.npz --json
    """
    from provenmf.cli.fit import read_data
    from provenmf.io import load
    from provenmf.io.records import strict_json
    from provenmf.methods.certify import certify as certify_result
    from provenmf.results.answers import Answer, ReadOptions

    saved = load(result)
    with Progress(f"Certifying {result.name}"):
        if isinstance(saved, Answer):
            source = saved.read(data, ReadOptions(key, vocabulary, field, mail))
        else:
            source = read_data(data, key=key, transpose=transpose).matrix
        certificate = certify_result(source, saved)
    if as_json:
        typer.echo(strict_json(certificate.to_dict()))
        return
    console().print(str(certificate), markup=False)
