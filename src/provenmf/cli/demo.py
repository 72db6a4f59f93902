"""`provenmf demo`: three answers from data that come with Python, with nothing to download."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provenmf.cli.outcome import console, show
from provenmf.cli.progress import Progress
from provenmf.errors import InvalidInput

if TYPE_CHECKING:
    from provenmf.records import Answer


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results and reports.")
    ] = Path("demo-result"),
) -> None:
    """Topics, parts and communities from data that need no download.

    Topics of the docstrings of Python's standard library, parts of scikit-learn's
    digits, and the overlapping communities of a generated network. For each: what
    was found, what is guaranteed, a result file and a report.

    \b
    Examples:
      provenmf demo
      provenmf demo --output somewhere
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {output} ({error.strerror}): choose another with --output"
        ) from error
    jobs: dict[str, tuple[str, Callable[[Progress], Answer]]] = {
        "topics": ("Topics of the docstrings of Python's standard library", _topics),
        "communities": ("Overlapping communities of a generated network", _communities),
        "parts": ("Parts of handwritten digits", _parts),
    }
    screen = console()
    for name, (title, job) in jobs.items():
        screen.rule(title, align="left", characters="-")
        started = time.perf_counter()
        with Progress(title) as progress:
            result = job(progress)
        show(result, screen)
        files = _write(result, output / name, title)
        seconds = time.perf_counter() - started
        screen.print(f"{seconds:.1f} s; written: {', '.join(map(str, files))}", markup=False)
        screen.print()
    screen.print("Open the .html files in a browser; they need no network.")


def _write(result: Answer, stem: Path, title: str) -> list[Path]:
    from provenmf.report import write

    result.save(stem.with_suffix(".npz"))
    write(result, stem.with_suffix(".html"), title=title)
    return [stem.with_suffix(".npz"), stem.with_suffix(".html")]


def _topics(progress: Progress) -> Answer:
    from provenmf.applications import count_words, find_topics
    from provenmf.datasets.embedded import standard_library_docstrings
    from provenmf.io import Corpus

    texts, names = standard_library_docstrings()
    counts = count_words(Corpus(texts, names), min_documents=5, max_share=0.2)
    progress.say("Looking for anchor words")
    return find_topics(counts, 10, random_state=0, callback=progress.row)


def _communities(progress: Progress) -> Answer:
    from provenmf.applications import find_communities
    from provenmf.datasets.networks import mixed_membership_network

    network = mixed_membership_network(random_state=0)
    found = find_communities(network.adjacency, 3, random_state=0, callback=progress.row)
    return found.compared_with(network.memberships)


def _parts(progress: Progress) -> Answer:
    from provenmf.applications import find_parts
    from provenmf.datasets.embedded import digits

    images, _ = digits()
    return find_parts(images, 16, random_state=0, callback=progress.row)
