"""`provenmf communities`, `unmix` and `parts`: graphs, hyperspectral images, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from provenmf.cli import options
from provenmf.cli.analysis import Analysis


def communities(
    data: Annotated[
        Path,
        typer.Argument(
            help="Graph: edge list (txt, csv), graphml, gml, pajek (net), adjacency (npz, mtx)."
        ),
    ],
    n_communities: Annotated[int | None, options.number_of("communities")] = None,
    method: Annotated[
        str, options.method_of("merit", "spa", "fast_anchor", "fast_gradient")
    ] = "spa",
) -> None:
    """Find how much each node of a graph belongs to each community.

    A node can belong to several communities; its shares sum to one.
    Edge directions and self-loops are ignored, and a note says so.
    Without -k, the number of communities is chosen from the data.

    \b
    Examples:
      provenmf communities friends.txt                    two names per line
      provenmf communities graph.graphml -k 3 --method spa
      provenmf communities adjacency.npz -k 6 --json
    """
    analysis = Analysis(data)
    from provenmf.applications.communities import find_communities
    from provenmf.io.graphs import read_graph

    with analysis.reading():
        graph = read_graph(data, key=options.shared().key)
    with analysis.fitting(method, n_communities) as more:
        result = find_communities(graph, n_communities, method=method, **more)
    analysis.finish(result)


def unmix(
    data: Annotated[Path, typer.Argument(help="Cube: npz, npy, mat, tif, or an ENVI hdr file.")],
    n_endmembers: Annotated[int | None, options.number_of("endmembers")] = None,
    method: options.Method = "spa",
    shape: options.Shape = None,
) -> None:
    """Find the pure spectra in a hyperspectral image and how much of each is in every pixel.

    Dead bands and pixels with missing values are masked; a note says how many.
    Without -k, the number of endmembers is chosen from the data.

    \b
    Examples:
      provenmf unmix samson.npz -k 3
      provenmf unmix scene.mat --key Y --shape 100x100 -k 4
      provenmf unmix scene.hdr -k 5 --tables scene-5
    """
    analysis = Analysis(data)
    from provenmf.applications.unmixing import unmix as unmix_cube
    from provenmf.io import read_cube

    with analysis.reading():
        cube = read_cube(data, key=options.shared().key, shape=options.parse_shape(shape))
    with analysis.fitting(method, n_endmembers) as more:
        result = unmix_cube(cube, n_endmembers, method=method, **more)
    analysis.finish(result)


def signatures(
    data: Annotated[
        Path, typer.Argument(help="Counts of mutations: csv or tsv, tumors x channels or turned.")
    ],
    n_signatures: Annotated[int | None, options.number_of("signatures")] = None,
    reference: Annotated[
        Path | None,
        options.option("--reference FILE", "Known signatures by channel, such as COSMIC's."),
    ] = None,
) -> None:
    """Find mutational signatures in counts of mutations, and the exposures of every tumor.

    Tables of SigProfiler and COSMIC, with mutation types as rows, are turned.
    Without -k, the number of signatures is found from the data.

    \b
    Examples:
      provenmf signatures counts.csv
      provenmf signatures counts.csv -k 10
      provenmf signatures SBS96.all \\
        --reference COSMIC.txt
    """
    analysis = Analysis(data, reference)
    from provenmf.applications.signatures import find_signatures
    from provenmf.applications.signatures.catalogue import labelled

    with analysis.reading():
        counts = labelled(data, "Tumor")
    with analysis.fitting("poisson", n_signatures) as more:
        given = {name: more[name] for name in ("evidence", "random_state")}
        result = find_signatures(counts, n_signatures, reference=reference, **given)
    analysis.finish(result)


def parts(
    data: Annotated[Path, typer.Argument(help="Folder of images of one size, npz, npy or mat.")],
    n_parts: Annotated[int, options.number_of("parts", chosen=False)],
    method: options.Method = "hals",
    shape: options.Shape = None,
) -> None:
    """Find the parts that images are made of, and how much of each is in every image.

    \b
    Examples:
      provenmf parts faces/ -k 6             a folder of png or jpeg files
      provenmf parts olivetti.npz -k 6
      provenmf parts images.npy --shape 28x28 -k 20 --method and_descent
    """
    analysis = Analysis(data)
    from provenmf.applications.parts import find_parts
    from provenmf.io import read_images

    with analysis.reading():
        images = read_images(data, key=options.shared().key, shape=options.parse_shape(shape))
    with analysis.fitting(method, n_parts) as more:
        result = find_parts(images, n_parts, method=method, **more)
    analysis.finish(result)
