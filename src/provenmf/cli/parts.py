"""`provenmf parts`: the parts of which images are made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.checkpoint import command_checkpoint
from provenmf.cli.outcome import finish
from provenmf.cli.progress import fitting, reading
from provenmf.cli.target import plan


def parts(
    data: Annotated[Path, typer.Argument(help="Folder of images of one size, npz or npy.")],
    rank: options.KnownRank,
    method: options.Method = "hals",
    output: options.Output = None,
    key: options.Key = None,
    shape: options.Shape = None,
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
    """Find the parts that images are made of, and how much of each is in every image.

    \b
    Examples:
      provenmf parts faces/ -k 6             a folder of png or jpeg files
      provenmf parts olivetti.npz -k 6
      provenmf parts images.npy --shape 28x28 -k 20 --method and_descent
    """
    kept = command_checkpoint("parts", locals())
    from provenmf.applications import find_parts
    from provenmf.io import read_images

    target = plan(output, data, with_report=not no_report, tables=csv, frames=frame, force=force)
    with reading(data):
        images = read_images(data, key=key, shape=options.parse_shape(shape))
    with kept, fitting(data, method, rank, max_iter) as fit:
        result = find_parts(
            images, rank, method=method, random_state=seed, certify=not no_certify, **fit.options
        )
    finish(result, target, as_json=as_json)
