"""JSON as its standard has it: no NaN and no Infinity, which most readers refuse.

For machines that read our output a number that is not finite becomes null, and `not_finite` says
where that happened and what it was. In files of our own it is kept as {"not_finite": "nan"}.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

REASONS = {"nan": "not a number", "inf": "infinite", "-inf": "minus infinite"}
KEY = "not_finite"


def strict_json(content: object, *, indent: int | None = 1) -> str:
    """Text for other programs.

    Examples
    --------
    >>> from provenmf.io.strict_json import strict_json
    >>> strict_json({"gap": float("inf")}, indent=None)
    '{"gap": null, "not_finite": {"gap": "infinite"}}'
    """
    reasons: dict[str, str] = {}
    plain = _without(content, "", reasons)
    if reasons and isinstance(plain, dict):
        plain[KEY] = reasons
    return json.dumps(plain, indent=indent, allow_nan=False, default=str)


def exact_json(content: object) -> str:
    """Text for our own files, from which `from_exact_json` gets every number back."""
    return json.dumps(_marked(content), allow_nan=False)


def from_exact_json(text: str) -> Any:
    """Undo `exact_json`."""
    return json.loads(text, object_hook=_number)


def _plain(value: object) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _is_odd(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _without(value: Any, place: str, reasons: dict[str, str]) -> Any:
    value = _plain(value)
    if _is_odd(value):
        reasons[place] = REASONS[str(float(value))]
        return None
    if isinstance(value, Mapping):
        parts = {str(name): item for name, item in value.items()}
        return {n: _without(v, f"{place}.{n}" if place else n, reasons) for n, v in parts.items()}
    if isinstance(value, (list, tuple)):
        return [_without(item, f"{place}[{i}]", reasons) for i, item in enumerate(value)]
    return value


def _marked(value: Any) -> Any:
    value = _plain(value)
    if _is_odd(value):
        return {KEY: str(float(value))}
    if isinstance(value, Mapping):
        return {name: _marked(item) for name, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, (list, tuple)) else value


def _number(content: dict[str, Any]) -> Any:
    if content.keys() == {KEY} and content[KEY] in REASONS:
        return float(content[KEY])
    return content
