"""What a solver returns, and a fit as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.records.certificate import Certificate
from provenmf.records.states import MethodState
from provenmf.records.stop_reason import StopReason
from provenmf.records.trace import Trace, equal_arrays


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: components (k, d), and how it got there.

    weights : (n, k), where the method has found some on its way.
    state : what the method keeps for itself, see `records.states`.
    """

    components: NDArray[Any]
    weights: NDArray[Any] | None = None
    anchors: NDArray[np.intp] | None = None
    labels: NDArray[np.intp] | None = None
    trace: Trace = field(default_factory=Trace)
    stop_reason: StopReason = StopReason.UNKNOWN
    state: MethodState | None = None


@dataclass(frozen=True, eq=False)
class Factorization:
    """A fit as a record: data (n, d) ≈ weights (n, k) @ components (k, d)."""

    method: str
    weights: NDArray[Any]
    components: NDArray[Any]
    anchors: NDArray[np.intp] | None = None
    labels: NDArray[np.intp] | None = None
    trace: Trace = field(default_factory=Trace)
    stop_reason: StopReason = StopReason.UNKNOWN
    certificate: Certificate | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    state: MethodState | None = None
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop_reason", StopReason(self.stop_reason))

    @property
    def n_components(self) -> int:
        """How many components there are."""
        return self.components.shape[0]

    @property
    def kind(self) -> str:
        """What it is about: "topics", "communities", "unmixing", "parts", or just a "matrix"."""
        return str(self.extras.get("kind", "matrix"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Factorization):
            return NotImplemented
        plain = ("method", "stop_reason", "certificate", "parameters", "versions", "trace")
        return (
            all(getattr(self, name) == getattr(other, name) for name in plain)
            and type(self.state) is type(other.state)
            and equal_arrays(self.arrays(), other.arrays())
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays of the record except the trace's; the state's as `state/<name>`."""
        named = {name: getattr(self, name) for name in ("weights", "components")}
        for name in ("anchors", "labels"):
            if getattr(self, name) is not None:
                named[name] = getattr(self, name)
        if self.state is not None:
            kept = {name: value for name, value in vars(self.state).items() if value is not None}
            named |= {f"state/{name}": np.asarray(value) for name, value in kept.items()}
        return named | {f"extras/{name}": array for name, array in self.extras.items()}

    def save(self, path: Any) -> None:
        """Write the record to one file; see `provenmf.load`."""
        from provenmf.io import save

        save(self, path)
