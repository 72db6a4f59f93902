"""Records in files: one archive of plain arrays and a JSON text, never a pickle.

Results and checkpoints are written by the same functions. A record becomes nested mappings of its
fields; an array in it is stored under its place ("factorization/weights") and a number that is not
finite as {"not_finite": "nan"}. A result is read back by the types of its fields, with the sizes
that arrays share (`Shape`), so that a file can hold nothing but what the record's class expects. A
checkpoint is read back as it is, and carries a digest: compiled loops trust the arrays of a state.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from provenmf.arguments import checked
from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.arrays import read_npz, write_npz
from provenmf.io.files import check_result, existing, parsing, write_aside
from provenmf.results import Certificate, Factorization, MethodState
from provenmf.results.answers import ANSWERS, Answer
from provenmf.results.states import Shape

FORMAT = "provenmf-factorization"
FORMAT_VERSION = 3
# Data reach 1e60; products of two such numbers are finite.
LARGEST_FACTOR = 1e150
TEXT, DIGEST = "record", "digest"
ARRAY, SET, NOT_FINITE = "@array", "@set", "not_finite"
Arrays = dict[str, NDArray[Any]]

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


def save(result: Factorization | Answer, path: str | Path) -> None:
    """Write a Factorization or an answer to `path` (usually `.npz`)."""
    if type(result) is Answer:  # the answer of a plain matrix is its factorization
        result = result.factorization
    record = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": result.kind,
        "content": result,
    }
    arrays = _encoded(record)
    write_aside(path, lambda file: write_npz(file, arrays, compressed=True))


@checked()
def load(path: str | Path) -> Factorization | Answer:
    """Read what `save` wrote: a Factorization, or the answer of an application.

    Parameters
    ----------
    path : str or Path
        File written by `save`.

    Returns
    -------
    Factorization or Answer
        `Topics`, `Communities`, `Unmixing` or `Parts` for what an application found; a
        `Factorization` for any other matrix.

    Raises
    ------
    UnreadableFile
        The file is missing, damaged, foreign, or from another version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from provenmf import factorize, load
    >>> result = factorize(np.eye(3), 2, method="spa", certify=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(Path(folder) / "result.npz")
    ...     load(Path(folder) / "result.npz") == result
    True
    """
    path = check_result(Path(path))
    with parsing(path, "provenmf result", "give the .npz file that a command or `save` wrote"):
        arrays = read_npz(path)
        record = _decoded(arrays)
        _check_format(record, path)
        kind = record["kind"]
        result: Any = _record(
            Factorization if kind == Factorization.kind else _answer_type(kind),
            record["content"],
            "",
        )
        if isinstance(result, Answer):
            _check_arrays(result)
        _check_factors(result if isinstance(result, Factorization) else result.factorization)
        found: Factorization | Answer = result
        return found


def save_snapshot(path: Path, content: Mapping[str, Any]) -> None:
    """Write nested mappings of numbers, texts and arrays, completely and durably or not at all.

    Records become mappings of their fields, tuples lists; every number comes back exactly.
    """
    arrays = _encoded(content)
    arrays[DIGEST] = _digest(arrays)
    write_aside(path, lambda file: write_npz(file, arrays), durable=True)


def load_snapshot(path: Path) -> dict[str, Any]:
    """Read what `save_snapshot` wrote, and nothing else."""
    path, remedy = existing(path), "delete it to begin anew"
    damaged = f"{path} is not a checkpoint, or damaged: {remedy}"
    try:
        arrays = read_npz(path)
    except UnreadableFile as error:
        raise UnreadableFile(damaged) from error
    stored = arrays.pop(DIGEST, None)
    if stored is None or not np.array_equal(stored, _digest(arrays)):
        raise UnreadableFile(damaged)
    with parsing(path, "checkpoint", remedy):
        content: dict[str, Any] = _decoded(arrays)
        return content


def strict_json(content: object, *, indent: int | None = 1) -> str:
    """Return JSON for other programs, in which a number that is not finite is null.

    Most readers refuse NaN and Infinity.
    """
    return json.dumps(_strict(content), indent=indent, allow_nan=False, default=str)


def _strict(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        return {str(name): _strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if _is_odd(value) else value


def _is_odd(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


# Writing: a tree of plain values, with the arrays taken out.


def _encoded(content: object) -> Arrays:
    """Return the arrays of a tree by their place, and the rest of it as JSON text."""
    arrays: Arrays = {}
    text = json.dumps(_plain(content, "", arrays), allow_nan=False)
    arrays[TEXT] = np.frombuffer(text.encode(), dtype=np.uint8)
    return arrays


def _plain(value: Any, place: str, arrays: Arrays) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise InvalidInput(f"cannot save object array {place}: convert it to text or numbers")
        # Results are easier to read by other programs without the envelope in the name.
        name = place.removeprefix("content/")
        arrays[name] = value
        return {ARRAY: name}
    value = value.item() if isinstance(value, np.generic) else value
    if _is_odd(value):
        return {NOT_FINITE: str(float(value))}
    if is_dataclass(value) and not isinstance(value, type):
        kept = {part.name: getattr(value, part.name) for part in _saved_fields(value)}
        named = {"type": type(value).__name__} if isinstance(value, MethodState) else {}
        value = named | {name: item for name, item in kept.items() if item is not None}
    inner = f"{place}/" if place else ""
    if isinstance(value, Mapping):
        return {name: _plain(item, f"{inner}{name}", arrays) for name, item in value.items()}
    if isinstance(value, frozenset):
        return {SET: sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{inner}{i}", arrays) for i, item in enumerate(value)]
    return value


def _saved_fields(record: Any) -> list[Any]:
    """Return the fields that a file holds; some live in memory only."""
    return [part for part in fields(record) if part.metadata.get("saved", True)]


def _digest(arrays: Arrays) -> NDArray[np.uint8]:
    """Return a hash of all names, types, shapes and bytes."""
    found = blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return np.frombuffer(found.digest(), dtype=np.uint8)


# Reading: the tree with its arrays, then every value held against the type of its field.


def _decoded(arrays: Arrays) -> Any:
    def undo(content: dict[str, Any]) -> Any:
        if content.keys() == {ARRAY}:
            return arrays[content[ARRAY]]
        if content.keys() == {SET}:
            return frozenset(content[SET])
        if content.keys() == {NOT_FINITE}:
            return float(content[NOT_FINITE])
        return content

    return json.loads(arrays[TEXT].tobytes().decode(), object_hook=undo)


def _check_format(record: object, path: Path) -> None:
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise UnreadableFile(f"{path} is not a provenmf result")
    version = record.get("format_version")
    if version != FORMAT_VERSION or type(version) is not int:
        raise UnreadableFile(
            f"{path} has the format {version!r:.40}, and this provenmf reads {FORMAT_VERSION}: use "
            "the version that wrote it, or fit again"
        )


def _check_factors(fit: Factorization) -> None:
    """Raise an error for factors that are empty, not finite, or overflow in a product."""
    for name in ("weights", "components"):
        factor = getattr(fit, name)
        usable = factor.size and factor.dtype.char in "fd"
        if not usable or not float(max(-factor.min(), factor.max())) <= LARGEST_FACTOR:
            raise ValueError(
                f"{name} of shape {factor.shape}, {factor.dtype}, are empty or not all finite "
                f"numbers up to {LARGEST_FACTOR:g}"
            )


def _check_arrays(answer: Answer) -> None:
    """Raise an error for an array whose numbers overflow in a product; missing ones may be NaN."""
    for field in fields(answer):
        value = getattr(answer, field.name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
            largest = float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value)))
            if largest > LARGEST_FACTOR:
                raise ValueError(f"{field.name} has an entry of size {largest:.3g}")


def _answer_type(kind: object) -> type[Answer]:
    """Return the class of a kind of answer; a file can name a kind, never a module."""
    if kind not in ANSWERS:
        for module in import_module("provenmf.applications").HOMES:  # answers enter themselves
            import_module(f"provenmf.applications.{module}")
    if not isinstance(kind, str) or kind not in ANSWERS:
        raise ValueError(f"there is no kind of answer called {kind!r}")
    return ANSWERS[kind]


def _record(kind: type[Any], plain: object, place: str) -> Any:
    """Make a record of its fields; ValueError says what does not fit."""
    if not isinstance(plain, dict):
        raise ValueError(f"{place or 'the record'} holds no fields")
    if kind is MethodState:
        kind = _state_type(plain.get("type"))
    hints = get_type_hints(kind, include_extras=True)
    found: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for part in _saved_fields(kind):
        inner = f"{place}/{part.name}" if place else part.name
        if plain.get(part.name) is not None:
            found[part.name] = _typed(hints[part.name], plain[part.name], inner, sizes)
        elif part.default is MISSING and part.default_factory is MISSING:
            if NoneType not in get_args(hints[part.name]):
                raise ValueError(f"{inner} is missing")
            found[part.name] = None
    try:
        record = kind(**found)
    except InvalidInput as error:  # here it is the file that is wrong, not an argument
        raise ValueError(str(error)) from error
    return replace(record, recomputed=False) if isinstance(record, Certificate) else record


def _state_type(name: object) -> type[MethodState]:
    """Return the class of a method's saved state by its name."""
    known = {kind.__name__: kind for kind in MethodState.__subclasses__()}
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"state is of the unknown type {name!r}")
    return known[name]


def _typed(hint: Any, value: Any, name: str, sizes: dict[str, int]) -> Any:
    """Return a value if it is of the declared type; `sizes` are those that arrays share."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _sized(_typed(arguments[0], value, name, sizes), arguments[1], name, sizes)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        return _one_of([kind for kind in arguments if kind is not NoneType], value, name, sizes)
    if origin is np.ndarray:
        return _array(arguments[1], value, name)
    if origin is tuple and isinstance(value, list | tuple):
        if arguments[-1] is ...:
            arguments = (arguments[0],) * len(value)
        if len(value) == len(arguments):
            return tuple(_typed(kind, item, name, sizes) for kind, item in zip(arguments, value))
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, dict):
        kind = arguments[1]
        return {key: _typed(kind, item, f"{name}/{key}", sizes) for key, item in value.items()}
    if is_dataclass(hint):
        return _record(hint, value, name)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, StrEnum) and isinstance(value, str):
        return hint(value)
    fits = hint is Any or type(value) is hint or (hint is float and type(value) is int)
    if fits or (origin is Literal and value in arguments):
        return value
    wanted = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
    raise ValueError(f"{name} is {str(value)[:60]!r}, which is not of type {wanted}")


def _one_of(kinds: list[Any], value: object, name: str, sizes: dict[str, int]) -> Any:
    """Return the value as the first of several types that fits."""
    for kind in kinds[:-1]:
        try:
            return _typed(kind, value, name, sizes)
        except ValueError:
            continue
    return _typed(kinds[-1], value, name, sizes)


def _array(dtype: object, value: object, name: str) -> NDArray[Any]:
    """Return an array of the declared type of numbers or text."""
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name} is not an array")
    scalar = get_args(dtype)[0]
    scalar = np.generic if scalar is Any else get_origin(scalar) or scalar
    if value.dtype.kind not in next(kinds for kind, kinds in KINDS if issubclass(scalar, kind)):
        raise ValueError(f"{name} is an array of {value.dtype}")
    return value


def _sized(array: NDArray[Any], shape: Shape, name: str, sizes: dict[str, int]) -> NDArray[Any]:
    """Return the array if its sizes are those of the arrays before it."""
    wanted = [size if isinstance(size, int) else sizes.get(size) for size in shape.sizes]
    if array.ndim != len(wanted) or any(
        want not in (None, found) for want, found in zip(wanted, array.shape)
    ):
        expected = " x ".join(
            str(size if want is None else want) for size, want in zip(shape.sizes, wanted)
        )
        raise ValueError(f"{name} has shape {array.shape}, not {expected}")
    named = zip(shape.sizes, array.shape)
    sizes.update((size, found) for size, found in named if isinstance(size, str))
    if shape.below and array.size:
        end = sizes[shape.below]
        if array.min() < 0 or array.max() >= end:
            raise ValueError(f"{name} has entries outside 0 to {end - 1}")
    return array
