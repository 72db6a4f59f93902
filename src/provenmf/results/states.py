"""Parts of records: named array sizes, equality, and the state that a method saves.

A solver puts its state on `Solution.state`, and it stays on `Factorization.state`; estimators,
guarantees and the advisor read its fields. All fields are arrays or plain values, and are saved
by their names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Metadata of a field that lives in memory only.
NOT_SAVED = MappingProxyType({"saved": False})


@dataclass(frozen=True, init=False)
class Shape:
    """Names of an array's sizes: `Annotated[Floats, Shape("n", "k")]`.

    Within one record the same name stands for the same size; a file in which it does not is
    refused. Entries that count rows, words, … of an earlier field are `below` that size.
    """

    sizes: tuple[str | int, ...]
    below: str

    def __init__(self, *sizes: str | int, below: str = "") -> None:
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "below", below)


def agree(a: object, b: object) -> bool:
    """Return whether two records or values are equal, field by field; NaN equals NaN."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        nan = a.dtype.kind == "f"
        return a.dtype == b.dtype and bool(np.array_equal(a, b, equal_nan=nan))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(agree(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(agree, a, b))
    if type(a) is not type(b):
        return False
    if is_dataclass(a) and not isinstance(a, type):
        return all(agree(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    return bool(a == b)


@dataclass(frozen=True, eq=False)
class MethodState:
    """Base of the states that methods save."""


@dataclass(frozen=True, eq=False)
class AnchorState(MethodState):
    """SPA, XRAY, FastAnchor: `drop`, the ratio of the last anchor's residual to the next one."""

    drop: float


@dataclass(frozen=True, eq=False)
class FastGradientState(MethodState):
    """FastGradient: the `diagonal` (n,) of the usage, and the `gap` that sets anchors apart."""

    diagonal: Floats
    gap: float


@dataclass(frozen=True, eq=False)
class MeritState(MethodState):
    """MERIT: the problem that was solved, and how well.

    dictionary : rows that may be anchors; row_maxima : largest entry of each row of C, in their
        order.
    lam, mu : weight and smoothness of the penalty.
    objective, duality_gap : of the last iterate; the gap is over the dictionary.
    number_margin : by which the maxima drop after the last anchor.
    group_radius : within which rows count as duplicates of an anchor.
    """

    dictionary: NDArray[np.intp]
    row_maxima: Floats
    lam: float
    mu: float
    objective: float
    duality_gap: float
    number_margin: float
    group_radius: float


@dataclass(frozen=True, eq=False)
class AndState(MethodState):
    """AND: the last stage's `thresholds`, and the share of rows that use each component."""

    thresholds: Floats
    support: Floats


@dataclass(frozen=True, eq=False)
class PurificationState(MethodState):
    """Purification: `threshold` (k,) and `scaling` of the last iteration."""

    threshold: Floats
    scaling: float


@dataclass(frozen=True, eq=False)
class ConeState(MethodState):
    """Cone NMF: the `centroids` (k, d), the angles at which they were chosen and one more, and
    what rank one leaves of each cluster; the latter two are missing for data without directions.
    """

    centroids: NDArray[np.floating]
    farthest_first_angles: Floats | None = None
    rank_one_residuals: Floats | None = None


@dataclass(frozen=True, eq=False)
class KnownState(MethodState):
    """HALS, ANLS: the number of leading components that were `known` and stayed fixed."""

    known: int
