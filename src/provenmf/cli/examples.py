"""`provenmf demo` and `provenmf generate`: data that need no file."""

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
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for results and reports. Default: demo-result, numbered if it exists.",
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


# Sizes where a model has no default.
SIZES = {"n_rows": 1000, "n_columns": 200, "n_components": 10}
# Name to module and function; the function's docstring describes the model.
GENERATORS = {
    "separable": ("provenmf.datasets.separable", "dirichlet_mixtures"),
    "middle-points": ("provenmf.datasets.separable", "middle_points"),
    "cones": ("provenmf.datasets.cones", "paper_cones"),
    "dirichlet": ("provenmf.datasets.and_descent", "sample_dirichlet"),
    "fresh-covariance": ("provenmf.datasets.and_descent", "sample_fresh_covariance"),
    "logistic-normal": ("provenmf.datasets.and_descent", "sample_logistic_normal"),
    "sparse-binary": ("provenmf.datasets.and_descent", "sample_sparse_binary"),
    "signed": ("provenmf.datasets.and_descent", "sample_signed"),
    "purification": ("provenmf.datasets.purification", "sample_purification"),
    "network": ("provenmf.datasets.networks", "mixed_membership_network"),
}


def generate(
    model: Annotated[
        str | None, typer.Argument(help="Name of the model. If omitted, the models are listed.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE...", help="Parameters of the model."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write (.npz).")
    ] = None,
) -> None:
    """Generate data with known components and weights.

    The file holds `data`, the true `components` and `weights`, and, depending on
    the model, anchors, labels or the noise level.

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
    if model not in GENERATORS:
        raise InvalidInput(f"model {model!r} is not known: choose one of {', '.join(GENERATORS)}")
    if output is None:
        output = numbered(Path(f"{model}.npz"))
    check_output(output, (".npz",), "--output")
    seed = options.shared().random_state
    function = _function(model)
    arguments = _arguments(model, function, settings or [], seed)
    sample = function(**arguments, random_state=seed)
    save_sample(sample, output)
    say(f"{model} data written to {output}")


def _function(model: str) -> Callable[..., Any]:
    module, name = GENERATORS[model]
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def _show_models() -> None:
    for model in GENERATORS:
        function = _function(model)
        about = (function.__doc__ or "").strip().partition("\n")[0]
        say_wrapped(f"{model}: {about}")
        others = ", ".join(
            name if p.default is p.empty else f"{name}={p.default!r}"
            for name, p in inspect.signature(function).parameters.items()
            if name != "random_state"
        )
        say_wrapped(f"    {others}", indent="    ")


def _arguments(
    model: str, function: Callable[..., Any], settings: list[str], seed: int
) -> dict[str, Any]:
    """Turn the settings into arguments of the generator; refuse what it does not have."""
    from provenmf.datasets.and_descent import topic_components

    parameters = inspect.signature(function).parameters
    drawn = "components" in parameters  # a model of the weights only: topics are drawn for it
    known = [name for name in parameters if name not in ("components", "random_state")]
    known += ["n_columns", "n_components"] if drawn else []
    needed = [n for n in known if n not in parameters or parameters[n].default is inspect._empty]
    arguments: dict[str, Any] = {name: SIZES[name] for name in needed}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in known:
            raise InvalidInput(f"model {model!r} has no {name!r}: it has {', '.join(known)}")
        try:
            arguments[name] = literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            arguments[name] = text
    if drawn:
        sizes = arguments.pop("n_components"), arguments.pop("n_columns")
        arguments["components"] = topic_components(*sizes, random_state=seed)
    return arguments


def save_sample(sample: Any, output: Path) -> None:
    """Write all arrays of a sample by name; a network's adjacency as scipy stores it."""
    import numpy as np
    import scipy.sparse as sp

    from provenmf.io import write_aside

    arrays: dict[str, Any] = {}
    for field in fields(sample):
        value = getattr(sample, field.name)
        if sp.issparse(value):
            arrays |= {"data": value.data, "indices": value.indices, "indptr": value.indptr}
            arrays |= {"shape": np.array(value.shape), "format": np.array(b"csr")}
        elif field.name == "extras":
            arrays |= {f"extra_{name}": np.asarray(array) for name, array in value.items()}
        elif value is not None:
            arrays[field.name] = np.asarray(value)
    write_aside(output, lambda file: np.savez_compressed(file, **arrays))
