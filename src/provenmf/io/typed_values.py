"""Values from JSON, held against the types that a record declares for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def checked(hint: Any, value: Any, name: str) -> Any:
    """A value without arrays, if it is of the declared type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _one_of(arguments, value, name)
    if origin is tuple and isinstance(value, list | tuple):
        if arguments[-1] is ...:
            arguments = (arguments[0],) * len(value)
        if len(value) == len(arguments):
            return tuple(checked(kind, item, name) for kind, item in zip(arguments, value))
    if is_mapping(origin) and isinstance(value, dict):
        return {key: checked(arguments[1], item, name) for key, item in value.items()}
    if is_dataclass(hint) and type(value) is hint:
        hints = get_type_hints(hint)
        for part in fields(value):
            checked(hints[part.name], getattr(value, part.name), f"{name}/{part.name}")
        return value
    if hint is float and type(value) in (int, float):
        return float(value)
    if isinstance(hint, type) and issubclass(hint, StrEnum) and isinstance(value, str):
        return hint(value)
    if hint is Any or (origin is Literal and value in arguments) or type(value) is hint:
        return value
    raise ValueError(f"{name} is {str(value)[:60]!r}, which is not of type {_in_words(hint)}")


def _one_of(kinds: tuple[Any, ...], value: object, name: str) -> Any:
    """The value as the first of several types that it is of."""
    for kind in kinds:
        try:
            return checked(kind, value, name)
        except ValueError:
            continue
    raise ValueError(f"{name} is {str(value)[:60]!r}, which is none of its types")


def _in_words(hint: object) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def is_mapping(origin: object) -> bool:
    """Whether a generic type, without its arguments, is a mapping."""
    return isinstance(origin, type) and issubclass(origin, Mapping)
