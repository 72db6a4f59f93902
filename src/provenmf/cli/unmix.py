"""`provenmf unmix`: endmembers and abundances of a hyperspectral image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from provenmf.cli import options
from provenmf.cli.checkpoint import command_checkpoint
from provenmf.cli.outcome import finish
from provenmf.cli.progress import fitting, reading
from provenmf.cli.target import plan


def unmix(
    data: Annotated[Path, typer.Argument(help="Cube: npz, npy, mat, or an ENVI hdr file.")],
    rank: options.Rank = None,
    method: options.Method = "spa",
    output: options.Output = None,
    key: options.Key = None,
    shape: options.Shape = None,
    group: Annotated[
        bool, typer.Option("--group/--no-group", help="Average nearly identical pixels first.")
    ] = True,
    truth: Annotated[
        Path | None,
        typer.Option(
            "--truth",
            metavar="FILE",
            help="File (npz, mat) with known spectra E and abundances A to compare with.",
        ),
    ] = None,
    resamples: options.Resamples = 0,
    max_iter: options.MaxIter = None,
    seed: options.Seed = 0,
    checkpoint: options.CheckpointFolder = None,
    checkpoint_seconds: options.CheckpointSeconds = 30.0,
    no_certify: options.NoCertify = False,
    no_report: options.NoReport = False,
    maps: Annotated[
        Path | None,
        typer.Option(
            "--maps", metavar="FILE", help="Also write the abundance maps (.hdr or .tif)."
        ),
    ] = None,
    csv: options.Csv = None,
    frame: options.Frame = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Find the pure spectra in a hyperspectral image and how much of each is in every pixel.

    Dead bands and pixels with missing values are masked; a note says how many.
    Without -k, the number of materials is chosen if the data are clear about it.

    \b
    Examples:
      provenmf unmix samson.npz -k 3
      provenmf unmix scene.mat --key Y --shape 100x100 -k 4
      provenmf unmix scene.hdr -k 5 --method spa --no-group
      provenmf unmix scene.hdr -k 5 --maps abundances.tif
      provenmf unmix samson.npz -k 3 --truth samson.npz --json
    """
    kept = command_checkpoint("unmix", locals())
    from provenmf.applications import unmix as unmix_cube
    from provenmf.io import read_cube

    target = plan(
        output, data, truth, with_report=not no_report, tables=csv, frames=frame, force=force
    )
    if maps is not None:
        check_maps(maps, data, force)
    with reading(data):
        cube = read_cube(data, key=key, shape=options.parse_shape(shape))
        known = {} if truth is None else read_truth(truth, cube)
    with kept, fitting(data, method, rank, max_iter) as fit:
        result = unmix_cube(
            cube,
            rank,
            method=method,
            group=group,
            n_resamples=resamples,
            random_state=seed,
            certify=not no_certify,
            **known,
            **fit.options,
        )
    if maps is not None:
        result.save_maps(maps)
    finish(result, target, as_json=as_json)


def check_maps(path: Path, data: Path, force: bool) -> None:
    """Refuse a name for maps before any time is spent."""
    from provenmf.cli.target import refuse_overwriting
    from provenmf.errors import InvalidInput
    from provenmf.io.output import check_writable
    from provenmf.io.rasters import ENDINGS

    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"--maps {path}: end it in .hdr (ENVI) or .tif")
    files = [path, path.with_suffix(".img")] if path.suffix.lower() == ".hdr" else [path]
    for file in files:
        check_writable(file, data)
        if not force:
            refuse_overwriting(file, "--maps")


def read_truth(path: Path, cube: Any) -> dict[str, Any]:
    """Known spectra E and abundances A, turned to (k, bands) and (pixels, k)."""
    from provenmf.errors import InvalidInput
    from provenmf.io import read_matrix

    def turned(name: str, size: int, first: bool) -> Any:
        matrix = read_matrix(path, name)
        if size not in matrix.shape:
            raise InvalidInput(
                f"{path}: {name} has shape {matrix.shape}, but one side must be {size}, as in the "
                "data: give the truth that belongs to them"
            )
        return matrix if (matrix.shape[0] == size) == first else matrix.T

    return {
        "true_endmembers": turned("E", cube.band_mask.size, first=False),
        "true_abundances": turned("A", cube.pixel_mask.size, first=True),
    }
