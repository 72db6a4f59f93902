"""The commands of the applications: topics, communities, unmix, signatures, parts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from provenmf.cli import options
from provenmf.cli.analysis import Analysis, read_column
from provenmf.cli.options import option


def topics(
    data: Annotated[
        Path,
        typer.Argument(
            help="Texts: a folder (one document per file), txt (one per line), jsonl, json, csv, "
            "tsv, parquet. Or word counts: npz, npy, mtx, mat, h5ad."
        ),
    ],
    n_topics: Annotated[int | None, options.number_of("topics")] = None,
    method: options.Method = "spa",
    field: options.Field = "text",
    encoding: Annotated[
        str, option("--encoding NAME", "Character encoding of the text files.")
    ] = "utf-8",
    vocabulary: options.Vocabulary = None,
    min_documents: Annotated[
        int,
        option("--min-documents N", "Ignore words that occur in fewer than N documents.", min=1),
    ] = 2,
    max_share: Annotated[
        float,
        option(
            "--max-share SHARE",
            "Ignore words in more than this share of the documents.",
            min=0,
            max=1,
        ),
    ] = 0.5,
    stop_words: options.StopWords = "auto",
    mail: options.Mail = False,
    by: Annotated[
        str | None,
        option(
            "--by COLUMN",
            "Show the topics by a column, such as a year or an author. A folder of texts has one "
            "column, named folder.",
        ),
    ] = None,
    name_column: Annotated[
        str | None,
        option(
            "--name-column COLUMN",
            "Column (csv) or field (json) with a name or title for each document.",
        ),
    ] = None,
    reduce_to: Annotated[
        int | None,
        option("--reduce-to N", "Merge the most similar topics until N are left.", min=1),
    ] = None,
    groups: options.Groups = None,
) -> None:
    """Find the topics of a collection of texts, with their words and example documents.

    Without -k, the number of topics is chosen from the data, and a note says how;
    "provenmf rank TEXTS" compares numbers. The methods spa (default), merit, xray,
    fast_anchor and fast_gradient use anchor words. Any other method, such as
    hals, factorizes documents x words.

    \b
    Examples:
      provenmf topics letters/ -k 10                      a folder of text files
      provenmf topics abstracts.txt -k 20                 one document per line
      provenmf topics posts.jsonl.xz -k 20 --field body --mail
      provenmf topics letters.csv -k 10 --by year         topics over time
      provenmf topics news.csv -k 10 --name-column title  titles in tables
      provenmf topics letters/ -k 30 --reduce-to 12       merge similar topics
      provenmf topics counts.npz --vocabulary words.txt -k 5
      provenmf topics posts.csv -k 8 --method spa -o spa.npz --json
    """
    analysis = Analysis(data, vocabulary)
    from provenmf.io.texts import TextFile, is_count_matrix, read_counts

    texts = None
    if not is_count_matrix(data, vocabulary):
        texts = TextFile(data, field, encoding, mail=mail)
        if data.is_file():  # a pipe is read only once
            # Notice a wrong field, or column below, before anything slow is imported.
            next(texts.texts([], []), None)
    of_documents = partial(read_column, data, encoding=encoding)
    columns = [name for name in (by, groups, name_column) if name is not None]
    known = {name: of_documents(name) for name in columns if data.is_file()}
    from provenmf.applications.topics.texts import count_words

    with analysis.reading() as progress:
        if texts is None:
            counts = read_counts(data, vocabulary, key=options.shared().key)
        else:
            counts = count_words(
                texts,
                min_documents=min_documents,
                max_share=max_share,
                stop_words=read_stop_words(stop_words),
                n_jobs=n_processes(),
                progress=progress.documents,
            )
        if not known:  # the names of files in a folder are read with them
            known = {name: of_documents(name, counts.names or ()) for name in columns}
        if name_column is not None:
            counts = replace(counts, names=known[name_column])
    from provenmf import confirm
    from provenmf.applications.topics import find_topics

    documents = [counts]
    del counts
    with analysis.fitting(method, n_topics, "Topics") as more:
        result = find_topics(
            documents.pop(),  # releases the counts of words that are left out
            n_topics,
            method=method,
            **more | {"evidence": more["evidence"] and groups is None},
        )
        if more["evidence"] and groups is not None:
            result = confirm(None, result, groups=known[groups])
    if reduce_to is not None:
        result = result.reduced_to(reduce_to)
    if by is not None:
        result = result.grouped(known[by], by)
    analysis.finish(result)


def n_processes() -> int:
    """Return how many processes count words: those asked for, or one for each core."""
    from provenmf.budget import available_threads, threads_of

    asked = options.shared().n_jobs
    return available_threads() if asked is None else threads_of(asked)


def read_stop_words(given: str) -> str | list[str] | None:
    """Return the name of a language, the words of a file, or nothing for "none"."""
    from provenmf.io import read_texts

    if given in ("none", "auto", *options.LANGUAGES):
        return None if given == "none" else given
    return [word for line in read_texts(Path(given)).texts for word in line.lower().split()]


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
    with analysis.fitting(method, n_communities, "Communities") as more:
        result = find_communities(graph, n_communities, method=method, **more)
    analysis.finish(result)


def unmix(
    data: Annotated[Path, typer.Argument(help="Cube: npz, npy, mat, tif, or an ENVI hdr file.")],
    n_endmembers: Annotated[int | None, options.number_of("endmembers")] = None,
    method: options.Method = "spa",
    shape: options.Shape = None,
    mask: Annotated[
        Path | None, option("--mask FILE", "Pixels to use: 1, others 0 (npy, mat, tif).")
    ] = None,
    truth: Annotated[
        Path | None,
        option(
            "--truth FILE",
            "Known spectra to compare with: a table, or npz or mat with E and perhaps "
            "abundances A.",
        ),
    ] = None,
) -> None:
    """Find the pure spectra in a hyperspectral image and how much of each is in every pixel.

    Dead bands and pixels with missing values are masked; a note says how many.
    Without -k, the number of endmembers is chosen from the data.

    \b
    Examples:
      provenmf unmix samson.npz -k 3
      provenmf unmix scene.mat --key Y --shape 100x100 -k 4
      provenmf unmix scene.hdr -k 5 --tables scene-5
      provenmf unmix scene.hdr -k 5 --truth spectra.csv
    """
    analysis = Analysis(data, mask, truth)
    from provenmf.applications.unmixing import unmix as unmix_cube
    from provenmf.io import read_cube

    with analysis.reading():
        size = options.parse_shape(shape)
        cube = read_cube(data, key=options.shared().key, shape=size, mask=mask)
        known = {} if truth is None else read_truth(truth, cube.band_mask.size)
    with analysis.fitting(method, n_endmembers, "Materials") as more:
        result = unmix_cube(cube, n_endmembers, method=method, **known, **more)
    analysis.finish(result)


def read_truth(path: Path, n_bands: int) -> dict[str, Any]:
    """Return known spectra E as (k, bands), and abundances A as (pixels, k) where a file has them.

    A file that holds one matrix, such as a table, holds the spectra.
    """
    from provenmf.io.matrices import choose_array, read_arrays, read_matrix

    if path.suffix.lower() not in (".npz", ".mat"):
        arrays = {"E": read_matrix(path)}
    else:
        arrays = read_arrays(path, "known spectra")
    spectra = choose_array(arrays, "E" if "E" in arrays else None, path)
    turned = n_bands not in spectra.shape[1:]
    known = {"true_endmembers": spectra.T if turned else spectra}
    if "A" in arrays:
        k = len(known["true_endmembers"])
        known["true_abundances"] = arrays["A"].T if len(arrays["A"]) == k else arrays["A"]
    return known


def signatures(
    data: Annotated[
        Path, typer.Argument(help="Counts of mutations: csv, tsv, SigProfiler's .all, or h5ad.")
    ],
    n_signatures: Annotated[int | None, options.number_of("signatures")] = None,
    reference: Annotated[
        Path | None,
        option("--reference FILE", "Known signatures by channel, such as COSMIC's."),
    ] = None,
) -> None:
    """Find mutational signatures in counts of mutations, and the exposures of every tumor.

    Tables of SigProfiler and COSMIC, with mutation types as rows, are turned.
    Without -k, the number of signatures is found from the data.

    \b
    Examples:
      provenmf signatures counts.csv
      provenmf signatures counts.csv -k 10
      provenmf signatures cohort.SBS96.all \\
        --reference COSMIC.txt --tables found
    """
    analysis = Analysis(data, reference)
    from provenmf.applications.signatures import find_signatures
    from provenmf.applications.signatures.catalogue import labelled

    with analysis.reading():
        counts = labelled(data, "Tumor")
    with analysis.fitting("poisson", n_signatures, "Signatures") as more:
        analysis.progress.steps = None  # their number is not known before
        names = ("callback", "on_interrupt", "evidence", "random_state")
        given = {name: more[name] for name in names}
        result = find_signatures(counts, n_signatures, reference=reference, **given)
    analysis.finish(result)


def parts(
    data: Annotated[Path, typer.Argument(help="Folder of images of one size, npz, npy or mat.")],
    n_parts: Annotated[int, option("--n-parts -k K", "Number of parts.", min=1)],
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
    with analysis.fitting(method, n_parts, "Parts") as more:
        result = find_parts(images, n_parts, method=method, **more)
    analysis.finish(result)
