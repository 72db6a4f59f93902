"""`provenmf demo`: topics, communities and parts of data that need no file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from provenmf.cli import options
from provenmf.cli.analysis import (
    announce_compilation,
    make_folder,
    numbered,
    show,
    with_origin,
)
from provenmf.cli.messages import say, say_wrapped
from provenmf.progress import Progress

if TYPE_CHECKING:
    from provenmf.results import Answer

FOLDER = Path("demo-result")


def demo(
    output: Annotated[
        Path | None,
        options.option(
            "--output -o DIR",
            "Folder for results and reports. Default: demo-result, numbered if it exists.",
        ),
    ] = None,
) -> None:
    """Find topics, communities and parts in data that need no download.

    The demo finds topics in the docstrings of Python's standard library,
    overlapping communities in a generated network, and parts of handwritten
    digits. For each, it prints what was found and what is guaranteed, and writes
    a result and a report.

    \b
    Examples:
      provenmf demo
      provenmf demo --output my-demo
    """
    if output is None:
        output = FOLDER if options.shared().force else numbered(FOLDER)
    make_folder(output, "--output")
    jobs: dict[str, tuple[str, Callable[[Progress], Answer]]] = {
        "topics": ("Topics of the docstrings of Python's standard library", _topics),
        "communities": ("Overlapping communities of a generated network", _communities),
        "parts": ("Parts of handwritten digits", _parts),
    }
    announce_compilation()
    for name, (title, job) in jobs.items():
        say(f"--- {title}")
        started = time.perf_counter()
        with Progress(title) as progress:
            result = with_origin(job(progress))
        show(result)
        files = [output / f"{name}.npz", output / f"{name}.html"]
        result.save(files[0])
        result.report(files[1], title=title)
        seconds = time.perf_counter() - started
        say_wrapped(f"Took {seconds:.1f} s. Wrote {' and '.join(map(str, files))}.")
        say("")
    say("Open the .html files in a browser; they work offline.")


def _topics(progress: Progress) -> Answer:
    from provenmf.applications.topics import count_words, find_topics
    from provenmf.datasets.real import standard_library_docstrings
    from provenmf.io import Corpus

    texts, names = standard_library_docstrings()
    counts = count_words(Corpus(texts, names), min_documents=5, max_share=0.2)
    progress.say("Finding topics")
    return find_topics(counts, 10, random_state=0, callback=progress.row)


def _communities(progress: Progress) -> Answer:
    from provenmf.applications.communities import find_communities
    from provenmf.datasets.networks import mixed_membership_network

    network = mixed_membership_network(random_state=0)
    found = find_communities(network.adjacency, 3, random_state=0, callback=progress.row)
    return found.compared_with(network.memberships)


def _parts(progress: Progress) -> Answer:
    from provenmf.applications.parts import find_parts
    from provenmf.datasets.real import digits

    images, _ = digits()
    return find_parts(images, 10, random_state=0, callback=progress.row)
