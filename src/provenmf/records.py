"""The records that flow out of a fit: Factorization, Trace, Certificate, Check.

All of them are frozen. A solver returns a `Solution`; the estimator adds weights and a
certificate and makes it a `Factorization`, which saves to one file and loads back equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Status = Literal["holds", "fails", "unknown"]
Measure = float | tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in each iteration: equally long columns by name."""

    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and _equal_arrays(self.columns, other.columns)

    @classmethod
    def from_rows(cls, rows: list[dict[str, float]]) -> Trace:
        """Turn one dict per iteration into columns; a value missing in a row becomes NaN."""
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({name: np.array([row.get(name, math.nan) for row in rows]) for name in names})


@dataclass(frozen=True)
class Check:
    """One condition of one theorem, measured on this data.

    `status` is "holds" or "fails" only if that was established; a condition with a hidden
    constant is "unknown", its `value` then being the ratio to what is wanted.
    """

    name: str
    theorem: str
    status: Status
    value: float | None = None
    threshold: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.status not in ("holds", "fails", "unknown"):
            raise ValueError(f"status={self.status!r} is not 'holds', 'fails' or 'unknown'")


@dataclass(frozen=True)
class Certificate:
    """What can be believed about a factorization.

    checks : conditions of theorems with their status on this data.
    bounds : only what is proved for this data, e.g. `relative_error`.
    measures : quantities computed from data and result, with no assumption behind them.
    """

    method: str
    checks: tuple[Check, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)

    def join(self, other: Certificate) -> Certificate:
        """Put the statements of two certificates about one result together."""
        return Certificate(
            method=self.method,
            checks=self.checks + other.checks,
            bounds={**self.bounds, **other.bounds},
            measures={**self.measures, **other.measures},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: method, checks, bounds, measures."""
        return {
            "method": self.method,
            "checks": [vars(check).copy() for check in self.checks],
            "bounds": dict(self.bounds),
            "measures": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in self.measures.items()
            },
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """Undo `to_dict`."""
        return cls(
            method=content["method"],
            checks=tuple(Check(**check) for check in content["checks"]),
            bounds=dict(content["bounds"]),
            measures={
                name: tuple(value) if isinstance(value, list) else value
                for name, value in content["measures"].items()
            },
        )

    def __str__(self) -> str:
        return "\n".join(_certificate_lines(self))


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: components (k, d), and how it got there."""

    components: NDArray[Any]
    anchors: NDArray[np.intp] | None = None
    labels: NDArray[np.intp] | None = None
    trace: Trace = field(default_factory=Trace)
    stop_reason: str = ""
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Factorization:
    """A fit as a record: data (n, d) ≈ weights (n, k) @ components (k, d)."""

    method: str
    weights: NDArray[Any]
    components: NDArray[Any]
    anchors: NDArray[np.intp] | None = None
    labels: NDArray[np.intp] | None = None
    trace: Trace = field(default_factory=Trace)
    stop_reason: str = ""
    certificate: Certificate | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)

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
        return all(getattr(self, name) == getattr(other, name) for name in plain) and (
            _equal_arrays(self.arrays(), other.arrays())
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays of the record except the trace's, by name; extras as `extras/<name>`."""
        named = {name: getattr(self, name) for name in ("weights", "components")}
        for name in ("anchors", "labels"):
            if getattr(self, name) is not None:
                named[name] = getattr(self, name)
        return named | {f"extras/{name}": array for name, array in self.extras.items()}

    def save(self, path: Any) -> None:
        """Write the record to one file; see `provenmf.load`."""
        from provenmf.io import save

        save(self, path)


def _equal_arrays(a: Mapping[str, NDArray[Any]], b: Mapping[str, NDArray[Any]]) -> bool:
    return a.keys() == b.keys() and all(
        a[name].dtype == b[name].dtype
        and np.array_equal(a[name], b[name], equal_nan=a[name].dtype.kind == "f")
        for name in a
    )


def in_digits(value: Measure | None) -> str:
    """A number for readers; for several the range."""
    if value is None:
        return "-"
    if isinstance(value, tuple):
        finite = [v for v in value if not math.isnan(v)]
        return f"{min(finite):.4g} to {max(finite):.4g}" if finite else "-"
    return f"{value:.4g}"


def _certificate_lines(certificate: Certificate) -> list[str]:
    lines = [f"Certificate of {certificate.method}"]
    if certificate.checks:
        lines += ["", f"  {'status':8}{'condition':32}{'theorem':18}{'value':>10}{'needed':>10}"]
        for check in certificate.checks:
            value, threshold = in_digits(check.value), in_digits(check.threshold)
            lines.append(
                f"  {check.status:8}{check.name:31.31} {check.theorem:18.18}"
                f"{value:>10}{threshold:>10}"
            )
            lines += wrap(check.note, 80, initial_indent=" " * 10, subsequent_indent=" " * 10)
    for title, values in (
        ("Proved bounds", certificate.bounds),
        ("Measured", certificate.measures),
    ):
        if values:
            lines += ["", f"  {title}"]
            lines += [f"    {name:40} {in_digits(value)}" for name, value in values.items()]
    if not certificate.bounds:
        lines += ["", "  Proved bounds: none on this data"]
    return lines
