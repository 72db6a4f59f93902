"""`provenmf communities`: overlapping communities of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.checkpoint import command_checkpoint
from provenmf.cli.outcome import finish
from provenmf.cli.progress import fitting, reading
from provenmf.cli.target import plan

METHODS = "One of merit, spa, fast_anchor, fast_gradient, geo_nmf, spoc."


def communities(
    data: Annotated[
        Path,
        typer.Argument(help="Graph: edge list (txt, csv, tsv), graphml, adjacency (npz, mtx)."),
    ],
    rank: options.Rank = None,
    method: Annotated[str, typer.Option("--method", "-m", metavar="NAME", help=METHODS)] = "spa",
    output: options.Output = None,
    energy: Annotated[
        float,
        typer.Option(
            "--energy",
            metavar="SHARE",
            help="Look for pure nodes among those with this share of the squared length.",
        ),
    ] = 0.99,
    truth: Annotated[
        Path | None,
        typer.Option(
            "--truth",
            metavar="FILE",
            help="Known memberships to compare with (nodes x communities), with rows by node "
            "name or number.",
        ),
    ] = None,
    key: options.Key = None,
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
    """Find how much each node of a graph belongs to each community.

    A node can belong to several communities; its shares sum to one.
    Edge directions and self-loops are ignored, and a note says so.
    Without -k, the number of communities is chosen from the data.

    \b
    Examples:
      provenmf communities friends.txt                    two names per line
      provenmf communities graph.graphml -k 3 --method spa
      provenmf communities adjacency.npz -k 6 --truth memberships.npz --json
    """
    kept = command_checkpoint("communities", locals())
    from provenmf.applications import find_communities
    from provenmf.io import read_graph
    from provenmf.io.graphs import read_memberships

    target = plan(
        output, data, truth, with_report=not no_report, tables=csv, frames=frame, force=force
    )
    with reading(data):
        graph = read_graph(data, key=key)
        known = None if truth is None else read_memberships(truth, graph.names)
    # SPOC is SPA on other rows; GeoNMF, its like, has no estimator of its own.
    solver = "spa" if method in ("spoc", "geo_nmf") else method
    with kept, fitting(data, solver, rank, max_iter) as fit:
        result = find_communities(
            graph,
            rank,
            method=method,
            energy=energy,
            random_state=seed,
            certify=not no_certify,
            **fit.options,
        )
    if known is not None:
        result = result.compared_with(known)
    finish(result, target, as_json=as_json)
