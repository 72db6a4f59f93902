"""The description of a method: its traits, legal parameters and shared docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from provenmf.errors import InvalidInput, Naming, as_in_python, legible


@dataclass(frozen=True)
class Traits:
    """Describe a method, as its estimator states it in `traits`.

    Applications, the advisor and the command line choose methods by these; there are no lists of
    names.

    Attributes
    ----------
    negative_data : bool, default=False
        Whether data may have negative entries.
    finds_number : bool, default=False
        Whether the method itself finds the number of components where it is not given. False
        leaves that to the start (`init`).
    anchors : bool, default=False
        Whether the components are rows of the data.
    missing_values : bool, default=False
        Whether data may have missing entries.
    random : {"never", "with options", "always"}, default="with options"
        Whether the method draws random numbers: never, with some of its options, or by default.
    block_by_block : bool, default=True
        Whether rows are read block by block, so that data on disk or in a Dask cluster are never
        gathered in memory.
    compares_rows : bool, default=False
        Whether rows are compared with one another and not with the components alone: more work
        than a few passes.
    advised : int or None, default=None
        Place among the methods that `provenmf.diagnose` tries; None is not tried.
    on_real_data : mapping, default={}
        Parameters for data that follow no model, where the defaults are not for these.

    Examples
    --------
    >>> from provenmf import SPA, HALS
    >>> SPA.traits.anchors, HALS.traits.anchors
    (True, False)
    """

    negative_data: bool = False
    finds_number: bool = False
    anchors: bool = False
    missing_values: bool = False
    random: Literal["never", "with options", "always"] = "with options"
    block_by_block: bool = True
    compares_rows: bool = False
    advised: int | None = None
    on_real_data: Mapping[str, object] = field(default_factory=dict)


# What parameters may be: their annotations, with scikit-learn's descriptions of legal values.
#
# These are private in scikit-learn, and give the same messages as its own estimators; should a
# release move them, only this file changes; others import these names from here.

__all__ = ["Interval", "InvalidParameterError", "validate_parameter_constraints"]

Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
NotNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
Number = Annotated[int | str, Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})]
Thoroughness = Annotated[bool | str, "boolean", StrOptions({"full"})]
Seed = Annotated[int | np.random.RandomState | None, "random_state"]


class InvalidParameter(InvalidInput, InvalidParameterError):
    """A parameter of an estimator cannot be used; Python shows scikit-learn's message."""

    def __init__(self, text: str, argument: str | None = None, value: object = None) -> None:
        self._text = text
        legal = text.split(" must be ")[-1].rsplit(". Got ", 1)[0]
        super().__init__(f"must be {legal}", argument=argument, value=value)

    def sentence(self, naming: Naming = as_in_python) -> str:
        """Return scikit-learn's sentence, or one with the name that the reader knows."""
        if naming is not as_in_python:
            return super().sentence(naming)
        return legible(self._text)


@cache
def constraints_of(estimator: Any) -> dict[str, list[object]]:
    """Return the legal values of each parameter as scikit-learn describes them."""
    hints = get_type_hints(estimator, include_extras=True)
    return {field.name: legal_values(hints[field.name]) for field in fields(estimator)}


def legal_values(hint: Any) -> list[object]:
    """Return what an annotation allows; beside a type, `Annotated` says it itself."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return [*parts[1:]]
    if origin in (Union, UnionType):
        return [each for part in parts for each in legal_values(part)]
    if origin is Literal:
        return [StrOptions(set(parts))]
    if origin is Callable:
        return [callable]
    plain = {bool: "boolean", str: str, int: Integral, float: Real, NoneType: None}
    return [plain.get(hint, "array-like")]


# Parameters and attributes that all estimators share, described once.
#
# A docstring that says "As in every estimator" of some names gets their descriptions from here when
# its class is made, so that `help` and the API reference are complete.

SHARED = {
    "random_state": """int, RandomState instance or None, default=None
        Random seed; the same seed gives the same result.""",
    "certify": """bool or "full", default=True
        Whether to compute the certificate. True leaves out what takes longer than the fit (and
        than 50 ms), by the sizes of the data; "full" leaves out nothing.""",
    "verbose": """int, default=0
        1 writes a line for each iteration to the logger "provenmf". Its output goes to standard
        error unless the program has set up logging.""",
    "callback": """callable or None, default=None
        Called after each iteration with a dict of numbers, the row of the trace. Return True to
        stop the fit.""",
    "on_interrupt": """{"raise", "return"}, default="raise"
        What Ctrl-C does: raise KeyboardInterrupt, or return the best result so far. With "return",
        a second Ctrl-C skips the certificate, or raises if there is no result yet.""",
    "vertices": """bool, default=False
        Whether each component is the mean of all rows that lie at its anchor within their noise.
        This is closer to the truth than one noisy row. `anchors_` are still rows.""",
    "row_errors": """array (n_rows,) or None, default=None
        With vertices: the standard error of the entries of each row. None uses one number for all
        rows, their root mean square distance from the span of the anchors; this needs more columns
        than components.""",
    "components_": """array (k, d)
        The components, one per row.""",
    "n_components_": """int
        Number of components, which can be smaller than requested.""",
    "n_iter_": """int
        Number of iterations.""",
    "reconstruction_err_": """float
        ||X - weights @ components||_F.""",
    "trace_": """Trace
        The course of the iterations, as named columns.""",
    "certificate_": """Certificate
        What you can believe about the result; missing with certify=False.""",
    "factorization_": """Factorization
        The whole result as one record that can be saved.""",
    "n_features_in_": """int
        Number of columns of X.""",
}

_MENTION = re.compile(
    r"^(\w+(?:, \w+)*)\n    As in every estimator\.( *[^\n]*(?:\n    [^\n]+)*)", re.M
)


def completed(text: str) -> str:
    """Insert the shared descriptions into a docstring that mentions their names.

    What follows "As in every estimator." is about the last of the names, or about `trace_`.
    """

    def described(found: re.Match[str]) -> str:
        names, more = found[1].split(", "), found[2].strip()
        entries = {name: inspect.cleandoc(f"{name} : {SHARED[name]}") for name in names}
        entries = {name: entry.replace("\n", "\n    ") for name, entry in entries.items()}
        if more:
            entries["trace_" if "trace_" in names else names[-1]] += f"\n    {more}"
        return "\n".join(entries.values())

    return _MENTION.sub(described, inspect.cleandoc(text))
