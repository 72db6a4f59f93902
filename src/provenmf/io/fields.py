"""Records as plain values and arrays, and back, by the types of their fields.

A field that is an array becomes an array by its name, a record in a field its fields under
`name/`; everything else is a plain value for JSON. On the way back every value is checked against
the type that its field declares, and arrays against the sizes that they share (`Shape`), so that a
file can hold nothing but what the record's class expects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput
from provenmf.io.typed_values import checked, is_mapping
from provenmf.results import Certificate, MethodState
from provenmf.results.shapes import Shape

Plain = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Record = TypeVar("Record")

# Letters of the numpy types that a field may hold, by the scalar type that it declares; the first
# that fits counts.
KINDS: tuple[tuple[type[np.generic], str], ...] = (
    (np.str_, "U"),
    (np.bool_, "b"),
    (np.integer, "iu"),
    (np.inexact, "f"),
    (np.number, "fiu"),
    (np.generic, "fiub"),
)


def pack(record: Any, prefix: str = "") -> tuple[Plain, Arrays]:
    """The plain values and the arrays of a record; what is None is left out."""
    plain: Plain = {}
    arrays: Arrays = {}
    for part in saved_fields(record):
        value, name = getattr(record, part.name), prefix + part.name
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif isinstance(value, Certificate):
            plain[part.name] = value.to_dict()
        elif is_dataclass(value):
            plain[part.name], inner = pack(value, f"{name}/")
            arrays |= inner
            if isinstance(value, MethodState):
                plain[part.name]["type"] = type(value).__name__
        elif _holds_arrays(value):
            arrays |= {f"{name}/{key}": array for key, array in value.items()}
        elif value is not None:
            plain[part.name] = value
    return plain, arrays


def saved_fields(record: Any) -> list[Field[Any]]:
    """The fields that a file holds; some live in memory only."""
    return [part for part in fields(record) if part.metadata.get("saved", True)]


def _holds_arrays(value: object) -> bool:
    return isinstance(value, Mapping) and any(isinstance(v, np.ndarray) for v in value.values())


def unpack(kind: type[Record], plain: object, arrays: Arrays, prefix: str = "") -> Record:
    """The record of a class from what `pack` made of it; ValueError says what does not fit."""
    if not isinstance(plain, dict):
        raise ValueError(f"{prefix or 'the record'} holds no fields")
    hints = get_type_hints(kind, include_extras=True)
    stored = _Stored(plain, arrays, prefix, {})
    found = {}
    for part in saved_fields(kind):
        if stored.has(part.name):
            found[part.name] = stored.value(hints[part.name], part.name)
        elif part.default is MISSING and part.default_factory is MISSING:
            if NoneType not in get_args(hints[part.name]):
                raise ValueError(f"{prefix}{part.name} is missing")
            found[part.name] = None
    try:
        return kind(**found)
    except InvalidInput as error:  # here it is the file that is wrong, not an argument
        raise ValueError(str(error)) from error


@dataclass(frozen=True)
class _Stored:
    """What a file holds for one record, and the sizes met so far."""

    plain: Plain
    arrays: Arrays
    prefix: str
    sizes: dict[str, int]

    def has(self, name: str) -> bool:
        """Whether there is anything for a field."""
        return self.plain.get(name) is not None or any(
            known == self.prefix + name or known.startswith(f"{self.prefix}{name}/")
            for known in self.arrays
        )

    def value(self, hint: object, name: str) -> Any:
        """The value of one field, of the type that it declares."""
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return self.sized(self.value(arguments[0], name), arguments[1], name)
        if origin in (Union, UnionType):
            [kind] = [kind for kind in arguments if kind is not NoneType]
            return self.value(kind, name)
        if origin is np.ndarray:
            return self.array(arguments[1], name)
        if is_mapping(origin) and get_origin(arguments[1]) in (np.ndarray, Annotated):
            start = f"{self.prefix}{name}/"
            keys = [n.removeprefix(start) for n in self.arrays if n.startswith(start)]
            return {key: self.value(arguments[1], f"{name}/{key}") for key in keys}
        if not is_dataclass(hint):
            return checked(hint, self.plain_value(name), self.prefix + name)
        plain = self.plain.get(name, {})
        if hint is Certificate:
            return checked(hint, Certificate.from_dict(plain), self.prefix + name)
        record: Any = _state_type(plain) if hint is MethodState else hint
        return unpack(record, plain, self.arrays, f"{self.prefix}{name}/")

    def plain_value(self, name: str) -> Any:
        """A plain value; version 0.1 kept those of an answer as arrays."""
        if name in self.plain:
            return self.plain[name]
        return self.arrays[self.prefix + name].tolist()

    def array(self, dtype: object, name: str) -> NDArray[Any]:
        """An array of the declared type of numbers or text."""
        if self.prefix + name not in self.arrays:
            raise ValueError(f"{self.prefix}{name} is not an array")
        array = self.arrays[self.prefix + name]
        scalar = get_args(dtype)[0]
        scalar = np.generic if scalar is Any else get_origin(scalar) or scalar
        if array.dtype.kind not in next(kinds for kind, kinds in KINDS if issubclass(scalar, kind)):
            raise ValueError(f"{self.prefix}{name} is an array of {array.dtype}")
        return array

    def sized(self, array: NDArray[Any], shape: Shape, name: str) -> NDArray[Any]:
        """The array, if its sizes are those of the arrays before it."""
        wanted = [size if isinstance(size, int) else self.sizes.get(size) for size in shape.sizes]
        if array.ndim != len(wanted) or any(
            want is not None and want != found for want, found in zip(wanted, array.shape)
        ):
            expected = " x ".join(
                str(size if want is None else want) for size, want in zip(shape.sizes, wanted)
            )
            raise ValueError(f"{self.prefix}{name} has shape {array.shape}, not {expected}")
        self.sizes.update(
            (size, found) for size, found in zip(shape.sizes, array.shape) if isinstance(size, str)
        )
        if shape.below and array.size:
            end = self.sizes[shape.below]
            if array.min() < 0 or array.max() >= end:
                raise ValueError(f"{self.prefix}{name} has entries outside 0 to {end - 1}")
        return array


def _state_type(plain: object) -> type[MethodState]:
    """The class of what a method kept: one that is known, nothing else."""
    known = {kind.__name__: kind for kind in MethodState.__subclasses__()}
    name = plain.get("type") if isinstance(plain, dict) else None
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"state is of the unknown type {name!r}")
    return known[name]
