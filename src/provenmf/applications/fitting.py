"""Shared by all applications: fit an estimator, validate the number of components."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.advice.number import settled_number
from provenmf.budget import announce_gathering
from provenmf.data import as_blocks
from provenmf.errors import InvalidInput
from provenmf.methods import estimator_class, make_estimator
from provenmf.methods.separable.xray import XRAY, SignedXRAY
from provenmf.results import Factorization
from provenmf.results.answers import shares


def fit_matrix(
    matrix: Any,
    n_components: int | None,
    method: str,
    options: Mapping[str, Any],
    *,
    argument: str = "n_components",
) -> Factorization:
    """Factorize with one of the estimators; options that are None keep its defaults.

    A number that is not given must be settled by the data; the notes of the result say how, and a
    refusal names the `argument` that the application has for it.
    """
    notes: tuple[str, ...] = ()
    if n_components is None:
        n_components, note = _settled(matrix, argument)
        notes = (note,)
    given = {name: value for name, value in options.items() if value is not None}
    estimator = make_estimator(method, n_components, **given)
    if type(estimator) is XRAY and np.all(matrix.sum(axis=1) > 0):
        estimator = SignedXRAY(**estimator.get_params())
    return replace(estimator.fit(matrix).factorization_, notes=notes)


def at_hand(data: Any, name: str) -> Any:
    """Load a Dask array into memory with a message, or refuse; return other data unchanged."""
    if not type(data).__module__.startswith("dask."):
        return data
    if data.ndim != 2 or not hasattr(data, "nbytes"):
        raise InvalidInput(
            f"{name} was given a Dask collection of {data.ndim} axes: call its compute() first"
        )
    announce_gathering(name, data.shape, float(data.nbytes))
    return as_blocks(data).everything()


def _settled(matrix: Any, argument: str) -> tuple[int, str]:
    try:
        return settled_number(as_blocks(matrix))
    except InvalidInput as error:
        if error.argument != "n_components":
            raise
        raise type(error)(error.problem, argument=argument, remedy=error.remedy) from error


def check_number(name: str, value: int | None, most: int, what: str) -> None:
    """Raise an error for a number of components that is not positive or exceeds the data."""
    if value is not None and not 1 <= value <= most:
        raise InvalidInput(
            f"must be at least 1 and at most the {most} {what}", argument=name, value=value
        )


def found_fewer(factorization: Factorization, wanted: int | None, what: str) -> list[str]:
    """Say how the number was chosen, or that fewer components were found than asked for."""
    if wanted is None:
        return list(factorization.notes)
    if factorization.n_components == wanted:
        return []
    return [
        f"{factorization.n_components} {what} were found instead of {wanted}: "
        "the rest of the data is mixed from these"
    ]


def simplex_weights(method: str) -> dict[str, str]:
    """Return the option that asks a method for weights that sum to one, where it has a choice."""
    accepted = inspect.signature(estimator_class(method)).parameters
    return {"constraint": "simplex"} if "constraint" in accepted else {}


def for_real_data(method: str, n_components: int | None) -> dict[str, Any]:
    """Return a method's options for real data; random starts cannot find the number."""
    options = dict(estimator_class(method).traits.on_real_data)
    if n_components is None:
        options.pop("init", None)
    return options


def reordered(fit: Factorization, order: NDArray[np.intp]) -> Factorization:
    """Return the factorization with its components and their measures reordered."""
    certificate = fit.certificate
    if certificate is not None:
        measures = {
            name: tuple(value[i] for i in order)
            if isinstance(value, tuple) and len(value) == len(order)
            else value
            for name, value in certificate.measures.items()
        }
        certificate = replace(certificate, measures=measures)
    return replace(
        fit,
        weights=fit.weights[:, order],
        components=fit.components[order],
        anchors=None if fit.anchors is None else fit.anchors[order],
        labels=None if fit.labels is None else np.argsort(order)[fit.labels],
        certificate=certificate,
    )


def largest_first(fit: Factorization) -> Factorization:
    """Order the components by their shares, unless the method determines their order."""
    if fit.anchors is not None or fit.labels is not None or fit.state is not None:
        return fit
    sizes = shares(fit.weights * np.abs(fit.components).sum(axis=1))
    return reordered(fit, np.argsort(-sizes, kind="stable"))
