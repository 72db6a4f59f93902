"""Check the arguments of public functions and methods by the types that their signatures declare.

An argument of another type ends in one `InvalidInput` that names it, its value and what it must be;
an option that the function does not have is answered with those it has. Types that say nothing
(`object`, `Any`, or names that only a type checker can resolve) are not checked here: data are
examined where they are read. Estimators check their parameters in `fit`, as scikit-learn's do.
"""

from __future__ import annotations

import collections.abc as abc
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, wraps
from itertools import islice
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from provenmf.errors import InvalidInput

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "text",
    NoneType: "None",
    Path: "a path",
}
PLURALS = {int: "whole numbers", float: "numbers", str: "texts"}
# Elements of a sequence that are looked at.
LOOKED_AT = 1000
# Common other names for the number of components.
NUMBER_WORDS = ("k", "rank", "n_components", "num_topics", "n_clusters")
NUMBERS = ("n_components", "n_topics", "n_communities", "n_endmembers", "n_parts", "ranks")


@dataclass(frozen=True)
class Within:
    """Bounds of a number, as in `Annotated[int, Within(1, 1000)]`."""

    low: float
    high: float = math.inf


def checked(
    *, options_of: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = None
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator that checks the arguments of a function before it is called.

    Parameters
    ----------
    options_of : callable, optional
        For a function with `**options`: the names that these may have, given all arguments.

    Examples
    --------
    >>> from provenmf.arguments import checked
    >>> @checked()
    ... def repeat(text: str, times: int = 2) -> str:
    ...     return text * times
    >>> repeat("a", times="b")
    Traceback (most recent call last):
    provenmf.errors.InvalidInput: times='b' must be a whole number
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def checking(*positional: Parameters.args, **named: Parameters.kwargs) -> Result:
            _check_call(function, positional, named, options_of)
            return function(*positional, **named)

        return checking

    return decorate


def _check_call(
    function: Callable[..., Any],
    positional: tuple[Any, ...],
    named: dict[str, Any],
    options_of: Callable[[Mapping[str, Any]], tuple[str, ...]] | None,
) -> None:
    types = _types_of(function)
    names = list(types)
    for name in names[: len(positional)]:
        if name in named:
            raise InvalidInput("is given twice", argument=name, value=named[name])
    for name, value in [*zip(names, positional), *named.items()]:
        if name in types:
            check_value(name, value, types[name])
    unknown = [name for name in named if name not in types]
    if not unknown:
        return
    own = [name for name in names[1:] if name != "self"]
    known, owner = own, function.__name__
    if _takes_options(function):
        if options_of is None:
            return
        given = _defaults(function) | dict(zip(names, positional)) | named
        known = [*own, *(name for name in options_of(given) if name not in own)]
        owner += f" with method={given['method']!r}"
    for name in unknown:
        if name not in known:
            raise unknown_option(name, named[name], owner, known)


def unknown_option(name: str, value: object, owner: str, known: abc.Sequence[str]) -> InvalidInput:
    """Return the error for an option that a function or a method does not have."""
    alike = get_close_matches(name, known, 1)
    if name in NUMBER_WORDS:
        alike = [number for number in known if number in NUMBERS][:1] or alike
    hint = f"did you mean {alike[0]}? " if alike else ""
    return InvalidInput(
        f"is not an option of {owner}",
        argument=name,
        value=value,
        remedy=f"{hint}It has {', '.join(known)}",
    )


@cache
def _types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the declared type of each argument, Any where it cannot be resolved."""
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        hint = parameter.annotation
        if isinstance(hint, str):
            try:
                hint = eval(hint, getattr(function, "__globals__", {}))  # our own annotations
            except (NameError, TypeError, AttributeError):
                hint = Any
        found[name] = Any if hint is parameter.empty else hint
    return found


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


@cache
def _takes_options(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def check_value(name: str, value: object, hint: Any) -> None:
    """Refuse a value that is not of the declared type."""
    fits = _is_seed(value) if name == "random_state" else _fits(value, hint)
    if not fits:
        words = "a seed: a whole number, a generator of numpy, or None"
        wanted = words if name == "random_state" else _in_words(hint)
        raise InvalidInput(f"must be {wanted}", argument=name, value=value)


def _is_seed(value: object) -> bool:
    generator = hasattr(value, "random_sample") or hasattr(value, "bit_generator")
    whole = isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**32
    return value is None or generator or whole


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (Any, object) or isinstance(hint, TypeVar | str):
        return True
    if origin is Annotated:
        bounds = inner[1] if isinstance(inner[1], Within) else Within(-math.inf)
        return _fits(value, inner[0]) and (
            inner[0] not in (int, float) or bounds.low <= value <= bounds.high
        )
    if origin in (Union, UnionType):
        return any(_fits(value, kind) for kind in inner)
    if origin is Literal:
        return isinstance(value, str | int | bool) and value in inner
    if hint in (None, NoneType):
        return value is None
    if hint is bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if hint is float:
        number = isinstance(value, Real) and not isinstance(value, bool)
        return number and not math.isnan(float(value))
    if hint is Path:
        return isinstance(value, PathLike)
    if origin is tuple or hint is tuple:
        return isinstance(value, tuple | list) and _elements_fit(value, inner)
    if origin is abc.Callable:
        return callable(value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(key, inner[0]) and _fits(item, inner[1])
            for key, item in islice(value.items(), LOOKED_AT)
        )
    if isinstance(origin, type) and issubclass(origin, abc.Iterable):
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
            return False
        if getattr(value, "ndim", 1) != 1:
            return False
        sized = hasattr(value, "__len__") and inner
        return not sized or all(_fits(item, inner[0]) for item in islice(value, LOOKED_AT))
    return isinstance(value, origin or hint) if isinstance(origin or hint, type) else True


def _elements_fit(value: abc.Sequence[Any], kinds: tuple[Any, ...]) -> bool:
    if not kinds:
        return True
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(value)
    return len(value) == len(kinds) and all(map(_fits, value, kinds))


def _in_words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in WORDS or hint is None:
        return WORDS.get(hint, "None")
    if origin is Annotated and isinstance(inner[1], Within):
        upper = f" and at most {inner[1].high:g}" if inner[1].high < math.inf else ""
        return f"{_in_words(inner[0])} of at least {inner[1].low:g}{upper}"
    if origin is Annotated:
        return _in_words(inner[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_in_words(kind) for kind in inner))
    if origin is Literal:
        return " or ".join(repr(kind) for kind in inner)
    if origin is tuple and inner and inner[-1] is not ...:
        return f"({', '.join(_in_words(kind) for kind in inner)})"
    if origin is abc.Callable:
        return "a function"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a mapping of {_in_words(inner[0])} to {_in_words(inner[1])}"
    if isinstance(origin, type) and issubclass(origin, abc.Iterable):
        if not inner or inner[0] in (Any, object):
            return "a sequence"
        return PLURALS.get(inner[0]) or f"a sequence, each {_in_words(inner[0])}"
    return getattr(origin or hint, "__name__", str(hint))
