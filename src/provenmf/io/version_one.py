"""Files of version 0.1 (format 1), brought into the form of today.

They kept everything besides the factors as arrays called `extras/<name>`: what the method kept
for itself, and the answer of an application with its `kind`, `notes` and `settings`.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.results import states

Plain = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

STATES: dict[str, type[states.MethodState]] = {
    "spa": states.AnchorState,
    "xray": states.AnchorState,
    "fast_anchor": states.AnchorState,
    "fast_gradient": states.FastGradientState,
    "merit": states.MeritState,
    "and_descent": states.AndState,
    "purification": states.PurificationState,
    "cones": states.ConeState,
}
FACTORS = ("weights", "components", "anchors", "labels")
FACTORIZATION = ("method", "stop_reason", "parameters", "versions", "certificate")


def upgraded(record: Plain, arrays: Arrays) -> tuple[str, Plain, Arrays]:
    """Kind, plain values and arrays as format 2 has them."""
    extras = {n.removeprefix("extras/"): a for n, a in arrays.items() if n.startswith("extras/")}
    kind = str(extras.pop("kind", "matrix"))
    plain = {name: record[name] for name in FACTORIZATION if record.get(name) is not None}
    found: Arrays = {name: arrays[name] for name in FACTORS if name in arrays}
    found |= {
        n.replace("trace/", "trace/columns/"): a
        for n, a in arrays.items()
        if n.startswith("trace/")
    }
    state = _state(str(record.get("method")), extras)
    if state:
        plain["state"] = state[0]
        found |= state[1]
    if kind == "matrix":
        names = {n: a for n, a in extras.items() if n in ("row_names", "column_names")}
        return kind, plain, found | names
    answer: Plain = {"factorization": plain}
    if "settings" in extras:
        answer["settings"] = json.loads(str(extras.pop("settings")))
    _rename(answer, extras)
    return kind, answer, extras | {f"factorization/{n}": a for n, a in found.items()}


def _state(method: str, extras: Arrays) -> tuple[Plain, Arrays] | None:
    """What the method kept; single numbers were arrays."""
    kind = STATES.get(method)
    if kind is None:
        return None
    plain: Plain = {"type": kind.__name__}
    arrays: Arrays = {}
    for part in fields(kind):
        if part.name in extras:
            value = extras[part.name]
            if part.type in ("float", "bool"):
                number = value.item()
                plain[part.name] = bool(number) if part.type == "bool" else number
            else:
                arrays[f"state/{part.name}"] = value
    return (plain, arrays) if len(plain) > 1 or arrays else None


def _rename(answer: Plain, extras: Arrays) -> None:
    """Names that changed, in place."""
    if "image_names" in extras:
        extras["names"] = extras.pop("image_names")
    if "spectral_angles" in extras:
        rmse = extras.pop("abundance_rmse", None)
        answer["agreement"] = {} if rmse is None else {"abundance_rmse": rmse.item()}
        extras["agreement/angles"] = extras.pop("spectral_angles")
        extras["agreement/order"] = np.zeros(0, dtype=np.intp)  # was not kept
    if "example_names" in extras:  # now all documents have names
        names = [f"document {number + 1}" for number in range(len(extras["document_weights"]))]
        chosen = zip(np.ravel(extras["example_documents"]), np.ravel(extras["example_names"]))
        for document, name in chosen:
            if 0 <= document < len(names):
                names[document] = str(name)
        extras["document_names"] = np.array(names, dtype=np.str_)
