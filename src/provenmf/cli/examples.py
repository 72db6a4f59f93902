"""`provenmf demo` and `generate`: data that need no file."""

from __future__ import annotations

import inspect
import time
from ast import literal_eval
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provenmf.cli import options
from provenmf.cli.analysis import (
    announce_compilation,
    check_output,
    make_folder,
    numbered,
    show,
    with_origin,
)
from provenmf.cli.messages import say, say_wrapped
from provenmf.errors import InvalidInput
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
    progress.say("Looking for anchor words")
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


# The function's docstring describes the model.
MODELS = {
    "separable": "separable.dirichlet_mixtures",
    "middle-points": "separable.middle_points",
    "corpus": "corpora.topic_corpus",
    "network": "networks.mixed_membership_network",
    "cube": "cubes.mixed_cube",
}


def generate(
    model: Annotated[
        str | None, typer.Argument(help="Name of the model. If omitted, the models are listed.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE...", help="Parameters of the model."),
    ] = None,
    output: Annotated[Path | None, options.option("--output -o FILE", "File (.npz).")] = None,
) -> None:
    """Generate data with known components and weights.

    The file holds the data and, by name, everything that they were made of.

    \b
    Examples:
      provenmf generate                          lists the models
      provenmf generate separable n_rows=900 n_components=8 snr=20 -o mixed.npz
      provenmf fit mixed.npz --key data -k 8
      provenmf generate network n_nodes=300 n_communities=3 -o net.npz
      provenmf communities net.npz -k 3
    """
    if model is None:
        _show_models()
        return
    if model not in MODELS:
        raise InvalidInput(f"model {model!r} is not known: choose one of {', '.join(MODELS)}")
    output = output or numbered(Path(f"{model}.npz"))
    check_output(output, (".npz",), "--output")
    arguments = _arguments(model, settings or [])
    sample = _function(model)(**arguments, random_state=options.shared().random_state)
    _save(sample, output)
    say(f"{model} data written to {output}")


def _function(model: str) -> Callable[..., Any]:
    module, name = MODELS[model].split(".")
    function: Callable[..., Any] = getattr(import_module(f"provenmf.datasets.{module}"), name)
    return function


def _defaults(model: str) -> dict[str, Any]:
    parameters = inspect.signature(_function(model)).parameters
    return {name: p.default for name, p in parameters.items() if name != "random_state"}


def _show_models() -> None:
    for model in MODELS:
        say_wrapped(f"{model}: {(_function(model).__doc__ or '').partition(chr(10))[0]}")
        settings = ", ".join(f"{name}={value!r}" for name, value in _defaults(model).items())
        say_wrapped(f"    {settings}", indent="    ")


def _arguments(model: str, settings: list[str]) -> dict[str, Any]:
    """Turn the settings into arguments of the generator; refuse what it does not have."""
    known = _defaults(model)
    arguments = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in known:
            raise InvalidInput(f"model {model!r} has no {name!r}: it has {', '.join(known)}")
        try:
            arguments[name] = literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise InvalidInput(f"{setting}: {text!r} is not a number") from None
    return arguments


def _save(sample: Any, output: Path) -> None:
    """Write all arrays of a sample by name; a sparse matrix as scipy stores it."""
    import numpy as np
    import scipy.sparse as sp

    from provenmf.io.files import write_aside

    arrays: dict[str, Any] = {}
    for field in fields(sample):
        value = getattr(sample, field.name)
        if sp.issparse(value):
            arrays |= {"data": value.data, "indices": value.indices, "indptr": value.indptr}
            arrays |= {"shape": np.array(value.shape), "format": np.array(b"csr")}
        elif isinstance(value, np.ndarray | float):
            arrays[field.name] = np.asarray(value)
    write_aside(output, lambda file: np.savez_compressed(file, **arrays))
