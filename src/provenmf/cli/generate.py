"""`provenmf generate`: data of every kind with the truth behind them."""

from __future__ import annotations

import inspect
from ast import literal_eval
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from provenmf.cli import options
from provenmf.cli.analysis import check_output, numbered
from provenmf.cli.messages import say, say_wrapped
from provenmf.errors import InvalidInput

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
