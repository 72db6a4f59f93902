"""`provenmf generate`: synthetic data together with the truth behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from provenmf.cli import options
from provenmf.cli.messages import say, say_wrapped
from provenmf.cli.target import check_output, numbered
from provenmf.errors import InvalidInput

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
# Options that most generators have, the names they have there, and a default.
SHARED = {
    "rows": (("n_rows", "n_nodes"), 1000),
    "columns": (("n_columns",), 200),
    "n-components": (("n_components", "n_communities"), 10),
}


def generate(
    model: Annotated[str | None, typer.Argument(help="Name of the model; see --list.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write (.npz).")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", metavar="N", min=1, help="Number of data points.")
    ] = None,
    columns: Annotated[
        int | None, typer.Option("--columns", "-d", metavar="D", min=1, help="Number of features.")
    ] = None,
    n_components: Annotated[int | None, options.number_of("components", chosen=False)] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another parameter of the model."),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the models and exit.")] = False,
) -> None:
    """Generate data with known components and weights.

    The file holds `data`, the true `components` and `weights`, and, depending on
    the model, anchors, labels or the noise level.

    \b
    Examples:
      provenmf generate --list
      provenmf generate separable -n 1000 -d 50 -k 8 --set snr=20 -o mixed.npz
      provenmf fit mixed.npz --key data -k 8
      provenmf generate network -n 300 -k 3 -o net.npz
      provenmf communities net.npz -k 3
    """
    if show_list or model is None:
        _show_models()
        return
    if model not in GENERATORS:
        raise InvalidInput(f"model {model!r} is not known: choose one of {', '.join(GENERATORS)}")
    if output is None:
        output = numbered(Path(f"{model}.npz"))
    check_output(output, (".npz",), "--output")
    seed = options.shared().random_state
    given = {"rows": rows, "columns": columns, "n-components": n_components}
    function = _function(model)
    arguments = _arguments(model, function, given, settings or [], seed)
    sample = function(**arguments, random_state=seed)
    save_sample(sample, output)
    say(f"{model} data written to {output}")


def _function(model: str) -> Callable[..., Any]:
    from importlib import import_module

    module, name = GENERATORS[model]
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def _show_models() -> None:
    import inspect

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
    model: str,
    function: Callable[..., Any],
    given: dict[str, int | None],
    settings: list[str],
    seed: int,
) -> dict[str, Any]:
    """Turn the options into arguments of the generator; refuse what it does not have."""
    import inspect
    from ast import literal_eval

    from provenmf.datasets.and_descent import topic_components

    parameters = inspect.signature(function).parameters
    arguments: dict[str, Any] = {}
    if "components" in parameters:  # a model of the weights only: topics are drawn for it
        sizes = [given.pop(option) or SHARED[option][1] for option in ("n-components", "columns")]
        arguments["components"] = topic_components(*sizes, random_state=seed)
    for option, value in given.items():
        names, default = SHARED[option]
        name = next((name for name in names if name in parameters), None)
        if name is None:
            if value is not None:
                raise InvalidInput(f"model {model!r} has no --{option}: leave it out")
        elif value is not None or parameters[name].default is inspect.Parameter.empty:
            arguments[name] = value or default
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in parameters:
            raise InvalidInput(f"model {model!r} has no {name!r}: it has {', '.join(parameters)}")
        try:
            arguments[name] = literal_eval(text)
        except (ValueError, SyntaxError):
            arguments[name] = text
    return arguments


def save_sample(sample: Any, output: Path) -> None:
    """Write all arrays of a sample by name; a network's adjacency as scipy stores it."""
    from dataclasses import fields

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
