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
from types import EllipsisType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import numpy as np
from numpy.typing import ArrayLike

from provenmf.errors import InvalidInput
from provenmf.signals import undisturbed

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
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
        called = undisturbed(function)

        @wraps(function)
        def checking(*positional: Parameters.args, **named: Parameters.kwargs) -> Result:
            _check_call(function, positional, named, options_of)
            # Products of small integers of numpy overflow.
            given, options = map(_plain, positional), {n: _plain(v) for n, v in named.items()}
            return called(*given, **options)  # type: ignore[arg-type]

        return checking

    return decorate


def _plain(value: object) -> object:
    """Return whole numbers of numpy as Python's."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(_plain, value))
    return int(value) if isinstance(value, np.integer) and _is_whole(value) else value


def _check_call(
    function: Callable[..., Any],
    positional: tuple[Any, ...],
    named: dict[str, Any],
    options_of: Callable[[Mapping[str, Any]], tuple[str, ...]] | None,
) -> None:
    rules, defaults, takes_options = _declared(function)
    names = list(rules)
    for name in names[: len(positional)]:
        if name in named:
            raise InvalidInput("is given twice", argument=name, value=named[name])
    for name, value in [*zip(names, positional), *named.items()]:
        if name in rules and not rules[name].fits(value):
            raise InvalidInput(f"must be {rules[name].words}", argument=name, value=value)
    known, owner = [name for name in names[1:] if name != "self"], function.__name__
    unknown = [name for name in named if name not in rules]
    if not unknown or (takes_options and options_of is None):
        return
    if takes_options and options_of is not None:
        given = defaults | dict(zip(names, positional)) | named
        known += [name for name in options_of(given) if name not in known]
        owner += f" with method={given['method']!r}"
    for name in unknown:
        if name not in known:
            raise _unknown_option(name, named[name], owner, known)


def _unknown_option(name: str, value: object, owner: str, known: abc.Sequence[str]) -> InvalidInput:
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


class Rule(NamedTuple):
    """A test of values, and what they must be in words."""

    fits: Callable[[Any], bool]
    words: str


@cache
def _declared(function: Callable[..., Any]) -> tuple[dict[str, Rule], dict[str, Any], bool]:
    """Return the rule and the default of each argument, and whether there are `**options`."""
    rules: dict[str, Rule] = {}
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        hint = parameter.annotation
        if isinstance(hint, str):
            try:
                hint = eval(hint, getattr(function, "__globals__", {}))  # our own annotations
            except (NameError, TypeError, AttributeError):
                hint = Any
        rules[parameter.name] = SEED if parameter.name == "random_state" else _rule(hint)
    defaults = {parameter.name: parameter.default for parameter in parameters}
    return rules, defaults, any(each.kind is each.VAR_KEYWORD for each in parameters)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and is_number(value)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, or infinite, in double precision."""
    number = isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)
    try:
        return number and not math.isnan(value)
    except OverflowError:  # of a whole number beyond those of double precision
        return False


def _is_seed(value: Any) -> bool:
    generator = hasattr(value, "random_sample") or hasattr(value, "bit_generator")
    return value is None or generator or (_is_whole(value) and 0 <= int(value) < 2**32)


SEED = Rule(_is_seed, "a seed: a whole number, a generator of numpy, or None")
ANYTHING = Rule(lambda value: True, "anything")
PLAIN: dict[Any, Rule] = {
    int: Rule(_is_whole, "a whole number"),
    float: Rule(is_number, "a number"),
    bool: Rule(lambda value: type(value).__name__ in ("bool", "bool_"), "True or False"),
    str: Rule(lambda value: isinstance(value, str), "text"),
    None: Rule(lambda value: value is None, "None"),
    NoneType: Rule(lambda value: value is None, "None"),
    Path: Rule(lambda value: isinstance(value, PathLike), "a path"),
    Any: ANYTHING,
    object: ANYTHING,
    inspect.Parameter.empty: ANYTHING,
}


def _rule(hint: Any) -> Rule:
    """Return the rule of a declared type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None and hint in PLAIN:
        return PLAIN[hint]
    if origin is Annotated:
        return _bounded(_rule(inner[0]), inner[1])
    if origin is Literal:
        words = " or ".join(repr(kind) for kind in inner)
        return Rule(lambda value: isinstance(value, str | int) and value in inner, words)
    if isinstance(hint, TypeVar) and hint.__bound__ is not None:
        return _rule(hint.__bound__)
    if all(kind in inner for kind in get_args(ArrayLike)):
        return ANYTHING
    rules = [_rule(kind) for kind in inner if not isinstance(kind, list | EllipsisType)]
    if origin in (Union, UnionType):
        words = " or ".join(dict.fromkeys(rule.words for rule in rules))
        return Rule(lambda value: any(rule.fits(value) for rule in rules), words)
    if origin is abc.Callable:
        return Rule(callable, "a function")
    kind = origin or hint
    if not isinstance(kind, type):
        return ANYTHING
    if kind is tuple and inner and inner[-1] is not ...:
        words = f"({', '.join(rule.words for rule in rules)})"
        return Rule(lambda value: _are_elements(value, rules), words)
    if kind is np.ndarray:
        return Rule(lambda value: isinstance(value, np.ndarray), "an array")
    if origin is not None and issubclass(kind, Mapping):
        words = f"a mapping of {rules[0].words} to {rules[1].words}"
        return Rule(lambda value: _is_mapping(value, *rules), words)
    if origin is not None and issubclass(kind, abc.Iterable):
        each = rules[0] if rules else ANYTHING
        plural = PLURALS.get(inner[0]) or f"a sequence, each {each.words}"
        words = "a sequence" if each is ANYTHING else plural
        once = not issubclass(kind, abc.Sized)
        return Rule(lambda value: _is_sequence(value, each, once), words)
    return Rule(lambda value: isinstance(value, kind), kind.__name__)


def _bounded(rule: Rule, bounds: object) -> Rule:
    if not isinstance(bounds, Within):
        return rule
    upper = f" and at most {bounds.high:g}" if bounds.high < math.inf else ""
    words = f"{rule.words} of at least {bounds.low:g}{upper}"
    return Rule(lambda value: rule.fits(value) and bounds.low <= value <= bounds.high, words)


def _are_elements(value: Any, rules: list[Rule]) -> bool:
    fitting = isinstance(value, tuple | list) and len(value) == len(rules)
    return fitting and all(rule.fits(item) for rule, item in zip(rules, value))


def _is_mapping(value: Any, of_keys: Rule, of_values: Rule) -> bool:
    return isinstance(value, Mapping) and all(
        of_keys.fits(key) and of_values.fits(item) for key, item in islice(value.items(), LOOKED_AT)
    )


def _is_sequence(value: Any, each: Rule, once: bool) -> bool:
    """Test the elements, but those of an iterator, which it gives only once."""
    if isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) != 1:
        return False
    if not hasattr(value, "__len__"):
        return once and hasattr(value, "__iter__")
    return hasattr(value, "__iter__") and all(map(each.fits, islice(value, LOOKED_AT)))
